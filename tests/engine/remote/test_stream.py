"""A server's stream in any pieces and with any content: the same answer, or a Failure, and nothing else."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.failures import Failure
from common.paths import printable
from common.reasoning import without_thoughts
from engine.remote.failures import status_failure, words_of
from engine.remote.probe import served_models
from engine.remote.stream import LONGEST_EVENT, AnswerReader, Echo, event_data

URL = "http://gpu.lan/v1/chat/completions"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ("choices", "delta", "message", "content", "reasoning", "reasoning_content", "finish_reason", "usage", "error",
     "prompt_tokens", "prompt_progress", "total", "refusal", "text")
)  # fmt: skip
LIKE_AN_ANSWER = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=15
)
TEXT = st.text(max_size=20) | st.lists(st.fixed_dictionaries({"text": st.text(max_size=9) | JSON}), max_size=2)
PART = st.fixed_dictionaries({}, optional=dict.fromkeys(("content", "reasoning", "refusal"), TEXT | LIKE_AN_ANSWER))
CHOICES = st.lists(st.fixed_dictionaries({"delta": PART}) | st.fixed_dictionaries({"message": PART}), max_size=2)
MESSAGE = st.fixed_dictionaries(
    {"choices": CHOICES | LIKE_AN_ANSWER},
    optional={
        "usage": st.fixed_dictionaries({"prompt_tokens": JSON}),
        "prompt_progress": LIKE_AN_ANSWER,
        "error": JSON,
    },
)


def events(*deltas: dict[str, Any]) -> bytes:
    messages = [{"choices": [{"delta": delta}]} for delta in deltas]
    return b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)


def text_of(chunks: list[bytes]) -> str:
    reader = AnswerReader(URL, "")
    pieces = [piece for data in event_data(chunks, URL) for piece in reader.read(data)]
    return "".join(piece.text for piece in [*pieces, *reader.close()])


@given(
    cuts=st.lists(st.integers(0, 500), max_size=20),
    ending=st.sampled_from((b"\n", b"\r\n", b"\r")),
    mark=st.sampled_from((b"", b"\xef\xbb\xbf")),
    beginning=st.sampled_from((b": a comment\nevent: x\nid: 7\n", b"data:\n\n", b"")),
)
def test_pieces_of_any_size_give_the_same_answer(cuts: list[int], ending: bytes, mark: bytes, beginning: bytes) -> None:
    whole = events({"reasoning": "Hm, "}, {"reasoning": "yes."}, {"content": "Größe "}, {"content": "猫."})
    whole = mark + (beginning + whole).replace(b"\n", ending)
    places = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    chunks = [whole[start:end] for start, end in pairwise(places)]
    assert text_of(chunks) == "<think>\nHm, yes.\n</think>\n\nGröße 猫."


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert text_of([events({"content": "a"}).rstrip(b"\n")]) == "a"


def test_an_event_of_many_lines_has_a_limit_too() -> None:
    with pytest.raises(Failure):
        list(event_data([b"data: " + b"x" * 65536 + b"\n"] * (LONGEST_EVENT // 65536 + 2), URL))


@pytest.mark.parametrize("ending", [b"\n", b"\r"])
def test_an_event_of_empty_lines_has_the_limit_too(ending: bytes) -> None:
    with pytest.raises(Failure, match="far more than an answer"):
        list(event_data([(b"data:" + ending) * (LONGEST_EVENT // 5 + 1)], URL))


@pytest.mark.parametrize("depth", [2, 400, 980])
def test_parts_within_parts_are_no_text(depth: int) -> None:
    parts = b'[{"text":' * depth + b'"x"' + b"}]" * depth
    try:
        assert AnswerReader(URL, "").read(b'{"choices":[{"delta":{"content":' + parts + b"}}]}") == []
    except Failure as failure:  # some depth is more than Python reads
        assert depth > 400
        assert "gpu.lan" in str(failure)


@settings(max_examples=300)
@given(MESSAGE | LIKE_AN_ANSWER)
def test_a_message_of_any_form_is_read_or_refused(value: Any) -> None:
    reader = AnswerReader(URL, "key")
    try:
        pieces = reader.read(msgspec.json.encode(value))
    except Failure as failure:
        assert "gpu.lan" in str(failure)
        return
    pieces += reader.close()
    text = "".join(piece.text for piece in pieces)
    assert text == printable(text)  # can be stored and sent
    assert reader.number("prompt_tokens") >= 0


EVENT_PIECES = st.sampled_from(
    (b"data: ", b"data:", b"\n\n", b"\n", b"\r", b"event: x\n", b": ", b"[DONE]", b"{", b"\xef\xbb\xbf")
)


@given(
    st.lists(EVENT_PIECES | MESSAGE.map(msgspec.json.encode) | st.binary(max_size=9), max_size=12).map(b"".join),
    st.integers(0, 200),
)
def test_bytes_of_any_form_are_read_or_refused_the_same_in_two_pieces(data: bytes, cut: int) -> None:
    def outcome(chunks: list[bytes]) -> str:
        try:
            return text_of(chunks)
        except Failure as failure:
            return f"{failure.code}: {failure}"

    assert outcome([data]) == outcome([data[:cut], data[cut:]])


NAMES = st.text("aé猫- /", min_size=1, max_size=9)
MODEL = st.fixed_dictionaries(
    {"id": NAMES | JSON}, optional=dict.fromkeys(("name", "object", "type", "meta", "max_model_len"), JSON)
)


@given(NAMES, st.lists(MODEL, max_size=5))
def test_a_list_of_models_of_any_form_gives_models_with_names(name: str, found: list[dict[str, Any]]) -> None:
    models = served_models([*found, {"id": name}])
    assert name in {model.name for model in models}
    for model in models:
        assert model.name
        assert model.n_ctx >= 0


@given(JSON | st.text(), st.integers(400, 599))
def test_a_refusal_of_any_form_is_a_sentence_without_the_key(value: Any, status: int) -> None:
    body = msgspec.json.encode({"error": {"message": ["sesame-1", value]}})
    failure = status_failure(URL, status, body, "sesame-1", "model")
    assert str(failure)
    assert "sesame-1" not in str(failure) + failure.detail + words_of(body, "sesame-1")


@given(st.text(min_size=1, max_size=30), st.text(max_size=30), st.lists(st.integers(1, 59), max_size=5))
def test_a_repeated_beginning_is_dropped_once(begun: str, new: str, cuts: list[int]) -> None:
    def read(text: str) -> str:
        echo = Echo(begun)
        places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
        parts = [echo.feed(text[start:end]) for start, end in pairwise(places)]
        return "".join(parts) + echo.close()

    assert read(begun + new) == new
    other = "\0" + new
    if not begun.startswith("\0"):
        assert read(other) == other


def test_thoughts_after_the_answer_has_begun_are_left_out() -> None:
    late = events({"content": "Yes."}, {"reasoning": "Hm."}, {"content": " No."})
    assert without_thoughts(text_of([late])) == "Yes. No."
