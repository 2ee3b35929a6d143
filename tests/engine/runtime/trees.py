"""Tests of draft trees for any runtime: every branch gives what it would give alone.

The fixture `target` must be a runtime after a short prompt.
"""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from engine.runtime.interface import MOST_BRANCHES, Tree, prefill
from engine.stop import Stopped

# Share of the spread of a row of logits. Where passes of any size run the same kernels, rows are equal to the last bit.
# Where they do not, a quantised model amplifies the last bits to some hundredths; a wrong earlier token changes more.
NOISE = 5e-2


def random_tree(dice: random.Random, size: int) -> Tree:
    lines = [[dice.randrange(300, 400) for _ in range(dice.randint(1, 4))] for _ in range(5)]
    return Tree.merged([[7], *lines, lines[0][:2] + lines[1]]).first(size)


def alone(target, base: int, tokens) -> np.ndarray:
    """Return the logits after `tokens`, run as a line behind the first `base` cached tokens."""
    target.truncate(base)
    row: np.ndarray = target.forward(tokens).row().copy()
    target.truncate(base)
    return row


def assert_alike(row: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(row - expected).max() < NOISE * (expected.max() - expected.min())


@pytest.mark.parametrize("seed", range(4))
def test_every_row_is_what_its_branch_gives_alone(target, seed):
    dice = random.Random(seed)
    base, inputs = target.size, [dice.randrange(300, 400) for _ in range(1 + seed % 3)]
    tree = random_tree(dice, 4 + 3 * seed)
    logits = target.forward_tree(inputs, tree)
    rows = [logits.row(i).copy() for i in range(1 + tree.size)]
    target.keep_path(0)
    assert target.size == base
    assert_alike(rows[0], alone(target, base, inputs))
    for i in range(tree.size):
        assert_alike(rows[i + 1], alone(target, base, [*inputs, *(tree.tokens[j] for j in tree.path(i))]))


def test_what_is_kept_is_as_if_it_had_run_alone(target):
    """Several trees in a row are each kept along another branch, or not at all."""
    dice = random.Random(5)
    base, kept = target.size, []
    for turn in range(8):
        tree = random_tree(dice, 12)
        path = dice.choice([(), *(tree.path(i) for i in range(tree.size))])
        inputs = [dice.randrange(300, 400)]
        target.forward_tree(inputs, tree)
        if turn % 3 == 2:
            target.keep_path(0)
        else:
            target.keep_path(1, path)
            kept += [*inputs, *(tree.tokens[i] for i in path)]
        assert target.size == base + len(kept)
    row = target.forward([300]).row().copy()
    assert_alike(row, alone(target, base, [*kept, 300]))


def test_a_cache_with_a_kept_branch_grows_and_is_saved(target, tmp_path):
    base, tree = target.size, Tree.merged([[310, 311], [320, 321], [330]])
    target.forward_tree([305], tree)
    target.keep_path(1, tree.path(3))
    tokens = [0] * (base + 3)
    expected = target.forward([300]).row().copy()
    target.truncate(base + 3)
    target.resize(2048)
    assert_alike(target.forward_tree([300], tree).row(0), expected)
    target.keep_path(0)
    target.save(tmp_path / "kv", tokens)
    target.truncate(0)
    assert len(target.load(tmp_path / "kv")) == target.size == base + 3
    assert_alike(target.forward_tree([300], tree).row(0), expected)
    target.keep_path(0)
    target.resize(1024)


def test_as_many_branches_as_are_allowed(target):
    tree = Tree.merged([*([300 + i] for i in range(MOST_BRANCHES - 1)), [300 + MOST_BRANCHES - 1, 400]])
    base = target.size
    logits = target.forward_tree([305], tree)
    rows = [logits.row(1 + i).copy() for i in range(tree.size)]
    target.keep_path(1, tree.path(tree.size - 1))
    assert target.size == base + 3
    assert all((a != b).any() for a, b in pairwise(rows))
    assert_alike(rows[-1], alone(target, base, [305, 300 + MOST_BRANCHES - 1, 400]))


def test_trees_fill_the_cache_to_its_last_cell(target):
    before = target.n_ctx
    target.resize(256)
    room = target.n_ctx - target.size
    list(prefill(target, [300] * (room - 5)))
    tree = Tree.merged([[310, 311], [320, 321]])
    target.forward_tree([305], tree)
    target.keep_path(1, tree.path(3))
    assert target.n_ctx - target.size == 2
    target.forward([300, 301])
    assert target.n_ctx == target.size
    target.truncate(0)
    target.resize(before)


def test_a_stopped_tree_leaves_nothing(target):
    base = target.size
    expected = alone(target, base, [305])
    target.stop.set()
    with pytest.raises(Stopped):
        target.forward_tree([305], Tree.merged([[310], [320]]))
    target.stop.clear()
    assert target.size == base
    assert_alike(alone(target, base, [305]), expected)
