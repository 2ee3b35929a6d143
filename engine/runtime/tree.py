"""A draft as a tree of tokens: lines with a common beginning share it. Knows no target and no drafter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

ROOT = -1  # stands for the newest token, which every draft follows
MOST_BRANCHES = 16  # that every target can verify at once


@dataclass(frozen=True, slots=True)
class Tree:
    """`parents[i]` is the index of token i's parent, ROOT if it follows the newest token; parents come first, and no
    parent has the same token twice below it."""

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.parents):
            raise ValueError("a tree needs a parent for each token")
        if not all(ROOT <= parent < i for i, parent in enumerate(self.parents)):
            raise ValueError("a parent comes before its children")
        if len(set(zip(self.parents, self.tokens, strict=True))) < len(self.tokens):
            raise ValueError("the children of a token differ")

    @classmethod
    def line(cls, tokens: Sequence[int]) -> Self:
        return cls(tuple(tokens), tuple(range(ROOT, len(tokens) - 1)))

    @classmethod
    def merged(cls, lines: Iterable[Sequence[int]]) -> Self:
        """All lines, what they have in common at their beginnings only once."""
        nodes: dict[tuple[int, int], int] = {}  # (parent, token) → index
        for line in lines:
            at = ROOT
            for token in line:
                at = nodes.setdefault((at, token), len(nodes))
        return cls(tuple(token for _, token in nodes), tuple(parent for parent, _ in nodes))

    @property
    def size(self) -> int:
        return len(self.tokens)

    @property
    def is_line(self) -> bool:
        return all(parent == i - 1 for i, parent in enumerate(self.parents))

    @property
    def depths(self) -> tuple[int, ...]:
        """For each token how many of the tree come before it on its line."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent != ROOT else 0)
        return tuple(depths)

    @property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """The lines that the tree consists of, as indices: one for each token without children."""
        inner = set(self.parents)
        return tuple(self.path(i) for i in range(self.size) if i not in inner)

    def path(self, node: int) -> tuple[int, ...]:
        """The indices from the beginning to `node`."""
        path = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return tuple(reversed(path))

    def child(self, parent: int, token: int) -> int | None:
        """The index of `token` below `parent`, if it is there."""
        for i in range(parent + 1, self.size):
            if self.parents[i] == parent and self.tokens[i] == token:
                return i
        return None

    def first(self, count: int) -> Self:
        """Its first `count` tokens, which are a tree too."""
        return type(self)(self.tokens[:count], self.parents[:count])


NOTHING = Tree()
