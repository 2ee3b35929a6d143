"""The decode loop, and an answer made by it, with the tiny fake model."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from common.failures import Failure
from engine.generation.answer import Answer, AnswerOptions
from engine.generation.decode import decode
from engine.generation.sampling import Sampler
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.protocol.events import WRITTEN, Finished, PrefillProgress
from engine.protocol.requests import Sampling
from engine.runtime.interface import Tree
from engine.speculative.drafting import Drafting
from engine.speculative.policy import DraftChoice
from engine.tokenization.pictures import block_tokens
from tests.engine.fake_runtime import END, FakeRuntime, greedy, letters, script
from tests.engine.kv.test_policy import Listed
from tests.engine.speculative.test_drafting import Guess

PROMPT = list(b"hello")


def kept() -> PartialFixed:
    return PartialFixed(AlwaysPolicy(), 64)


def answer(target: FakeRuntime, max_tokens: int | None = None, stops: tuple[str, ...] = ()):
    session = Session(target)
    options = AnswerOptions(stops, max_tokens)
    events = list(Answer(session, greedy(), kept(), options).events(3, PROMPT))
    assert {event.id for event in events} == {3}
    finished = events[-1]
    assert isinstance(finished, Finished)
    return "".join(e.text for e in events if isinstance(e, WRITTEN)), finished, session


def test_every_token_is_what_the_model_says_after_all_before_it():
    target = FakeRuntime()
    _, finished, session = answer(target, max_tokens=20)
    tokens = list(PROMPT)
    for token in finished.tokens:
        assert token == letters(tokens)
        tokens.append(token)
    assert session.tokens == target.cache == tokens[:-1]
    assert finished.statistics.steps == 19
    assert finished.statistics.decode_tokens == 20
    assert finished.statistics.stop_reason == "length"


def test_end_token_ends_and_is_not_part_of_the_answer():
    text, finished, _ = answer(FakeRuntime(script(b"a bird", len(PROMPT))))
    assert text == "a bird"
    assert finished.statistics.stop_reason == "end"
    assert END not in finished.tokens


def test_an_answer_of_nothing():
    text, finished, _ = answer(FakeRuntime(script(b"", len(PROMPT))))
    assert (text, finished.tokens, finished.statistics.stop_reason) == ("", (), "end")


@pytest.mark.parametrize("n_ctx", [6, 7, 30])
def test_a_full_context_ends_the_answer_and_says_so(n_ctx):
    _, finished, session = answer(FakeRuntime(n_ctx=n_ctx))
    assert finished.statistics.stop_reason == "context"
    assert len(session.tokens) == n_ctx
    assert finished.statistics.decode_tokens == n_ctx - len(PROMPT) + 1


def test_stop_string_over_several_tokens_is_never_shown():
    text, finished, _ = answer(FakeRuntime(script(b"one STOP two", len(PROMPT))), stops=("STOP",))
    assert text == "one "
    assert finished.statistics.stop_reason == "stop"


def test_what_only_looks_like_a_stop_string_is_shown():
    assert answer(FakeRuntime(script(b"one STO", len(PROMPT))), stops=("STOP",))[0] == "one STO"


def test_characters_of_several_tokens_come_whole():
    target = FakeRuntime(script("naïve 🐦 → 日本".encode(), len(PROMPT)))
    session = Session(target)
    events = list(Answer(session, greedy(), kept(), AnswerOptions()).events(1, PROMPT))
    texts = [event.text for event in events if isinstance(event, WRITTEN)]
    assert "".join(texts) == "naïve 🐦 → 日本"
    assert not any("�" in text for text in texts)


def test_an_unfinished_character_at_the_end_is_dropped():
    assert answer(FakeRuntime(script("bird 🐦".encode()[:-1], len(PROMPT))))[0] == "bird "


def test_stopped_while_decoding():
    target = FakeRuntime()
    session = Session(target)
    list(session.prefill(PROMPT))
    steps = decode(session, greedy(), kept(), None)
    first = next(steps)
    target.stop.set()
    assert [step.end for step in steps] == ["cancelled"]
    assert session.tokens == target.cache == PROMPT
    assert first.tokens == (letters(PROMPT),)


def test_stopped_while_reading_the_prompt_still_finishes():
    target = FakeRuntime()
    target.stop.set()
    text, finished, session = answer(target)
    assert (text, finished.statistics.stop_reason, session.tokens) == ("", "cancelled", [])


def test_progress_of_the_prompt():
    target = FakeRuntime(max_batch=2)
    options = AnswerOptions(max_tokens=1)
    events = Answer(Session(target), greedy(), kept(), options).events(1, PROMPT)
    done = [event.done for event in events if isinstance(event, PrefillProgress)]
    assert done == [0, 2, 4, 5]


class Asked(Drafting):
    """A drafter of something wrong, and of a picture; it notes how many tokens it may draft."""

    def __init__(self) -> None:
        super().__init__()
        self.most: list[int] = []

    def choose(self, newest, base, depth, most, /) -> DraftChoice:
        self.most.append(most)
        picture = block_tokens("a bird", 0, 2, 2)
        return DraftChoice(Tree.line([0, *picture][: max(0, most)]), pass_seconds=3.0, plain_seconds=1.0)


@pytest.mark.parametrize(
    ("n_ctx", "limit", "max_batch", "max_tokens", "most"),
    [(512, None, 64, 5, 3), (12, None, 64, None, 6), (512, 10, 64, None, 4), (512, None, 4, None, 3),
     (512, None, 64, None, 48)],
)  # fmt: skip
def test_a_draft_fits_into_the_answer_the_cache_and_the_pass(n_ctx, limit, max_batch, max_tokens, most):
    session, drafting = Session(FakeRuntime(n_ctx=n_ctx, max_batch=max_batch), limit), Asked()
    list(session.prefill(PROMPT))
    steps = decode(session, greedy(), kept(), max_tokens, drafting)
    assert next(steps).source is None
    next(steps)
    assert drafting.most == [most]
    if max_tokens:
        assert [step.end for step in steps] == [None, None, "length"]
        assert drafting.most == [3, 2, 1, 0]


def test_a_part_of_a_picture_is_never_drafted():
    session = Session(FakeRuntime())
    list(session.prefill(PROMPT))
    step = list(decode(session, greedy(), kept(), 9, Asked()))[1]
    assert step.source
    assert (step.source.draft.tokens, step.source.draft.pass_seconds) == ((0,), 3.0)


def test_a_pass_tells_what_it_ran():
    session, kv = Session(FakeRuntime()), PartialFixed(Listed([True, False, False]), 64)
    list(session.prefill(PROMPT))
    steps = list(decode(session, greedy(), kv, 60, Guess(letters, random.Random(3))))
    passes = [step.source for step in steps if step.source]
    assert [each.accepted for each in passes] == [len(step.tokens) - 1 for step in steps[1:]]
    assert [each.recomputed for each in passes] == [each.inputs - 1 for each in passes]
    assert {each.decision.keep for each in passes} == {True, False}
    assert all(each.seconds > 0 and each.rows == 1 + each.drafted for each in passes)
    assert (passes[0].depth, passes[0].inputs, passes[0].timing_unreliable) == (len(PROMPT), 1, False)
    for before, after in pairwise(passes):
        kept_tokens = before.inputs + before.accepted if before.decision.keep else 0
        assert after.depth == before.depth + kept_tokens
        assert after.inputs == 1 + (0 if kept_tokens else before.inputs + before.accepted)


class Noting(FakeRuntime):
    """A runtime that notes for which passes whole rows are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.whole_rows: list[bool] = []

    def forward(self, tokens, n_logits=1, *, whole_rows=False):
        self.whole_rows.append(whole_rows)
        return super().forward(tokens, n_logits)


