"""The draft model, a tiny one: its cache follows the chat whatever is called, and answers stay the same."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from engine.costs.cost_model import CostModel, Timings
from engine.generation.decode import decode
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.speculative.draft import sureness
from engine.speculative.draft_model import DraftModel, Follower
from engine.speculative.drafting import Auto, Fixed
from engine.speculative.policy import DraftPolicy
from engine.speculative.published import INITIAL_K, PublishedDraftModel
from engine.stop import Stopped
from tests.engine.fake_runtime import END, FakeRuntime, greedy, letters, script

PROMPT = list(b"the small bird sang. the small bird ")


class Dear(CostModel):
    """Costs at which any pass takes 100 seconds, far more than the small model's; measured passes are ignored."""

    def __init__(self) -> None:
        super().__init__(Timings({0: dict.fromkeys((1, 8, 48), 100.0)}, 0.0, 512, 200.0))

    def observe(self, k, depth, seconds, rows=None) -> None:
        pass


class Small(FakeRuntime):
    """A fake small model; its choices have this probability."""

    probability = 0.9

    @property
    def sure(self):
        return math.log(self.probability / (1 - self.probability) * END)


def drafter(
    target: FakeRuntime | None = None, limit: int = 512, share: float = 0.01, published: bool = False
) -> DraftModel:
    form = PublishedDraftModel if published else DraftModel
    return form(Follower(target or Small(), 257, limit), share)


def continuation(tokens: list[int], count: int) -> tuple[int, ...]:
    """Return what the tiny model writes after `tokens`."""
    written = list(tokens)
    for _ in range(count):
        written.append(letters(written))
    return tuple(written[len(tokens) :])


def target_of(draft: DraftModel) -> FakeRuntime:
    target = draft.follower.session.runtime
    assert isinstance(target, FakeRuntime)
    return target


def check(draft: DraftModel, chat: list[int]) -> None:
    """Assert that the cache holds what the session says, and that the drafter follows the chat."""
    target, session = target_of(draft), draft.follower.session
    assert target.cache == session.tokens
    assert draft.follower.chat == chat


actions = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.integers(1, 60), st.integers(0, 3)),
        st.tuples(st.just("extend"), st.integers(0, 5), st.integers(0, 3)),
        st.tuples(st.just("right"), st.integers(1, 8), st.integers(0, 1)),
        st.tuples(st.just("propose"), st.integers(0, 9), st.integers(0, 1)),
    ),
    max_size=40,
)


@given(actions, st.booleans(), st.integers(20, 512))
def test_any_sequence_of_calls_keeps_the_cache_in_step(actions, published, limit):
    draft = drafter(Small(n_ctx=min(64, limit)), limit, published=published)
    chat: list[int] = []
    for name, count, other in actions:
        if name == "begin":
            chat = [*chat[:count], *b"abcd"[:other], 99]
            draft.begin(chat)
        elif name == "extend":
            new = [97 + other] * count
            chat = [*chat, *new]
            draft.extend(new)
        elif name == "right":
            new = list(continuation(chat, count))
            chat = [*chat, *new]
            draft.extend(new)
        else:
            drafts = draft.propose(count)
            for proposed in drafts:
                assert proposed.tokens == continuation(chat, len(proposed.tokens))
                assert len(proposed.tokens) <= count
            assert bool(drafts) == (0 < len(chat) <= limit and count > 0)
        check(draft, chat)


def test_no_pass_reads_the_whole_output_head():
    class Noting(Small):
        def forward(self, tokens, n_logits=1, *, whole_rows=False):
            assert not whole_rows
            return super().forward(tokens, n_logits)

    draft = drafter(Noting())
    draft.follower.warm_up()
    draft.begin(list(PROMPT))
    (proposed,) = draft.propose(4)
    assert proposed.tokens == continuation(list(PROMPT), 4)
    assert proposed.confidence == pytest.approx([Small.probability] * 4)


