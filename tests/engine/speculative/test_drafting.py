"""Drafts in the decode loop: the answer is the same, whatever is drafted and whatever the KV policy decides."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from engine.costs.cost_model import CostModel, Timings
from engine.generation.decode import Step, decode
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.protocol.requests import Lookup
from engine.runtime.interface import Tree
from engine.speculative.draft import Draft
from engine.speculative.drafting import MAX_SKIPPED_STEPS, PATIENCE, Auto, Drafting, Fixed
from engine.speculative.policy import DraftChoice, DraftPolicy
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.published import PublishedLookup
from engine.tokenization.tokens import common_prefix
from tests.engine.fake_runtime import END, FakeRuntime, greedy, script
from tests.engine.kv.test_policy import Listed

SELECT = ["recent", "random"]
PROMPT = list(b"the small bird sang. the small bird ")
# Any batch costs one token, and proposing next to nothing.
FREE = CostModel(Timings({0: dict.fromkeys((1, 8, 48), 1.0)}, 0.0, 512, 2.0))


class Guess(Drafting):
    """A drafter of the model's own tokens with some errors; with `branches` above 1 it drafts trees."""

    def __init__(self, choose, rng: random.Random, branches: int = 1) -> None:
        super().__init__()
        self.model = choose
        self.rng = rng
        self.branches = branches
        self.tokens: list[int] = []
        self.learned: list[tuple[int, int]] = []

    def begin(self, tokens, /) -> None:
        self.tokens = list(tokens)

    def choose(self, newest, base, depth, most, /) -> DraftChoice:
        self.tokens.extend(newest)
        tree = Tree.merged(self.line() for _ in range(self.rng.randint(0, self.branches))).first(max(0, most))
        return DraftChoice(tree)

    def drop_branches(self) -> None:
        self.branches = 1

    def line(self) -> list[int]:
        draft: list[int] = []
        for _ in range(self.rng.randint(0, 9)):
            right = self.model([*self.tokens, *draft])
            draft.append(right if self.rng.random() < 0.7 else self.rng.randrange(97, 100))
        return draft

    def learn(self, choice, step_tokens, /) -> None:
        self.learned.append((len(choice.tokens), len(step_tokens) - 1))
        self.tokens.extend(step_tokens[:-1])


def run(target: FakeRuntime, drafting=None, policy=None, max_tokens: int | None = 60):
    session = Session(target)
    list(session.prefill(PROMPT))
    kv = PartialFixed(policy or AlwaysPolicy(), target.max_batch)
    steps = list(decode(session, greedy(), kv, max_tokens, drafting))
    return [token for step in steps for token in step.tokens], steps, session, kv


BRANCHES = st.sampled_from([1, 1, 3, 5])


@given(st.integers(0, 10**6), st.lists(st.booleans(), min_size=1, max_size=5), st.integers(1, 60), BRANCHES)
def test_any_drafts_and_any_policy_give_the_plain_answer(seed, keeps, max_tokens, branches):
    plain, *_ = run(FakeRuntime(), max_tokens=max_tokens)
    target = FakeRuntime()
    guess = Guess(target.choose, random.Random(seed), branches)
    tokens, steps, session, kv = run(target, guess, Listed(keeps), max_tokens)
    assert tokens == plain
    assert steps[-1].end == "length"
    assert session.tokens == target.cache
    assert [*session.tokens, *kv.pending, tokens[-1]] == [*PROMPT, *tokens]
    assert sum(step.source.accepted for step in steps if step.source) == sum(accepted for _, accepted in guess.learned)


@given(st.integers(0, 10**6), BRANCHES)
def test_the_end_of_the_answer_is_found_inside_a_draft(seed, branches):
    target = FakeRuntime(script(b"a short answer", len(PROMPT)))
    tokens, steps, _, _ = run(target, Guess(target.choose, random.Random(seed), branches), max_tokens=None)
    assert bytes(tokens) == b"a short answer"
    assert steps[-1].end == "end"
    assert END not in tokens


