"""Ends of the engine, cut lines, waiting lines, contrast."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine_end import EngineEnd
from app.line_buffer import LineBuffer
from app.theme import DARK, LIGHT, Theme, contrast
from app.waiting import duration

AA = 4.5
TEXT_ON = [
    ("ink", ("paper", "side", "raised", "bubble", "code", "hover", "chosen", "selection")),
    ("soft", ("paper", "side", "raised", "code", "hover")),
    ("link", ("paper", "code")),
    ("danger", ("paper",)),
    ("on_accent", ("accent", "accent_hover")),
    ("keyword", ("code",)),
    ("string", ("code",)),
    ("comment", ("code",)),
    ("number", ("code",)),
    ("name_", ("code",)),
]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_text_can_be_read_on_its_ground(theme: Theme) -> None:
    colours = asdict(theme)
    for text, grounds in TEXT_ON:
        for ground in grounds:
            ratio = contrast(colours[text], colours[ground])
            assert ratio >= AA, f"{text} on {ground}: {ratio:.2f}"


def test_contrast_is_the_standards() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (EngineEnd(signal_number=9), "The engine was stopped by the system, most likely because memory ran out."),
        (EngineEnd(signal_number=11), "The engine crashed."),
        (EngineEnd(signal_number=63), "The engine was stopped by signal 63."),
        (EngineEnd(exit_code=3), "The engine ended unexpectedly (code 3)."),
        (EngineEnd(exit_code=0), "The engine ended unexpectedly."),
        (EngineEnd(not_started="no such file"), "The engine could not be started: no such file."),
    ],
)
def test_an_end_is_a_sentence(end: EngineEnd, sentence: str) -> None:
    assert str(end) == sentence


@given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line and line.strip())), st.integers(1, 7))
def test_lines_survive_any_cut(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [line for piece in pieces for line in buffer.feed(piece)] == lines


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (18.4, "18 s"), (89, "89 s"), (125, "2 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