def test_only_what_is_new_runs():
    draft, chat = drafter(Small(max_batch=8)), list(PROMPT)
    draft.begin(chat)
    assert draft.propose(4)[0].tokens == continuation(chat, 4)
    target = target_of(draft)
    assert target.passes == [8, 8, 8, 8, 4, 1, 1, 1]  # the last token of a draft never runs
    target.passes.clear()
    new = [*continuation(chat, 4), 97]
    draft.extend(new)
    draft.propose(2)
    assert target.passes == [2, 1]
    target.passes.clear()
    draft.extend([98])
    draft.propose(1)
    assert target.passes == [1]
    draft.propose(1)
    assert target.passes == [1, 1]  # asked again for the same


def test_nothing_runs_unless_it_is_asked_for():
    draft = drafter()
    draft.begin(PROMPT)
    draft.extend([97, 98])
    assert draft.cost == math.inf
    draft.begin([*PROMPT, 99])
    assert draft.propose(0) == []
    assert target_of(draft).passes == []


def test_the_cost_is_that_of_its_own_steps_and_of_reading_first():
    draft = drafter()
    draft.follower.warm_up()
    assert target_of(draft).cache == []
    step = draft.cost
    assert 0 < step < 0.1
    draft.begin(PROMPT)
    assert draft.cost > len(PROMPT) * step * 0.2
    proposed = draft.propose(4)[0]
    assert 0 < proposed.cost_seconds < 1
    draft.extend(continuation(PROMPT, 4))
    draft.extend([97])
    assert draft.follower.catch_up_seconds == 0
    assert draft.cost == draft.follower.step_seconds
    draft.extend([97] * 20)
    assert draft.follower.catch_up_seconds > 0


def test_what_was_read_ahead_is_not_read_again():
    draft = drafter()
    draft.follower.warm_up()
    draft.follower.read_ahead(PROMPT)
    target = target_of(draft)
    target.passes.clear()
    draft.follower.read_ahead(PROMPT)
    assert target.passes == []
    draft.begin(PROMPT)
    assert draft.cost == draft.follower.step_seconds
    assert draft.propose(3)[0].tokens == continuation(PROMPT, 3)
    assert target.passes == [1, 1, 1]


@pytest.mark.parametrize(
    ("c2", "c8", "step", "pays"),
    [(1.05, 1.5, 0.2, True), (1.79, 6.9, 0.4, False), (1.79, 6.9, 0.01, True), (1, 1, 2, False)],
)
def test_whether_drafts_can_pay_is_told_by_the_costs(c2, c8, step, pays):
    draft = drafter()
    draft.follower._times.record(1, step)
    table = CostModel(Timings({0: {1: 1.0, 2: c2, 8: c8, 48: 4 * c8}}, 0.0, 512, 100.0))
    assert draft.can_pay(table, depth=10) == pays


def test_drafts_end_where_the_answer_does():
    draft = drafter(Small(script(b"abc", len(PROMPT))))
    draft.begin(PROMPT)
    assert draft.propose(9)[0].tokens == tuple(b"abc")
    draft.extend(b"abc")
    assert draft.propose(9) == []


def test_time_without_a_draft_is_paid_with_the_next_one():
    draft = drafter(Small(lambda tokens: END if tokens[-1] == 0 else 97))
    draft.begin([*PROMPT, 0])
    assert draft.propose(3) == []
    unpaid = draft._uncharged_seconds
    assert unpaid > 0
    draft.extend([1])
    assert draft.propose(3)[0].cost_seconds > unpaid
    assert draft._uncharged_seconds == 0


@pytest.mark.parametrize(
    ("probability", "share", "length"), [(0.5, 0.1, 4), (0.5, 0.3, 2), (0.9, 0.3, 9), (0.2, 0.3, 1), (0.9, 0.6, 5)]
)
def test_it_stops_when_another_token_cannot_pay(probability, share, length):
    target = Small()
    target.probability = probability
    draft = drafter(target, share=share)
    draft.begin(PROMPT)
    proposed = draft.propose(9)[0]
    assert len(proposed.tokens) == length
    assert proposed.confidence == pytest.approx([probability] * length, rel=1e-3)
    assert proposed.evidence == sureness(probability)
    published = drafter(target, share=share, published=True)
    published.begin(PROMPT)
    assert len(published.propose(9)[0].tokens) == INITIAL_K


