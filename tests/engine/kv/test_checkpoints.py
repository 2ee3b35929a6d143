"""Checkpoints: which to drop, and a session that goes back with them on a runtime with one state for all tokens."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.generation.decode import decode
from engine.kv.checkpoints import NEAR, Checkpoints, Place, least_useful
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.runtime.interface import Checkpoint, Tree
from engine.stop import Stopped
from engine.tokenization.tokens import common_prefix
from tests.engine.fake_runtime import FakeRecurrent, greedy, letters


def places(*sizes: int, turns: tuple[int, ...] = ()) -> list[Place]:
    return [Place(size, size in turns) for size in sizes]


def test_of_two_that_are_close_together_one_goes():
    assert least_useful(places(1000, 2000, 2010, 3000), 4000) in (1, 2)


def test_older_ones_are_thinned_out_first():
    assert least_useful(places(*range(512, 8192, 512)), 8192) < 7


def test_a_place_where_a_message_begins_stays():
    assert least_useful(places(512, 1000, 1024, 1536, turns=(1000,)), 2048) != 1
    assert least_useful(places(512, 1024, 1536, turns=(512,)), 2048) != 0


def test_the_newest_one_stays_while_a_prompt_is_read():
    for count in range(2, 40):
        sizes = [128 * (i + 1) for i in range(count)]
        assert least_useful(places(*sizes), sizes[-1] + 128) != count - 1


@given(st.sets(st.integers(1, 5000), min_size=1, max_size=30), st.data())
def test_one_is_always_found(sizes, data):
    ordered = sorted(sizes)
    turns = tuple(data.draw(st.sets(st.sampled_from(ordered))))
    dropped = least_useful(places(*ordered, turns=turns), ordered[-1] + data.draw(st.integers(-1, 500)))
    assert 0 <= dropped < len(ordered)


@given(st.sets(st.integers(1, 5000), min_size=2, max_size=12), st.integers(0, 500))
def test_the_one_that_goes_costs_least(sizes, more):
    """Whoever goes back to a place behind it reads more; places that are nearer to the end are likelier."""
    ordered = sorted(sizes)
    bounds: list[int] = [0, *ordered, ordered[-1] + more]

    def cost(i: int) -> float:
        before, here, after = bounds[i : i + 3]
        chance: float = sum(1 / (bounds[-1] - at + NEAR - 0.5) for at in range(here, after))
        return (here - before) * chance

    dropped = least_useful(places(*ordered), bounds[-1])
    assert cost(dropped) <= 1.001 * min(map(cost, range(len(ordered))))


@pytest.mark.parametrize("most", [1, 3])
def test_never_more_than_the_plan_has_room_for(most):
    kept = Checkpoints(most)
    for size in range(100, 2000, 100):
        kept.make_room(size)
        kept.add(Checkpoint(size, b"1234"), is_turn=False)
        assert len(kept) <= most
    assert [checkpoint.size for checkpoint in kept.newest(1)] == [1900]
    kept.drop_behind(1899)
    assert len(kept) == most - 1
    assert all(place.size < 1900 for place in kept.places)
    assert kept.before(10) is None


def session_on(**options: int) -> tuple[Session, FakeRecurrent]:
    target = FakeRecurrent(n_ctx=4096, max_batch=64, **options)
    return Session(target, checkpoints=6), target


def read(session: Session, prompt: list[int]) -> int:
    """Prefill the prompt and return how many of its tokens ran."""
    before = sum(session.runtime.passes)  # type: ignore[attr-defined]
    list(session.prefill(prompt))
    return int(sum(session.runtime.passes) - before)  # type: ignore[attr-defined]


def answer(session: Session, length: int = 30) -> list[int]:
    return [t for step in decode(session, greedy(), PartialFixed(AlwaysPolicy(), 64), length) for t in step.tokens]


CHAT = [97 + i * i % 7 for i in range(1000)]


def test_another_try_reads_one_token():
    session, _ = session_on()
    assert read(session, CHAT) == 1000
    first = answer(session)
    assert read(session, CHAT) == 1
    assert answer(session) == first


def test_another_question_continues_and_an_edit_of_it_goes_back_to_its_beginning():
    session, _ = session_on()
    read(session, CHAT)
    chat = [*CHAT, *answer(session)]
    assert read(session, [*chat, *CHAT[:100]]) == 101  # and the answer's last token
    assert read(session, [*chat, *CHAT[50:150]]) == 101


def test_an_edit_in_the_middle_reads_from_the_checkpoint_before_it():
    session, _ = session_on()
    session.checkpoints.most = 40
    read(session, CHAT)
    edited = [*CHAT[:500], *CHAT[:100]]
    assert session.reusable(edited) == 500 - 500 % 64
    assert session.reusable([*CHAT[:50], 1]) == 0
    assert read(session, edited) == 100 + 500 % 64


def test_a_stopped_prompt_loses_at_most_one_pass():
    session, target = session_on()
    target.fails_after = 800
    with pytest.raises(Stopped):
        list(session.prefill(CHAT))
    assert session.tokens == target.cache == CHAT[: 800 // 64 * 64]
    assert read(session, CHAT) == 1000 - 800 // 64 * 64


def test_without_any_checkpoint_the_chat_is_read_again():
    session, target = session_on()
    session.checkpoints.most = 0
    read(session, CHAT)
    assert read(session, CHAT) == 1000
    assert target.cache == CHAT


def test_without_memory_for_a_checkpoint_the_chat_goes_on(monkeypatch):
    session, target = session_on()

    def fail() -> Checkpoint:
        raise MemoryError("no memory")

    monkeypatch.setattr(target, "checkpoint", fail)
    assert read(session, CHAT) == 1000
    assert session.tokens == target.cache == CHAT
    assert not len(session.checkpoints)


@pytest.mark.parametrize("noticed", [True, False])
def test_checkpoints_of_a_cache_that_was_emptied_are_not_used(noticed):
    _, target = session_on()
    session = Session(target, 8192, checkpoints=6)
    read(session, CHAT)
    target.cache = []  # as a move to another context does, if there is no memory for either
    if noticed:
        session.make_room(4000)
        assert session.tokens == []
    assert read(session, CHAT) == 1000
    assert read(session, CHAT) == 1


def test_a_loaded_chat_brings_as_many_checkpoints_as_there_is_room_for():
    for most in (0, 1, 6):
        target = FakeRecurrent(n_ctx=4096, max_batch=64)
        session = Session(target, checkpoints=most)

        def load(target=target) -> list[Checkpoint]:
            target.cache = list(CHAT)
            return [Checkpoint(size, bytes(f"{CHAT[:size]}", "ascii")) for size in (300, 700)]

        session.restore(CHAT, load)
        assert [place.size for place in session.checkpoints.places] == [300, 700][2 - min(most, 2) :]
        assert read(session, [*CHAT[:800], 97]) == 801 - (700 if most else 0)


@given(st.integers(0, 2**32), st.integers(0, 6))
def test_after_any_series_of_operations_the_cache_holds_the_sessions_tokens(seed, rollback):
    """The fake's next token depends on all tokens in its cache, and it refuses checkpoints of other tokens."""
    rng = random.Random(seed)
    session, target = session_on(rollback=rollback)
    chat = [97 + rng.randrange(26) for _ in range(rng.randrange(1, 400))]
    for _ in range(8):
        if rng.random() < 0.3:
            target.fails_after = rng.randrange(300)
        prompt = chat[: rng.randrange(1, len(chat) + 1)] + [97 + rng.randrange(3) for _ in range(rng.randrange(90))]
        try:
            list(session.prefill(prompt))
            assert target.cache == session.tokens == prompt
            for _ in range(rng.randrange(6)):
                newest = letters(target.cache)
                draft = Tree.line([97 + rng.randrange(2) for _ in range(rng.randrange(rollback + 1))])
                session.verify([newest], draft)
                session.accept([newest], draft, range(rng.randrange(draft.size + 1)))
        except Stopped:
            common = common_prefix(session.tokens, prompt)
            assert common in (len(session.tokens), len(prompt))
        assert target.cache == session.tokens
        assert all(place.size <= len(session.tokens) for place in session.checkpoints.places)
        chat = list(session.tokens) or prompt
