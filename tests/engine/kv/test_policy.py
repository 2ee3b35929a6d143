"""Partial-fixed KV caching: whatever a policy decides, the answer stays the same and no token is lost."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from engine.generation.decode import decode
from engine.kv.policy import AlwaysPolicy, Decision, MeasuredPolicy, PartialFixed, PublishedPolicy, policy_for
from engine.kv.session import Session
from engine.protocol.requests import KVPolicy
from tests.engine.fake_runtime import FakeRuntime, greedy

PROMPT = list(b"hello")


class Listed:
    """A policy with listed decisions, repeated in a circle."""

    name: KVPolicy = "measured"

    def __init__(self, keeps: list[bool]) -> None:
        self.keeps = keeps
        self.at = 0

    def decide(self, inputs: int, fixed: int, /) -> Decision:
        self.at += 1
        return Decision(self.keeps[self.at % len(self.keeps)], "told so")


def run(policy, max_batch: int = 64, tokens: int = 40):
    target = FakeRuntime()
    session = Session(target)
    list(session.prefill(PROMPT))
    kv = PartialFixed(policy, max_batch)
    steps = list(decode(session, greedy(), kv, tokens))
    return [token for step in steps for token in step.tokens], steps, session, kv


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(2, 64))
def test_any_decisions_give_the_same_answer(keeps, max_batch):
    plain, *_ = run(AlwaysPolicy())
    tokens, _, session, kv = run(Listed(keeps), max_batch)
    assert tokens == plain
    assert session.tokens == session.runtime.cache
    assert [*session.tokens, *kv.pending, tokens[-1]] == [*PROMPT, *tokens]


def test_published_keeps_accumulating_up_to_nt_and_then_keeps():
    policy = PublishedPolicy(nt=3, td=lambda inputs: inputs * 2e-3, tl=lambda fixed: 1e-3)
    _, steps, _, _ = run(policy, tokens=11)
    passes = [step.source for step in steps if step.source]
    assert [p.inputs for p in passes] == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    assert [p.decision.keep for p in passes[:4]] == [False, False, False, True]
    assert [p.depth for p in passes[:5]] == [5, 5, 5, 5, 9]
    assert "nt 3.0" in passes[0].decision.reason


def test_published_waits_while_loading_would_cost_more_than_running():
    policy = PublishedPolicy(nt=1, td=lambda inputs: inputs * 1e-3, tl=lambda fixed: 3.5e-3)
    _, steps, _, _ = run(policy, tokens=9)
    assert [step.source.inputs for step in steps if step.source] == [1, 2, 3, 4, 1, 2, 3, 4]


def test_measured_keeps_where_running_again_costs_more():
    policy = MeasuredPolicy(lambda inputs, depth: 1e-3 * inputs + 1e-6 * depth)
    _, steps, _, kv = run(policy)
    assert all(step.source.inputs == 1 for step in steps if step.source)
    assert kv.pending == ()


def test_measured_runs_again_where_that_is_cheaper():
    """The machine runs up to four tokens in one token's time, and loads cached tokens slowly."""
    policy = MeasuredPolicy(lambda inputs, depth: (1e-3 if inputs <= 4 else 1e-2) + 1e-4 * depth)
    _, steps, _, _ = run(policy, tokens=9)
    assert [step.source.inputs for step in steps if step.source] == [1, 2, 3, 4, 1, 2, 3, 4]


def test_a_difference_within_the_noise_changes_nothing():
    assert MeasuredPolicy(lambda inputs, depth: 1.0 - 0.01 * inputs).decide(1, 100).keep


def test_without_measurements_everything_is_kept():
    for timed in ({}, {1: 1.0}, {2: 1.0}):  # seconds by the number of inputs
        policy = MeasuredPolicy(lambda inputs, _depth: timed.get(inputs))  # noqa: B023
        assert policy.decide(1, 100) == Decision(True, "not measured yet")


def test_a_decision_tells_what_was_compared():
    measured = MeasuredPolicy(lambda inputs, depth: 1e-3 * inputs + 1e-6 * depth)
    assert measured.decide(1, 1000) == Decision(True, "next step 2.00 ms if kept, 3.00 ms if run again")
    published = PublishedPolicy(nt=2, td=lambda inputs: inputs * 1e-3, tl=lambda fixed: fixed * 1e-3)
    assert published.decide(2, 9) == Decision(False, "2 inputs ≤ nt 2.0")
    assert published.decide(3, 4) == Decision(False, "td 3.000 ms < tl 4.000 ms")
    assert published.decide(3, 3) == Decision(True, "3 inputs > nt 2.0 and td 3.000 ms ≥ tl 3.000 ms")


class Costs:
    """Costs of a model; `shapes_known`: whether it has peaks."""

    def __init__(self, shapes_known: bool) -> None:
        self.shapes_known = shapes_known

    def pass_seconds(self, inputs: int, depth: int, /) -> float | None:
        return 1.0

    def peaks(self):
        return (3.0, float, float) if self.shapes_known else None


def test_a_policy_is_chosen_by_name_as_far_as_the_model_allows_it():
    names: tuple[KVPolicy, ...] = ("always", "measured", "published")
    cases = itertools.product(names, (True, False), (True, False))
    chosen = {case: policy_for(case[0], Costs(case[1]), case[2]).name for case in cases}
    assert {case for case, name in chosen.items() if name == case[0] != "always"} == {
        ("measured", True, True), ("measured", False, True), ("published", True, True),
    }  # fmt: skip
    assert {name for case, name in chosen.items() if name != case[0]} == {"always"}


def test_a_pass_never_exceeds_what_the_target_takes():
    _, steps, _, _ = run(PublishedPolicy(nt=1000, td=lambda _: 0, tl=lambda _: 1), max_batch=8)
    assert max(step.source.inputs for step in steps if step.source) == 8
