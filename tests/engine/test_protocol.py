"""Protocol: every message survives its line, and a bad line raises ProtocolError."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.events import Finished, Statistics
from engine.protocol.lines import EVENTS, REQUESTS, ProtocolError, decode_event, decode_request, encode
from engine.protocol.requests import Cancel, Generate, Load, Message, Sampling

messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text())
samplings = st.builds(
    Sampling, st.floats(0, 10), st.integers(0, 99), st.floats(0.1, 1), seed=st.none() | st.integers(0, 9)
)
requests = st.one_of(
    st.builds(Generate, st.integers(0), st.lists(messages).map(tuple), samplings, st.none() | st.integers(1, 99)),
    st.builds(Load, st.integers(0), st.text(), st.none() | st.integers(64, 99999)),
    st.builds(Cancel, st.integers(0), st.integers(0)),
)


@given(requests)
def test_requests_survive(request):
    line = encode(request)
    assert line.count(b"\n") == 1
    assert decode_request(line) == request


def test_events_survive():
    event = Finished(4, Statistics(1, 2, 0.5, 3, 0.25, 3, "end", 9, 512), (5, 6))
    assert decode_event(encode(event)) == event


@given(st.binary() | st.text().map(str.encode))
def test_garbage_is_refused_politely(line):
    with pytest.raises(ProtocolError):
        decode_request(line)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_json_of_any_shape_is_refused_politely(value):
    with pytest.raises(ProtocolError):
        decode_request(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"v": 2}, "version"),
        ({"v": None}, "version"),
        ({"type": "fly"}, "no message of type"),
        ({"type": ["x"]}, "no message of type"),
        ({"messages": "hi"}, "array"),
        ({"messages": [{"role": "bird", "content": ""}]}, "bird"),
        ({"messages": [{"role": "user"}]}, "content"),
        ({"sampling": {"temperature": -1}}, "temperature"),
        ({"max_tokens": -1}, "longest answer"),
        ({"stop": [""]}, "stop"),
        ({"draft": "fly"}, "fly"),
        ({"lookup": {"n": 1}}, "2 to 64 tokens"),
        ({"lookup": {"m": 17, "n": 2}}, "1 to 16 sequences"),
        ({"lookup": {"m": 10, "n": 7}}, "1 to 9 sequences"),
        ({"lookup": {"select": "oldest"}}, "oldest"),
        ({"id": "seven"}, "id"),
    ],
)
def test_wrong_fields_are_named(change, words):
    fields = {"v": 1, "type": "generate", "id": 7, "messages": []} | change
    with pytest.raises(ProtocolError, match=words) as caught:
        decode_request(json.dumps(fields).encode())
    assert caught.value.id == (0 if "id" in change else 7)


def test_unknown_fields_of_a_newer_window_are_ignored():
    assert decode_request(b'{"v":1,"type":"cancel","id":1,"request":2,"colour":"blue"}') == Cancel(1, 2)


def test_type_names():
    assert {"load", "generate", "prepare", "shutdown"} <= set(REQUESTS)
    assert {"load_progress", "prefill_progress", "status_report"} <= set(EVENTS)


@pytest.mark.parametrize("share", [0, -0.1, 1.01])
def test_a_share_of_heads_is_above_zero(share):
    with pytest.raises(ValueError, match="must lie above 0 and up to 1"):
        Load(0, "model.gguf", kv_share=share)