def test_evidence_is_how_sure_the_first_token_is():
    assert [sureness(p)[0] for p in (0.1, 0.5, 0.7, 0.9, 0.99, 1.0)] == [0, 1, 2, 3, 4, 4]


def test_tokens_beyond_the_shared_vocabulary_are_not_written_and_read_as_line_breaks():
    draft = DraftModel(Follower(Small(), 110), 0.01)
    draft.begin([97])
    for _ in range(30):
        for proposed in draft.propose(3):
            assert max(proposed.tokens) < 110
            draft.extend(proposed.tokens)
        draft.extend([98])
    length = len(draft.follower.chat)
    draft.extend([111])
    assert draft.propose(3)
    assert target_of(draft).cache[length] == ord("\n")


def test_a_chat_that_is_too_long_is_not_followed():
    draft = drafter(limit=40)
    draft.follower.warm_up()
    draft.begin(PROMPT)
    draft.propose(9)
    assert len(draft.follower.session.tokens) == 40
    draft.extend([97] * 5)
    assert draft.propose(3) == []
    assert draft.cost == math.inf


class Narrow(Small):
    """A fake small model without memory for a larger cache."""

    def resize(self, n_ctx):
        raise Failure("out_of_memory.context", n_ctx=1)


def test_a_cache_that_cannot_grow_ends_drafting_and_not_the_answer():
    draft = drafter(Narrow(n_ctx=50), limit=500)
    draft.begin(PROMPT)
    assert draft.propose(2)
    draft.extend([97] * 20)
    assert draft.propose(2) == []
    assert draft.cost == math.inf
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Narrow, "resize", Small.resize)  # other programs have freed memory
        draft.begin([*PROMPT, *[97] * 20])
        assert draft.propose(2)


@given(st.lists(st.integers(0, 12), max_size=12))
def test_stopped_anywhere_the_cache_stays_right(stops):
    class Stopping(Small):
        left = 10**9

        def _run(self, tokens):
            self.left -= 1
            if self.left < 0:
                raise Stopped
            return super()._run(tokens)

    target = Stopping()
    draft, chat = drafter(target), list(PROMPT)
    draft.begin(chat)
    for left in stops:
        target.left = left
        try:
            draft.propose(6)
        except Stopped:
            assert target.left < 0
        check(draft, chat)
        chat.append(97)
        draft.extend([97])
    target.left = 100
    assert draft.propose(6)[0].tokens == continuation(chat, 6)


def answer(target: FakeRuntime, drafting, max_tokens: int = 60) -> list[int]:
    session = Session(target)
    list(session.prefill(PROMPT))
    steps = decode(session, greedy(), PartialFixed(AlwaysPolicy(), 64), max_tokens, drafting)
    return [token for step in steps for token in step.tokens]


@given(st.integers(0, 10**6), st.floats(0, 1), st.booleans())
def test_answers_equal_plain_ones(seed, right, published):
    dice = random.Random(seed)
    wrong = {i for i in range(600) if dice.random() > right}

    def small(tokens):
        return 97 if len(tokens) in wrong else letters(tokens)

    draft = drafter(Small(small), published=published)
    drafting = Fixed(draft, None) if published else Auto((draft,), DraftPolicy(), Dear())
    draft.follower.warm_up()
    target = FakeRuntime()
    assert answer(target, drafting) == answer(FakeRuntime(), None)
    assert target_of(draft).cache == draft.follower.session.tokens


@pytest.mark.parametrize("published", [False, True])
def test_a_small_model_that_is_right_saves_passes(published):
    draft, target = drafter(published=published), FakeRuntime()
    draft.follower.warm_up()
    answer(target, Fixed(draft, None) if published else Auto((draft,), DraftPolicy(), Dear()))
    assert len(target.passes) < 40
