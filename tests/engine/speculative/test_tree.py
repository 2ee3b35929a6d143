"""Draft trees compared with the lines that they are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.interface import EMPTY_TREE, ROOT, Tree

lines = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=6)


def tokens_on(tree: Tree, path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(tree.tokens[i] for i in path)


def prefixes(some: list[list[int]]) -> set[tuple[int, ...]]:
    return {tuple(line[:n]) for line in some for n in range(1, len(line) + 1)}


@given(lines)
def test_a_merged_tree_holds_every_beginning_of_every_line_once(some):
    tree = Tree.merged(some)
    held = [tokens_on(tree, tree.path(i)) for i in range(tree.size)]
    assert len(held) == len(set(held))
    assert set(held) == prefixes(some)
    assert tree.depths == tuple(len(path) - 1 for path in held)


@given(lines)
def test_branches_are_the_lines_that_no_other_goes_on(some):
    tree = Tree.merged(some)
    every = prefixes(some)
    longest = {line for line in every if not any(other[:-1] == line for other in every)}
    lines = [tokens_on(tree, branch) for branch in tree.branches]
    assert len(lines) == len(longest)
    assert set(lines) == longest
    assert tree.is_line == (len(longest) <= 1)


@given(lines, st.lists(st.integers(0, 3), max_size=8))
def test_walking_down_finds_as_much_as_any_line_agrees(some, came):
    tree, node, walked = Tree.merged(some), ROOT, 0
    while walked < len(came) and (child := tree.child(node, came[walked])) is not None:
        node, walked = child, walked + 1
    assert tuple(came[:walked]) in {(), *prefixes(some)}
    assert tuple(came[: walked + 1]) not in prefixes(some) or walked == len(came)


@given(lines, st.integers(0, 40))
def test_the_first_tokens_of_a_tree_are_a_tree(some, count):
    tree = Tree.merged(some)
    first = tree.first(count)
    assert first.size == min(count, tree.size)
    assert all(first.path(i) == tree.path(i) for i in range(first.size))


@given(st.lists(st.integers(0, 3), max_size=9))
def test_a_line_is_a_tree_of_one(tokens):
    assert Tree.line(tokens) == Tree.merged([tokens])
    assert Tree.line(tokens).is_line
    assert (Tree.line(tokens) == EMPTY_TREE) == (not tokens)


@pytest.mark.parametrize(
    ("tokens", "parents", "words"),
    [((1,), (), "for each"), ((1,), (0,), "before"), ((1, 2), (-1, -2), "before"), ((1, 1), (-1, -1), "differ")],
)
def test_what_is_no_tree_is_refused(tokens, parents, words):
    with pytest.raises(ValueError, match=words):
        Tree(tokens, parents)
