"""Whatever JSON a file contains becomes a chat, nothing, or a ValueError."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store.readers import claude, jan, llama_cpp, lm_studio, open_webui
from app.store.readers.neutral import ImportedConversation, Turn, chat_of, seconds
from tests.app.store.any_json import JSON
from tests.app.store.readers import sample_files as samples

Reader = Callable[[Any], ImportedConversation]


def read_lm_studio(raw: Any) -> ImportedConversation:
    return lm_studio.conversation_of(raw, "1")


def read_jan(raw: Any) -> ImportedConversation:
    return jan.conversation_of(
        json.dumps(raw[0]).encode(), b"\n".join(json.dumps(each).encode() for each in raw[1]), "x"
    )


READERS: list[tuple[Reader, Any]] = [
    (claude.conversation_of, samples.claude()),
    (open_webui.conversation_of, samples.open_webui()),
    (llama_cpp.conversation_of, samples.llama_cpp()),
    (read_lm_studio, samples.lm_studio()),
    (read_jan, list(samples.jan())),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all values inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way for key, each in inner for way in ((*path, key), *places(each, (*path, key)))]


@pytest.mark.parametrize(("read", "sample"), READERS)
@given(data=st.data())
def test_fields_of_any_kind_are_understood_or_refused(read: Reader, sample: Any, data: st.DataObject) -> None:
    raw = json.loads(json.dumps(sample))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(places(raw)))
        inside = raw
        for key in way:
            inside = inside[key]
        inside[last] = data.draw(JSON)
    if read is read_jan and not isinstance(raw[1], list):
        return
    with contextlib.suppress(ValueError):
        chat_of(read(raw), 1.0)


def test_rings_and_empty_turns_leave_no_hole() -> None:
    turns = [
        Turn("a", None, "user", "first"), Turn("b", "a", "tool", "hidden"), Turn("c", "b", "assistant", " answer "),
        Turn("d", "e", "user", "ring"), Turn("e", "d", "user", "ring"), Turn("f", "c", "assistant", "  "),
    ]  # fmt: skip
    found = chat_of(ImportedConversation("claude", "x", "", turns, current="f"), 5.0)
    assert found is not None
    chat, messages = found
    assert [each.content for each in messages] == ["first", "answer"]
    assert (messages[1].parent_id, chat.leaf_id) == (messages[0].id, messages[1].id)
    assert (chat.title, chat.created_at) == ("first", 5.0)
    assert chat_of(ImportedConversation("claude", "x", "t", [Turn("a", None, "system", "s")]), 5.0) is None


def test_times_of_all_kinds() -> None:
    assert seconds(samples.SECONDS) == seconds(samples.SECONDS * 1000) == samples.SECONDS
    assert seconds("2025-06-15T15:06:40Z") == seconds("2025-06-15 17:06:40+02:00") == samples.SECONDS
    assert seconds("2025-06-15 15:06:40") == samples.SECONDS
    others: tuple[object, ...] = (None, True, "soon", "", [], float("nan"))
    assert [seconds(value) for value in others] == [None] * 6
