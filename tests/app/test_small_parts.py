"""Durations, turns to forget, labels of remedies and the live speed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from app.look.theme import DARK, LIGHT, Theme
from app.state.active_answer import ActiveAnswer
from app.state.conversation import Conversation
from app.state.prompt import drop_oldest_turns, turns_to_free
from app.store.chat_store import ChatStore
from app.transcript.message_actions import forgotten_line, remedy_label
from engine.protocol.events import Remedy
from engine.protocol.requests import Message
from tests.app.contrast import contrast

AA = 4.5
TEXT_ON = [
    ("ink", ("paper", "side", "raised", "bubble", "code", "hover", "chosen", "selection")),
    ("soft", ("paper", "side", "raised", "code", "hover")),
    ("link", ("paper", "code")),
    ("accent", ("paper",)),
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


def chat(*lengths: int) -> tuple[Message, ...]:
    """Build one turn for each length in characters, half of them in the answer."""
    return tuple(Message(role, "x" * (n // 2)) for n in lengths for role in ("user", "assistant"))


def test_the_oldest_turns_are_left_out() -> None:
    turns = chat(2, 4, 6)
    assert drop_oldest_turns(turns, 0) == turns
    assert drop_oldest_turns(turns, 2) == chat(6)
    assert drop_oldest_turns(turns, 3) == drop_oldest_turns(turns, 9) == ()


@pytest.mark.parametrize(
    ("lengths", "forgotten", "turns"),
    [((100,), 0, 0), ((50, 50), 0, 1), ((10, 10, 10, 70), 0, 3), ((90, 10, 90, 10), 1, 2), ((), 0, 0), ((8, 8), 2, 0)],
)
def test_enough_turns_make_room(lengths: tuple[int, ...], forgotten: int, turns: int) -> None:
    assert turns_to_free(chat(*lengths), forgotten) == turns


def test_remedies_have_words() -> None:
    assert remedy_label(Remedy("forget_turns", turns=1)) == "Leave out the oldest turn"
    assert remedy_label(Remedy("forget_turns", turns=2)) == "Leave out the oldest 2 turns"
    assert forgotten_line(2) == "The oldest 2 turns are left out starting with your next message."


def test_the_live_speed_starts_with_the_first_token(tmp_path: Path) -> None:
    times = iter((10.0, 10.5, 11.0))
    store = ChatStore(tmp_path / "library.sqlite3")
    answer = ActiveAnswer(Conversation(store), lambda: next(times))
    speeds = [answer.tokens_per_second]
    for _ in range(3):
        answer.count()
    speeds.append(answer.tokens_per_second)
    assert (answer.tokens, speeds) == (3, [None, 2])
    store.close()
