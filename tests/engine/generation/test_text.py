"""Bytes become text the same way however they are cut."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from engine.generation.answer import TextStream


def stream(pieces, stops=()) -> str:
    text = TextStream(stops)
    return "".join(text.feed(piece) for piece in pieces) + text.finish()


def cut(raw: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(raw) + 1) for place in at), len(raw)]
    return [raw[a:b] for a, b in itertools.pairwise(places)]


@given(st.text(), st.lists(st.integers(0, 1000)))
def test_any_cut_gives_the_same_text(text, at):
    assert stream(cut(text.encode(), at)) == text


@given(
    st.text("abAB"),
    st.lists(st.text("abAB", min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(0, 99)),
)
def test_any_cut_ends_before_the_same_stop_string(text, stops, at):
    shown = stream(cut(text.encode(), at), stops)
    assert text.startswith(shown)
    assert not any(stop in shown for stop in stops)
    if not any(stop in text for stop in stops):
        assert shown == text


@given(st.binary())
def test_no_bytes_are_too_bad(raw):
    stream([raw[i : i + 1] for i in range(len(raw))])


def test_nothing_follows_a_stop_string():
    text = TextStream(["END"])
    assert text.feed(b"a END b") == "a "
    assert text.stopped
    assert text.feed(b"more") == ""
    assert text.finish() == ""
