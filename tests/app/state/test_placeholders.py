"""Variables of prompt snippets: what is one, in which order they are asked for, and filling them in."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.state.placeholders import Variable, fill, variables_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no variable { here } {{}} {{ }}", []),
        ("{{date}} {{ Date }} {{CLIPBOARD}}", [Variable("date"), Variable("clipboard")]),
        ("{{to whom}} then {{language = Swiss German}}", [Variable("to whom"), Variable("language", "Swiss German")]),
        ("{{a=1}} {{a=2}}", [Variable("a", "1")]),
        (r"\{{date}} stays", []),
        ("{{two\nlines}} {{{date}}}", [Variable("date")]),
        ("{{" + "x" * 61 + "}}", []),
    ],
)
def test_variables_are_found_once_in_their_order(text: str, found: list[Variable]) -> None:
    assert variables_of(text) == found


def test_a_value_is_never_read_as_a_snippet() -> None:
    filled = fill(r"{{clipboard}}, {{x=1}}, {{y}}, \{{date}}", {"clipboard": "{{x}} \\1 {0}", "x": "2"})
    assert filled == r"{{x}} \1 {0}, 2, {{y}}, {{date}}"


@given(st.text(), st.text())
def test_any_text_is_filled_without_an_error(before: str, value: str) -> None:
    for variable in variables_of(before):
        assert variable.name
    assert fill("{{a}}" + before.replace("{", "").replace("\\", ""), {"a": value}).startswith(value)


def test_a_long_text_of_braces_takes_no_long_time() -> None:
    start = time.process_time()
    assert variables_of("{{" * 10_000 + " " * 10_000) == []
    assert time.process_time() - start < 20, "hours, if the expression went back over the text"