@given(st.integers(0, 10**6), st.integers(len(PROMPT) + 1, 90), BRANCHES)
def test_drafts_never_exceed_the_context(seed, n_ctx, branches):
    plain, *_ = run(FakeRuntime(n_ctx=n_ctx), max_tokens=None)
    target = FakeRuntime(n_ctx=n_ctx)
    tokens, steps, _, _ = run(target, Guess(target.choose, random.Random(seed), branches), max_tokens=None)
    assert tokens == plain
    assert steps[-1].end == "context"


def test_branches_beyond_the_first_are_accepted():
    plain, *_ = run(FakeRuntime())
    target = FakeRuntime()
    guess = Guess(target.choose, random.Random(1), branches=5)
    tokens, steps, *_ = run(target, guess)
    assert tokens == plain
    assert any(step.source.accepted > of_first_branch(step) for step in steps if step.source)


def of_first_branch(step: Step) -> int:
    """Return how many tokens of the draft's first branch alone would have been accepted."""
    assert step.source
    tree = step.source.draft.tree
    return common_prefix([tree.tokens[i] for i in next(iter(tree.branches), ())], step.tokens)


texts = st.text("ab ", min_size=30, max_size=60).map(str.encode)


@given(texts, st.builds(Lookup, st.integers(1, 3), st.integers(1, 4), st.integers(2, 6), st.sampled_from(SELECT)))
def test_the_published_form_verifies_its_sequences_whole(text, lookup):
    plain, *_ = run(FakeRuntime(script(text, len(PROMPT))), max_tokens=None)
    drafted, steps, *_ = run(
        FakeRuntime(script(text, len(PROMPT))), Fixed(PublishedLookup(lookup), None), max_tokens=None
    )
    assert drafted == plain == list(text)
    for step in steps:
        if step.source:
            draft = step.source.draft
            assert Tree.merged(c.tokens for c in draft.proposed).tokens == draft.tokens
            assert len(draft.proposed) <= lookup.m
            assert all(len(c.tokens) < lookup.n for c in draft.proposed)


def test_prompt_lookup_drafts_a_copy_and_saves_passes():
    text = b"small bird sang. the small bird sang. the small bird sang. the small bird sang."
    plain, steps, *_ = run(FakeRuntime(script(text, len(PROMPT))), max_tokens=None)
    drafted, fewer, *_ = run(
        FakeRuntime(script(text, len(PROMPT))), Auto((PromptLookup(),), DraftPolicy(), FREE), max_tokens=None
    )
    assert drafted == plain == list(text)
    assert len(fewer) < len(steps) / 2


class Counting(PromptLookup):
    proposals = 0

    def propose(self, limit: int) -> list[Draft]:
        self.proposals += 1
        return super().propose(limit)


def test_where_drafts_are_in_vain_drafters_are_asked_rarely_and_told_everything():
    table = CostModel(Timings({0: {1: 1e-4, 8: 1e-2, 48: 1e-1}}, 0.0, 512, 1.0))  # a quick model, drafts cost too much
    target, drafter = FakeRuntime(), Counting()
    session = Session(target)
    list(session.prefill(PROMPT))
    sampler, drafting = greedy(), Auto((drafter,), DraftPolicy(), table)
    steps = list(decode(session, sampler, PartialFixed(AlwaysPolicy(), 64), 100, drafting))
    assert all(step.source is None or not step.source.drafted for step in steps)
    assert drafter.proposals < 100 / MAX_SKIPPED_STEPS + 2 * PATIENCE
    whole = [*PROMPT, *(token for step in steps for token in step.tokens)]
    assert list(drafter.tokens) == whole[: len(drafter.tokens)]
    assert len(drafter.tokens) >= len(whole) - MAX_SKIPPED_STEPS - 1
