"""Logits of our own graph are llama_decode's to the last bit, with the real default model."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from engine.runtime.tree import Tree
from tests.engine.runtime.trees import random_tree

LONG = [300 + i * 37 % 5000 for i in range(600)]  # more than a pass takes


def assert_equal(target, oracle, rows: Sequence[int] = (-1,)) -> None:
    for row in rows:
        ours, theirs = target.logits(row), oracle.logits(row)
        assert (ours == theirs).all(), (row, abs(ours - theirs).max())


def both(target, oracle, do) -> None:
    do(target)
    do(oracle)


def test_prompts(target, oracle):
    assert_equal(target, oracle)
    both(target, oracle, lambda t: list(t.prefill(LONG)))
    assert_equal(target, oracle)


def test_token_by_token(target, oracle):
    for token in LONG[:12]:
        both(target, oracle, lambda t, token=token: t.run([token]))
        assert_equal(target, oracle)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 16, 33])
def test_every_row_of_a_pass(target, oracle, n):
    both(target, oracle, lambda t: t.run(LONG[:n], rows=n))
    assert_equal(target, oracle, range(n))


def test_over_the_edge_of_a_bucket(target, oracle):
    both(target, oracle, lambda t: list(t.prefill(LONG[: 250 - t.size])))
    for n in (3, 1, 8):
        both(target, oracle, lambda t, n=n: t.run(LONG[:n], rows=n))
        assert_equal(target, oracle, range(n))


@pytest.mark.parametrize("seed", range(3))
def test_trees_and_what_is_kept_of_them(target, oracle, seed):
    dice = random.Random(seed)
    for _ in range(5):
        tree = random_tree(dice, 9)
        path = dice.choice([(), *(tree.path(i) for i in range(tree.size))])
        both(target, oracle, lambda t, tree=tree: t.run_tree([305, 306], tree))
        assert_equal(target, oracle, range(1, 2 + tree.size))
        both(target, oracle, lambda t, path=path: t.keep(2, path))
        both(target, oracle, lambda t: t.run([307]))
        assert_equal(target, oracle)


def test_after_tokens_are_dropped(target, oracle):
    size = target.size
    both(target, oracle, lambda t: t.run(LONG[:40]))
    both(target, oracle, lambda t: t.drop_after(size + 7))
    both(target, oracle, lambda t: t.run(LONG[50:53], rows=3))
    assert_equal(target, oracle, range(3))


def test_after_growing_and_restoring(target, oracle, tmp_path):
    both(target, oracle, lambda t: list(t.prefill(LONG)))
    both(target, oracle, lambda t: t.grow(2048))
    both(target, oracle, lambda t: t.run(LONG[:2], rows=2))
    assert_equal(target, oracle, range(2))
    tokens = [0] * target.size
    target.save(tmp_path / "kv", tokens)
    target.drop_after(0)
    assert target.restore(tmp_path / "kv") == tokens
    both(target, oracle, lambda t: t.run([9]))
    assert_equal(target, oracle)
    both(target, oracle, lambda t: t.drop_after(10))
    both(target, oracle, lambda t: t.grow(1024))
    both(target, oracle, lambda t: t.run_tree([5], Tree.merged([[1], [2, 3]])))
    assert_equal(target, oracle, range(4))
    both(target, oracle, lambda t: t.keep(0))
