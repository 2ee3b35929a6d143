"""The KV policies on the real default model: all give the same answer."""

from __future__ import annotations

import pytest

from engine.kv.policy import CachingPolicy, MeasuredPolicy, PublishedPolicy
from engine.protocol.requests import Message
from tests.engine.asking import ask, assert_same_but_for_near_ties, some_and_all

QUESTIONS = [
    "Why do birds sing?",
    "Write a haiku about snow.",
    "What is 12 plus 30?",
    "Name three colours.",
    "Translate 'good morning' to French.",
    "Explain gravity to a child.",
    "List the days of the week.",
    "Write a Python function that adds two numbers.",
    "Who wrote Hamlet?",
    "What do bees make?",
    "Give me a recipe for tea.",
    "What is the opposite of hot?",
    "Describe a forest in autumn.",
    "How many legs has a spider?",
    "Write a short letter to a friend.",
    "What is the capital of Italy?",
    "Summarise: The cat sat on the mat and slept all day long.",
    "Count from one to ten.",
    "What is water made of?",
    "Tell me a joke about a fish.",
    "Rewrite politely: give me the book.",
]

# With these numbers tokens stay pending on any machine that runs the test.
PUBLISHED = PublishedPolicy(nt=3.0, td=lambda inputs: inputs * 1e-3, tl=lambda fixed: 4.5e-3 if fixed % 2 else 1e-3)
MEASURED = MeasuredPolicy(lambda inputs, depth: (1e-3 if inputs <= 6 else 1e-1) * depth**3)


@pytest.mark.parametrize("questions", some_and_all(QUESTIONS, 3))
@pytest.mark.parametrize("policy", [PUBLISHED, MEASURED], ids=["published", "measured"])
def test_greedy_answers_are_the_same_as_with_every_token_cached(engine, monkeypatch, policy: CachingPolicy, questions):
    recomputed = 0
    for question in questions:
        messages = (Message("user", question),)
        _, always = ask(engine, *messages, max_tokens=10, kv_policy="always", draft="off")
        with monkeypatch.context() as patch:
            patch.setattr("engine.engine.policy_for", lambda *_: policy)
            _, finished = ask(engine, *messages, max_tokens=10, draft="off")
        assert_same_but_for_near_ties(engine, messages, always.tokens, finished.tokens)
        recomputed += finished.statistics.recomputed_tokens
        assert finished.statistics.context_tokens + finished.statistics.pending_tokens >= len(finished.tokens)
    assert recomputed > 4 * len(questions)
