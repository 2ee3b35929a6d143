"""Slots of the compressed heads: which tokens they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.runtime.graph.published import PublishedSlots
from engine.runtime.graph.slots import MERGE_BLOCK, PROTECTED_TOKENS, SINK_TOKENS, MergedSlots, WindowSlots, window_size

KINDS = [MergedSlots, WindowSlots]


def read(slots, tokens, step=32) -> None:
    """Append tokens in passes of `step`."""
    for begin in range(0, len(tokens), step):
        slots.begin_pass(slots.settled + len(slots.tail))
        slots.assign(tokens[begin : begin + step])
    slots.begin_pass(slots.settled + len(slots.tail))


def seen(slots) -> list[int]:
    return [int(slot) for slot in np.flatnonzero(slots.bias > -np.inf)]


def test_the_newest_tokens_are_never_merged():
    slots = MergedSlots(1024)
    read(slots, [7] * 300)
    assert len(slots.tail) >= PROTECTED_TOKENS
    assert slots.held == SINK_TOKENS + 1 + len(slots.tail)
    (entry,) = slots.entries.values()
    slot, count, _ = entry
    assert count == 300 - len(slots.tail) - SINK_TOKENS
    assert slots.bias[slot] == np.float16(np.log(count))


def test_distinct_tokens_keep_entries_of_their_own():
    slots = MergedSlots(1024)
    read(slots, list(range(400)))
    assert slots.held == 400
    assert len(seen(slots)) == 400


def test_a_window_holds_the_first_tokens_and_the_newest():
    slots = WindowSlots(4096)
    read(slots, list(range(2000)))
    assert window_size(2000) + SINK_TOKENS <= slots.held <= window_size(2000) + SINK_TOKENS + MERGE_BLOCK
    assert slots.tail[-1][1] == 1999


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_drafted_and_dropped_leaves_no_trace(kind):
    tokens = [i * i % 50 for i in range(500)]
    plain, other = kind(1024), kind(1024)
    read(plain, tokens[:400])
    read(other, tokens[:400])
    other.begin_pass(400)
    other.assign([1, 2, 3, 4, 5])
    other.begin_pass(400)
    assert other.state()["tail"].tolist() == plain.state()["tail"].tolist()
    assert (other.bias == plain.bias).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_branch_is_kept(kind):
    slots = kind(1024)
    read(slots, list(range(100)))
    slots.begin_pass(100)
    new = slots.assign([500, 501, 502, 503])
    slots.keep_nodes(100, [0, 2])
    slots.begin_pass(102)
    assert [slot for slot, _ in slots.tail[-2:]] == [new[0], new[2]]
    assert len(seen(slots)) == 102


@pytest.mark.parametrize("kind", [*KINDS, PublishedSlots])
def test_its_state_comes_back(kind):
    slots, other = kind(1024), kind(1024)
    read(slots, [i * i % 50 for i in range(500)], step=1)
    other.set_state(slots.state())
    assert (other.bias == slots.bias).all()
    assert (other.held, other.settled, other.tail) == (slots.held, slots.settled, slots.tail)


@pytest.mark.parametrize("kind", [*KINDS, PublishedSlots])
def test_a_damaged_state_is_refused(kind):
    slots = kind(64)
    read(slots, list(range(40)), step=1)
    state = slots.state()
    state["numbers"] = np.array([65, 0])
    with pytest.raises(ValueError, match="beyond"):
        kind(64).set_state(state)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=400), st.integers(1, 60), st.sampled_from(KINDS))
def test_every_slot_is_free_or_held_once(tokens, step, kind):
    slots = kind(1024)
    read(slots, tokens, step)
    assert len(set(slots.free)) == len(slots.free)
    assert slots.held == len(seen(slots))
    assert not set(seen(slots)) & set(slots.free)
    assert slots.settled + len(slots.tail) == len(tokens)


def test_published_merges_at_once():
    slots = PublishedSlots(64)
    read(slots, [1, 2, 1, 1], step=1)
    assert slots.held == 2
    assert slots.counts[slots.entries[1]] == 3
