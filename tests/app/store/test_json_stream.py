"""Large JSON is read entry by entry, with the same values that json reads."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store import json_stream
from app.store.json_stream import JsonStream, NotJson
from tests.app.store.any_json import JSON


@given(st.lists(JSON) | st.dictionaries(st.text(), JSON), st.integers(1, 64), st.booleans())
def test_the_stream_reads_what_json_reads(value: Any, chunk: int, pretty: bool) -> None:
    data = json.dumps(value, indent=1 if pretty else None, ensure_ascii=pretty).encode()
    expected: list[tuple[str, Any]] = []
    for key, each in value.items() if isinstance(value, dict) else [("", value)]:
        expected += [(key, element) for element in each] if isinstance(each, list) else [(key, each)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        assert list(JsonStream(io.BytesIO(data)).elements()) == expected
        with pytest.raises(NotJson):
            list(JsonStream(io.BytesIO(data[:-1])).elements())


@pytest.mark.parametrize("seed", range(30))
def test_a_broken_stream_is_told(seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(json.dumps([{"a": [1, 'x\\"y', None], "b": {"c": 1.5}}] * 20).encode())
    for _ in range(3):
        data[dice.randrange(len(data))] = dice.randrange(256)
    ours: Any
    try:
        ours = [value for _, value in JsonStream(io.BytesIO(bytes(data))).elements()]
    except NotJson:
        ours = None
    try:
        theirs = json.loads(bytes(data))
    except ValueError:
        theirs = None
    assert ours == theirs


def test_an_entry_too_large_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", 100)
    monkeypatch.setattr(json_stream, "LONGEST", 1000)
    with pytest.raises(NotJson, match="too large"):
        list(JsonStream(io.BytesIO(b'["' + b"x" * 5000 + b'"]')).elements())
    with pytest.raises(NotJson, match="too large"):  # a zip file of some megabytes may hold gigabytes of blanks
        list(JsonStream(io.BytesIO(b"[" + b" " * 5000 + b"]")).elements())
