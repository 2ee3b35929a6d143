"""Drafts in the decode loop: whatever is drafted, and whatever the KV policy says, the answer is the same."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from engine.costs import CostTable, Timings
from engine.decode import decode
from engine.draft.chooser import Chooser, Decision
from engine.draft.drafting import Auto
from engine.draft.history import History
from engine.kv.policy import Always, PartialFixed
from engine.protocol import Sampling
from engine.session import Session
from tests.engine.fake_target import END, FakeTarget, script
from tests.engine.kv.test_policy import Listed

PROMPT = list(b"the small bird sang. the small bird ")
# Any batch costs one token, and proposing next to nothing.
FREE = CostTable(Timings({0: dict.fromkeys((1, 8, 48), 1.0)}, 0.0, 512, 2.0))


class Guess:
    """Drafts what the model will say, wrong in some places."""

    def __init__(self, choose, rng: random.Random) -> None:
        self.model = choose
        self.rng = rng
        self.tokens: list[int] = []
        self.learned: list[tuple[int, int]] = []

    def begin(self, tokens, /) -> None:
        self.tokens = list(tokens)

    def choose(self, newest, base, depth, most, /) -> Decision:
        self.tokens.extend(newest)
        draft: list[int] = []
        for _ in range(self.rng.randint(0, max(0, min(most, 9)))):
            right = self.model([*self.tokens, *draft])
            draft.append(right if self.rng.random() < 0.7 else 97)
        return Decision(tuple(draft))

    def learn(self, decision, came, /) -> None:
        self.learned.append((len(decision.tokens), len(came) - 1))
        self.tokens.extend(came[:-1])


def run(target: FakeTarget, drafting=None, policy=None, max_tokens: int | None = 60):
    session = Session(target)
    list(session.read(PROMPT))
    kv = PartialFixed(policy or Always(), target.most_inputs)
    steps = list(decode(session, target.sampler(Sampling(), PROMPT), kv, max_tokens, drafting))
    return [token for step in steps for token in step.tokens], steps, session, kv


@given(st.integers(0, 10**6), st.lists(st.booleans(), min_size=1, max_size=5), st.integers(1, 60))
def test_any_drafts_and_any_policy_give_the_plain_answer(seed, keeps, max_tokens):
    plain, *_ = run(FakeTarget(), max_tokens=max_tokens)
    target = FakeTarget()
    guess = Guess(target.choose, random.Random(seed))
    tokens, steps, session, kv = run(target, guess, Listed(keeps), max_tokens)
    assert tokens == plain
    assert steps[-1].end == "length"
    assert session.tokens == target.cache
    assert [*session.tokens, *kv.pending, tokens[-1]] == [*PROMPT, *tokens]
    assert sum(step.source.accepted for step in steps if step.source) == sum(accepted for _, accepted in guess.learned)


@given(st.integers(0, 10**6))
def test_the_end_of_the_answer_is_found_inside_a_draft(seed):
    target = FakeTarget(script(b"a short answer", len(PROMPT)))
    tokens, steps, _, _ = run(target, Guess(target.choose, random.Random(seed)), max_tokens=None)
    assert bytes(tokens) == b"a short answer"
    assert steps[-1].end == "end"
    assert END not in tokens


@given(st.integers(0, 10**6), st.integers(len(PROMPT) + 1, 90))
def test_drafts_never_exceed_the_context(seed, n_ctx):
    plain, *_ = run(FakeTarget(n_ctx=n_ctx), max_tokens=None)
    target = FakeTarget(n_ctx=n_ctx)
    tokens, steps, _, _ = run(target, Guess(target.choose, random.Random(seed)), max_tokens=None)
    assert tokens == plain
    assert steps[-1].end == "context"


def test_history_drafts_a_copy_and_saves_passes():
    text = b"small bird sang. the small bird sang. the small bird sang. the small bird sang."
    plain, steps, *_ = run(FakeTarget(script(text, len(PROMPT))), max_tokens=None)
    drafted, fewer, *_ = run(
        FakeTarget(script(text, len(PROMPT))), Auto((History(),), Chooser(), FREE), max_tokens=None
    )
    assert drafted == plain == list(text)
    assert len(fewer) < len(steps) / 2