@pytest.mark.parametrize("top_logprobs", [None, 0])
def test_whole_rows_are_computed_where_the_sampler_reads_them(top_logprobs):
    runtime = Noting()
    session = Session(runtime)
    list(session.prefill(PROMPT))
    sampler = Sampler(Sampling(temperature=0), top_logprobs=top_logprobs)
    list(decode(session, sampler, kept(), 5, Guess(letters, random.Random(3))))
    assert set(runtime.whole_rows[1:]) == {sampler.reads_whole_rows} == {top_logprobs is not None}


class WithoutRoomForBranches(FakeRuntime):
    """A model with memory for the chat, but not for the branches of a draft tree."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error, self.trees = error, 0

    def forward_tree(self, inputs, tree):
        self.trees += 1
        raise self.error


@pytest.mark.parametrize("error", [Failure("out_of_memory.context", n_ctx=1), MemoryError()], ids=["context", "pass"])
def test_without_memory_for_a_tree_the_answer_continues_without_it(error):
    target, drafting = WithoutRoomForBranches(error), Guess(letters, random.Random(1), 3)
    session = Session(target)
    list(session.prefill(PROMPT))
    tokens = [token for step in decode(session, greedy(), kept(), 60, drafting) for token in step.tokens]
    assert tokens == [letters([*PROMPT, *tokens[:i]]) for i in range(60)]
    assert target.trees == 1
    assert len(target.passes) < 60  # drafts without branches are verified all the same


def test_an_answer_ends_where_the_cache_is_lost_with_the_tree():
    class Lost(WithoutRoomForBranches):
        def forward_tree(self, inputs, tree):
            self.cache.clear()
            return super().forward_tree(inputs, tree)

    session = Session(Lost(Failure("out_of_memory.context", n_ctx=1)))
    list(session.prefill(PROMPT))
    with pytest.raises(Failure, match="not enough free memory"):
        list(decode(session, greedy(), kept(), 60, Guess(letters, random.Random(1), 3)))
    assert session.tokens == []


class Damaged(FakeRuntime):
    """A model whose logits are no numbers from the tenth cached token on."""

    @property
    def sure(self) -> float:
        return 1.0 if self.size < 10 else math.nan


@pytest.mark.parametrize("branches", [0, 1, 3], ids=["no draft", "a line", "a tree"])
def test_an_answer_ends_with_a_sentence_where_the_model_computes_no_numbers(branches):
    """What was accepted until then stays, and nothing else."""
    target = Damaged()
    session, tokens = Session(target), list[int]()
    list(session.prefill(PROMPT))
    drafting = Guess(letters, random.Random(1), branches) if branches else None
    steps = decode(session, greedy(), kept(), None, drafting)
    with pytest.raises(Failure, match="The model computes no valid numbers: its file is damaged"):
        tokens.extend(token for step in steps for token in step.tokens)
    assert session.tokens == target.cache == [*PROMPT, *tokens][: len(session.tokens)]
