"""Chats that take turns: each finds its tokens again, in memory or on disk, and no answer shows the others."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from common.failures import Failure
from engine.kv import chat_cache, saved
from engine.kv.chat_cache import ChatCache
from engine.kv.kept import reusable
from engine.kv.saved import Guard, SavedChats
from engine.kv.session import Session
from engine.stop import Stopped
from tests.engine.fake_runtime import FakeRecurrent, FakeRuntime

GUARD = Guard("model", "f16", "build 1")
FAST = 1e12  # bytes per second of a disk
ROOM = 100_000  # bytes: of more than all chats here
SYSTEM = [i % 7 for i in range(100)]
ANSWER = 3  # tokens


@pytest.fixture(autouse=True)
def memory_is_enough(monkeypatch):
    monkeypatch.setattr(chat_cache, "is_memory_short", lambda: False)


def hashed(tokens: Sequence[int]) -> int:
    """Return a next token that depends on every token before it."""
    return hash(tuple(tokens)) % 26 + 97


class Elastic(FakeRuntime):
    """A runtime whose cache can grow to any size; `moves` lists the sizes that it was given."""

    def __init__(self) -> None:
        super().__init__(hashed)
        self.moves: list[int] = []

    def resize(self, n_ctx: int) -> None:
        super().resize(n_ctx)
        self.moves.append(n_ctx)


class ElasticRecurrent(FakeRecurrent):
    def __init__(self) -> None:
        super().__init__(hashed)


RUNTIMES: list[Callable[[], FakeRuntime]] = [Elastic, ElasticRecurrent]
runtimes = pytest.mark.parametrize("make", RUNTIMES)


def new_cache(folder: Path, make: Callable[[], FakeRuntime] = Elastic, kept_bytes: int = ROOM) -> ChatCache:
    cache = ChatCache(Session(make(), limit=4096, checkpoints=8), SavedChats(folder), GUARD, kept_bytes)
    cache.record_prefill(100, 1.0)
    return cache


def ask(cache: ChatCache, chat: str, prompt: list[int]) -> tuple[list[int], int]:
    """Answer a prompt; return the prompt with the answer, and how many of its tokens were read."""
    cache.open_chat(chat, prompt)
    *_, last = cache.session.prefill(prompt)
    answer = list[int]()
    for _ in range(ANSWER):
        assert cache.session.logits
        answer.append(int(cache.session.logits.row().argmax()))
        assert cache.session.make_room(1)
        cache.session.run(answer[-1:])
        cache.session.keep_first(answer[-1:], 1)
    assert answer == fresh_answer(prompt)
    return prompt + answer, len(prompt) - last.reused


def fresh_answer(prompt: list[int]) -> list[int]:
    """Return the answer of a model that has read nothing before."""
    tokens = list(prompt)
    for _ in range(ANSWER):
        tokens.append(hashed(tokens))
    return tokens[len(prompt) :]


def alternate(cache: ChatCache, names: Sequence[str], turns: int = 4) -> list[int]:
    """Let chats with the same beginning take turns; return how many tokens beyond the new ones each turn read."""
    chats = [SYSTEM + [10 + i] * (90 + 60 * i) for i in range(len(names))]
    beyond = []
    for turn in range(turns):
        for i, name in enumerate(names):
            question = [50 + turn] * 20
            chats[i], read = ask(cache, name, chats[i] + question)
            if turn:
                beyond.append(read - len(question))
    return beyond


@runtimes
@pytest.mark.parametrize("names", [("a", "b"), ("", ""), ("a", "", "b", "")])
def test_chats_that_take_turns_read_only_what_is_new(make, names, tmp_path):
    cache = new_cache(tmp_path, make)
    assert max(alternate(cache, names)) <= 1
    assert cache.kept.count == len(names) - 1


def test_without_room_for_others_they_are_read_again(tmp_path):
    assert min(alternate(new_cache(tmp_path, kept_bytes=0), ["", ""])) > 64


def test_the_cache_does_not_move_between_chats_of_different_lengths(tmp_path):
    cache = new_cache(tmp_path)
    long = ask(cache, "long", [1] * 900)[0]
    assert isinstance(cache.session.runtime, Elastic)
    moves = list(cache.session.runtime.moves)
    for _ in range(3):
        ask(cache, "", [2] * 100)
        long = ask(cache, "long", [*long, 3])[0]
    assert cache.session.runtime.moves == moves
    cache.clear()
    ask(cache, "", [2] * 100)
    assert cache.session.runtime.n_ctx == 512


@runtimes
def test_a_new_chat_begins_with_what_a_kept_one_has_in_common_and_leaves_that_one_kept(make, tmp_path):
    cache = new_cache(tmp_path, make)
    ask(cache, "", SYSTEM)  # a checkpoint ends it
    first = ask(cache, "", [*SYSTEM, *[20] * 100])[0]
    ask(cache, "", [30] * 200)
    assert ask(cache, "", [*SYSTEM, *[40] * 50])[1] <= 51
    assert ask(cache, "", [*first, 1])[1] == 1


def test_another_try_of_the_same_chat_keeps_no_copy(tmp_path):
    cache = new_cache(tmp_path)
    ask(cache, "a", [1] * 300)
    ask(cache, "a", [*[1] * 150, *[2] * 100])
    assert cache.kept.count == 0


def test_chats_that_were_continued_and_left_last_are_kept_longest(tmp_path):
    cache = new_cache(tmp_path, kept_bytes=660)
    chat = ask(cache, "", [1] * 200)[0]
    for _ in range(2):
        ask(cache, "", [9] * 40)
        chat = ask(cache, "", [*chat, 5])[0]
    for other in (2, 3, 4, 5):
        ask(cache, "", [other] * 200)
    assert ask(cache, "", [*chat, 1])[1] == 1
    assert ask(cache, "", [4] * 201)[1] == 1
    assert ask(cache, "", [2] * 201)[1] == 201


def test_a_long_common_beginning_makes_a_copy_worth_less(tmp_path):
    cache = new_cache(tmp_path, kept_bytes=700)
    ask(cache, "", [1] * 200)
    for other in (10, 11, 12, 13):
        ask(cache, "", [*[2] * 160, *[other] * 40])
    assert ask(cache, "", [1] * 201)[1] == 1


def test_a_chat_larger_than_the_budget_drops_no_other(tmp_path):
    cache = new_cache(tmp_path, kept_bytes=350)
    ask(cache, "", [1] * 200)
    ask(cache, "", [2] * 400)
    ask(cache, "", [3] * 100)
    assert ask(cache, "", [1] * 201)[1] == 1


def test_a_copy_may_take_the_whole_budget_and_no_byte_more(tmp_path):
    for room, count in ((200 + ANSWER, 1), (200 + ANSWER - 1, 0)):
        cache = new_cache(tmp_path, kept_bytes=room)
        ask(cache, "", [1] * 200)
        ask(cache, "", [2] * 200)
        assert cache.kept.count == count
        ask(cache, "", [3] * 200)  # the older copy makes room for the newer one
        assert cache.kept.count == count


def test_what_a_copy_spares_depends_on_where_the_cache_can_be_cut():
    cached, prompt = [1] * 100, [*[1] * 60, *[2] * 9]
    assert reusable(cached, [40, 70], prompt, window=0) == 40
    assert reusable(cached, [70], prompt, window=99) == 0
    assert reusable(cached, [40], prompt, window=100) == 60
    assert reusable(cached, [40], [*cached, 2], window=0) == 100


def test_a_chat_that_is_worth_less_drops_no_other(tmp_path):
    cache = new_cache(tmp_path, kept_bytes=260)
    chat = ask(cache, "", [1] * 200)[0]
    for other in (8, 9):
        ask(cache, "", [other] * 30)
        chat = ask(cache, "", [*chat, 5])[0]
    ask(cache, "", [2] * 200)
    ask(cache, "", [3] * 200)
    assert ask(cache, "", [*chat, 1])[1] == 1


def test_each_content_is_kept_once(tmp_path):
    cache = new_cache(tmp_path)
    first = ask(cache, "a", [1] * 200)[0]
    ask(cache, "b", [2] * 200)
    ask(cache, "a", [*first, 1])
    assert cache.kept.count == 1  # "b", as what was kept of "a" is in the cache
    ask(cache, "b", [2] * 100 + [3] * 100)
    assert cache.kept.count == 1  # "a", as "b" goes on another way
    with cache.set_aside():
        ask(cache, "", [4] * 200)
        assert cache.kept.count == 2


def test_a_paused_chat_stays_and_counts(tmp_path):
    cache = new_cache(tmp_path)
    first = ask(cache, "a", [1] * 200)[0]
    with cache.set_aside():
        cache.clear()
        assert cache.kept.bytes >= len(first)
    assert cache.session.tokens == first


@pytest.mark.parametrize("by", [ChatCache.release_if_short, lambda cache: ask(cache, "", [3] * 200)])
def test_when_memory_is_short_nothing_is_kept(tmp_path, monkeypatch, by):
    cache = new_cache(tmp_path)
    ask(cache, "", [1] * 200)
    ask(cache, "", [2] * 200)
    cache.release_if_short()
    assert cache.kept.count == 1
    monkeypatch.setattr(chat_cache, "is_memory_short", lambda: True)
    by(cache)
    assert cache.kept.count == 0
    ask(cache, "", [4] * 200)
    assert cache.kept.count == 0


def test_a_deleted_chat_is_in_memory_no_more(tmp_path):
    cache = new_cache(tmp_path)
    ask(cache, "a", [1] * 200)
    ask(cache, "b", [2] * 200)
    cache.delete_chat("a")
    assert cache.kept.bytes == 0
    assert ask(cache, "", [1] * 201)[1] == 201


def test_a_copy_that_does_not_fit_into_the_computers_memory_is_done_without(tmp_path, monkeypatch):
    cache = new_cache(tmp_path)
    ask(cache, "", [1] * 200)

    def fails(_most: int) -> Callable[[], None]:
        raise MemoryError

    monkeypatch.setattr(cache.session.runtime, "snapshot", fails)
    ask(cache, "", [2] * 200)
    assert cache.kept.count == 0


def test_a_cache_that_cannot_grow_for_a_kept_chat_reads_the_prompt(tmp_path, monkeypatch):
    cache = new_cache(tmp_path)
    ask(cache, "", [1] * 200)
    ask(cache, "", [2] * 200)

    def fails(*_: object) -> None:
        raise Failure("out_of_memory.context", n_ctx=1)

    with monkeypatch.context() as patch:
        patch.setattr(cache.session, "restore", fails)
        cache.open_chat("", [*[1] * 200, 1])
    ask(cache, "", [*[1] * 200, 1])


def test_a_chat_that_was_dropped_comes_back_from_disk(tmp_path):
    cache = new_cache(tmp_path, kept_bytes=0)
    chat = ask(cache, "a", [1] * 400)[0]
    assert cache.save(FAST)
    ask(cache, "b", [2] * 400)
    assert ask(cache, "a", [*chat, 1])[1] == 1


def test_the_speed_of_reading_is_that_of_the_last_long_prompts(tmp_path):
    cache = new_cache(tmp_path)
    for tokens, seconds, rate in ((31, 9.0, 100), (32, 0.0, 100), (32, 0.16, 150), (50, 1.0, 100)):
        cache.record_prefill(tokens, seconds)
        assert cache.prefill_rate == rate


def test_a_chat_is_saved_again_once_enough_of_it_is_new(tmp_path):
    cache = new_cache(tmp_path)
    cache.prefill_rate = 0.0
    chat = ask(cache, "a", [1] * 300)[0]
    assert not cache.save(FAST)  # how long reading takes is not known
    cache.record_prefill(100, 1.0)
    assert cache.save(FAST)
    assert cache.saved_tokens == len(chat)
    chat = ask(cache, "a", [*chat, *[2] * (63 - ANSWER)])[0]
    assert not cache.save(FAST)
    chat = ask(cache, "a", [*chat, *[2] * (64 - 63)])[0]
    assert cache.save(FAST)
    cache.delete_chat("b")
    assert cache.session.tokens == chat
    cache.delete_chat("a")
    assert (cache.chat, cache.saved_tokens, cache.session.tokens) == ("", 0, [])


class Turns(RuleBasedStateMachine):
    """Chats ask, are edited, branched and deleted in any order, with little room; every answer is a fresh engine's."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.chats: list[tuple[str, list[int]]] = []
        self.made = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(make=st.sampled_from(RUNTIMES), kept_bytes=st.sampled_from([0, 300, 900, ROOM]))
    def start(self, make, kept_bytes):
        self.make = make
        self.cache = new_cache(self.folder, make, kept_bytes)

    def ask(self, index: int, prompt: list[int]) -> None:
        name = self.chats[index][0]
        self.chats[index] = (name, ask(self.cache, name, prompt)[0])

    pick = st.integers(0, 5)
    texts = st.builds(lambda token, count: [token] * count, st.integers(97, 99), st.integers(1, 150))

    @rule(text=texts, saved=st.booleans(), branch=st.one_of(st.none(), pick), at=st.integers(0, 300))
    def begin(self, text, saved, branch, at):
        self.made += 1
        start = self.chats[branch % len(self.chats)][1][:at] if branch is not None and self.chats else []
        self.chats.append((f"chat-{self.made}" if saved else "", []))
        self.ask(-1, start + text)
        del self.chats[:-6]

    @precondition(lambda self: self.chats)
    @rule(index=pick, text=texts, cut=st.sampled_from([0, 0, 0, 1, 40, 200]))
    def go_on(self, index, text, cut):
        index %= len(self.chats)
        chat = self.chats[index][1]
        self.ask(index, chat[: max(0, len(chat) - cut)] + text)

    @precondition(lambda self: self.chats)
    @rule(index=pick)
    def delete(self, index):
        name, _ = self.chats.pop(index % len(self.chats))
        if name:
            self.cache.delete_chat(name)
            assert self.cache.chat != name

    @rule(full=st.booleans())
    def save_in_idle_time(self, full):
        spare, self.cache.retry_at = saved.SPARE_DISK, 0.0
        saved.SPARE_DISK = 1 << 60 if full else 0
        try:
            assert not self.cache.save(FAST) or not full
        except Failure:
            assert full
        finally:
            saved.SPARE_DISK = spare

    @rule(kept_bytes=st.sampled_from([0, 300, 900]))
    def restart(self, kept_bytes):
        self.cache = new_cache(self.folder, self.make, kept_bytes)

    @rule()
    def run_short_of_memory(self):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chat_cache, "is_memory_short", lambda: True)
            self.cache.release_if_short()
        assert self.cache.kept.bytes == 0

    @precondition(lambda self: len(self.chats) > 1)
    @rule(index=pick, text=texts, stopped=st.booleans())
    def pause_for(self, index, text, stopped):
        runtime, before = self.cache.session.runtime, list(self.cache.session.tokens)
        assert isinstance(runtime, FakeRuntime)
        try:
            with self.cache.set_aside():
                self.go_on(index, text, 0)
                if stopped:
                    raise Stopped
        except Stopped:
            return
        assert runtime.cache == before

    @invariant()
    def all_agrees(self):
        if hasattr(self, "cache"):
            runtime = self.cache.session.runtime
            assert isinstance(runtime, FakeRuntime)
            assert runtime.cache == self.cache.session.tokens
            assert self.cache.kept.bytes <= self.cache.kept.budget


TestTurns = Turns.TestCase
TestTurns.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
