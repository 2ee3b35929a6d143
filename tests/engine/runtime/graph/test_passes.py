"""Logits of our own graph equal llama_decode's to the last bit, with the shallow model."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from engine.runtime.interface import Logits, Tree, prefill
from tests.engine.runtime.trees import random_tree

LONG = [300 + i * 37 % 5000 for i in range(520)]  # more than a pass takes


def assert_equal(target, oracle, do: Callable[..., Logits], rows: Sequence[int] = (-1,)) -> None:
    """Assert that a pass gives the same rows on both runtimes."""
    ours, theirs = do(target), do(oracle)
    for row in rows:
        assert (ours.row(row) == theirs.row(row)).all(), (row, abs(ours.row(row) - theirs.row(row)).max())


def read(tokens: Sequence[int]) -> Callable[[Any], Logits]:
    return lambda target: list(prefill(target, tokens))[-1]


def both(target, oracle, do: Callable[..., object]) -> None:
    do(target)
    do(oracle)


def test_prompts(target, oracle, prompt):
    both(target, oracle, lambda t: t.truncate(0))
    assert_equal(target, oracle, read(prompt))
    assert_equal(target, oracle, read(LONG))


def test_token_by_token(target, oracle):
    for token in LONG[:12]:
        assert_equal(target, oracle, lambda t, token=token: t.forward([token]))


@pytest.mark.parametrize("n", [2, 3, 5, 8, 16, 33])
def test_every_row_of_a_pass(target, oracle, n):
    assert_equal(target, oracle, lambda t: t.forward(LONG[:n], n), range(n))


def test_over_the_edge_of_a_bucket(target, oracle):
    both(target, oracle, lambda t: read(LONG[: 250 - t.size])(t))
    for n in (3, 1, 8):
        assert_equal(target, oracle, lambda t, n=n: t.forward(LONG[:n], n), range(n))


@pytest.mark.parametrize("seed", range(3))
def test_trees_and_what_is_kept_of_them(target, oracle, seed):
    dice = random.Random(seed)
    for _ in range(5):
        tree = random_tree(dice, 9)
        path = dice.choice([(), *(tree.path(i) for i in range(tree.size))])
        assert_equal(target, oracle, lambda t, tree=tree: t.forward_tree([305, 306], tree), range(1 + tree.size))
        both(target, oracle, lambda t, path=path: t.keep_path(2, path))
        assert_equal(target, oracle, lambda t: t.forward([307]))


def test_after_tokens_are_dropped(target, oracle):
    size = target.size
    both(target, oracle, lambda t: t.forward(LONG[:40]))
    both(target, oracle, lambda t: t.truncate(size + 7))
    assert_equal(target, oracle, lambda t: t.forward(LONG[50:53], 3), range(3))


def test_after_growing_and_restoring(target, oracle, tmp_path):
    both(target, oracle, read(LONG[:260]))
    both(target, oracle, lambda t: t.resize(2048))
    assert_equal(target, oracle, lambda t: t.forward(LONG[:2], 2), range(2))
    tokens = [0] * target.size
    target.save(tmp_path / "kv", tokens)
    target.truncate(0)
    assert target.load(tmp_path / "kv") == tokens
    assert_equal(target, oracle, lambda t: t.forward([9]))
    both(target, oracle, lambda t: t.truncate(10))
    both(target, oracle, lambda t: t.resize(1024))
    assert_equal(target, oracle, lambda t: t.forward_tree([5], Tree.merged([[1], [2, 3]])), range(4))
    both(target, oracle, lambda t: t.keep_path(0))
