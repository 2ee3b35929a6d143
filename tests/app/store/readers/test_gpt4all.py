"""All versions of GPT4All's files are read; damaged ones end as a ValueError."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store.readers.gpt4all import NewerVersion, conversation_of
from tests.app.store.readers import sample_files as samples


@pytest.mark.parametrize("version", range(1, 13))
def test_every_version_is_read(version: int) -> None:
    found = conversation_of(samples.gpt4all(version))
    assert (found.title, found.created, found.id) == ("Birds 🐦", samples.SECONDS, f"gpt4all/{samples.ID}")
    question, answer, follow_up = found.turns
    assert (question.role, answer.role, follow_up.role) == ("user", "assistant", "user")
    assert question.text.endswith(samples.QUESTION)
    assert answer.text.strip().endswith(samples.ANSWER)
    assert (answer.thought_seconds == 2.5) == (version == 12)
    assert answer.model == "Llama-3.2.gguf"


def test_calls_of_tools_are_left_out() -> None:
    answer = conversation_of(samples.gpt4all(tool=True)).turns[1]
    assert "1 + 1" not in answer.text
    assert answer.text.strip().endswith(samples.ANSWER)


def test_a_newer_version_is_told() -> None:
    with pytest.raises(NewerVersion):
        conversation_of(samples.gpt4all(13))


@given(st.integers(1, 12), st.data())
def test_damaged_files_end_as_a_value_error(version: int, data: st.DataObject) -> None:
    raw = bytearray(samples.gpt4all(version, tool=True))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    with contextlib.suppress(ValueError):
        conversation_of(bytes(raw[:cut]))
