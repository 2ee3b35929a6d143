"""Sampling with drafts draws from the target's own distribution: χ² at 1 % on the real default model.

The expected probabilities are computed here from the logits of plain passes, by the definitions of the chain's parts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.generation.decode import sample_along_draft
from engine.generation.sampling import Sampler
from engine.protocol.requests import Sampling
from engine.runtime.interface import Tree

DRAWS = {"some": 220, "all": 1100}  # of each context under each sampling: 2,200 or 11,000 in all, and second tokens
LEAST_EXPECTED = 5.0  # rarer tokens share a bin
CONTEXTS = [
    "The wren sings. The robin sings. The wren sings. The robin",
    "My favourite season is",
    "One, two, three, four, five, six, seven,",
    "She opened the door and saw a",
    "Birds fly. Birds sing. Birds eat. Birds",
]
SAMPLINGS = {
    "penalty and filters": Sampling(temperature=1.1, top_k=40, top_p=0.95, min_p=0.02, repeat_penalty=1.3),
    "whole vocabulary": Sampling(temperature=0.9, top_k=0, top_p=1, min_p=0, repeat_penalty=1),
}


def probabilities(logits: NDArray[np.float32], sampling: Sampling, history: Sequence[int]) -> dict[int, float]:
    """Return the probabilities that the chain draws from.

    The chain is: penalties, top-k, top-p, min-p, temperature, in this order.
    """
    scores = logits.astype(np.float64)
    seen = np.array(sorted(set(history[-sampling.repeat_last_n :])))
    penalty = sampling.repeat_penalty
    scores[seen] = np.where(scores[seen] > 0, scores[seen] / penalty, scores[seen] * penalty)
    order = np.argsort(-scores, kind="stable")[: sampling.top_k or None]
    shares = softmax(scores[order])
    order = order[: int(np.searchsorted(np.cumsum(shares), sampling.top_p)) + 1]
    shares = softmax(scores[order])
    order = order[shares >= sampling.min_p * shares[0]]
    return dict(zip(order.tolist(), softmax(scores[order] / sampling.temperature).tolist(), strict=True))


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(scores - scores.max())
    shares: NDArray[np.float64] = powers / powers.sum()
    return shares


def chi_square(drawn: Counter[int], expected: Mapping[int, float]) -> tuple[float, int]:
    """Return the statistic and its degrees of freedom; a drawn token that cannot be drawn makes it infinite."""
    total = drawn.total()
    if any(token not in expected for token in drawn):
        return math.inf, 1
    often = {token: p * total for token, p in expected.items() if p * total >= LEAST_EXPECTED}
    bins = [(drawn[token], count) for token, count in often.items()]
    rest = total - sum(often.values())
    if rest >= LEAST_EXPECTED:
        bins.append((total - sum(drawn[token] for token in often), rest))
    return sum((seen - count) ** 2 / count for seen, count in bins), max(0, len(bins) - 1)


def critical(freedom: int) -> float:
    """Return the value that χ² exceeds in one case of a hundred (Wilson and Hilferty 1931)."""
    share = 2 / (9 * freedom)
    return float(freedom * (1 - share + 2.3263 * math.sqrt(share)) ** 3)


class Context:
    """A prompt that is cached except for its last token, and the target's rows after it, from plain passes."""

    def __init__(self, engine, text: str) -> None:
        chat = engine._loaded()
        self.target = chat.target
        self.prompt: list[int] = self.target.vocabulary.tokenize(text, special=False)
        list(chat.session.prefill(self.prompt[:-1]))

    def row(self, *tokens: int) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.target.forward([self.prompt[-1], *tokens]).row().copy()
        self.target.truncate(len(self.prompt) - 1)
        return row

    def draw(self, tree: Tree, sampling: Sampling, seeds: range) -> list[list[int]]:
        """Return the tokens that verifying `tree` gives with each of the seeds."""
        logits = self.target.forward_tree(self.prompt[-1:], tree)
        step_tokens = []
        for each in seeds:
            sampler = Sampler(replace(sampling, seed=each), self.prompt)
            step_tokens.append(sample_along_draft(sampler, logits, tree, self.target.vocabulary.is_end)[0])
        self.target.keep_path(0)
        return step_tokens


@pytest.mark.parametrize("draws", [DRAWS["some"], pytest.param(DRAWS["all"], marks=pytest.mark.slow)], ids=DRAWS)
@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
def test_tokens_come_as_often_as_without_drafts(engine, sampling, draws):
    statistic, freedom, followed = 0.0, 0, 0
    for i, text in enumerate(CONTEXTS):
        context = Context(engine, text)
        first = probabilities(context.row(), sampling, context.prompt)
        likely = sorted(first, key=lambda token: -first[token])
        second = {token: probabilities(context.row(token), sampling, [*context.prompt, token]) for token in likely[:2]}
        tree = Tree.merged([[token, max(after, key=after.__getitem__)] for token, after in second.items()] + [[7, 7]])
        step_tokens = context.draw(tree, sampling, range(i * draws, (i + 1) * draws))  # a seed draws alike everywhere
        tests = [chi_square(Counter(tokens[0] for tokens in step_tokens), first)]
        for token, after in second.items():
            drawn = Counter(tokens[1] for tokens in step_tokens if tokens[0] == token)
            tests.append(chi_square(drawn, after))
            followed += drawn.total()
        statistic += sum(value for value, _ in tests)
        freedom += sum(count for _, count in tests)
    assert followed > draws
    assert statistic < critical(freedom)


def test_the_test_finds_what_is_off_by_little():
    expected = {1: 0.5, 2: 0.3, 3: 0.2}
    assert chi_square(Counter({1: 500, 2: 300, 3: 200}), expected)[0] == 0
    for drawn in ({1: 560, 2: 250, 3: 190}, {1: 500, 2: 300, 4: 200}):
        statistic, freedom = chi_square(Counter(drawn), expected)
        assert statistic > critical(freedom)
    assert critical(1) == pytest.approx(6.63, abs=0.1)
    assert critical(100) == pytest.approx(135.8, abs=0.1)
