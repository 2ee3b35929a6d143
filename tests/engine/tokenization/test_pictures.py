"""Tokens that stand for pictures."""

from __future__ import annotations

import pytest

from engine.tokenization.pictures import (
    Block,
    block_tokens,
    blocks,
    has_pictures,
    runs,
    saved_positions,
    text_tokens,
    whole_blocks,
)

FIRST = block_tokens("a" * 64, 0, 12, 4)
SECOND = block_tokens("a" * 64, 1, 3, 3)
PROMPT = [5, 6, *FIRST, *SECOND, 7]


def test_tokens_fit_into_32_bits_and_differ_by_picture_and_block() -> None:
    others = [block_tokens(digest * 64, index, 12, 4) for digest in "ab" for index in (0, 1)]
    assert all(-(1 << 31) <= token < 0 for tokens in others for token in tokens)
    assert len({tuple(tokens[1:]) for tokens in others}) == 4
    assert block_tokens("a" * 64, 0, 12, 4) == FIRST


def test_blocks_tell_their_positions() -> None:
    assert list(blocks(PROMPT)) == [Block(2, 14, 4), Block(14, 17, 3)]
    assert list(blocks([1, 2, 3])) == []


def test_text_and_blocks_come_in_runs() -> None:
    assert list(runs(PROMPT, 0)) == [range(2), range(2, 14), range(14, 17), range(17, 18)]
    assert list(runs(PROMPT, 14)) == [range(14, 17), range(17, 18)]
    assert list(runs([1, 2], 1)) == [range(1, 2)]


@pytest.mark.parametrize(("size", "kept"), [(0, 0), (2, 2), (3, 2), (13, 2), (14, 14), (15, 14), (17, 17), (18, 18)])
def test_a_cut_leaves_no_part_of_a_block(size: int, kept: int) -> None:
    assert whole_blocks(PROMPT, size) == kept


def test_a_block_with_fewer_positions_than_tokens() -> None:
    assert saved_positions(PROMPT) == 2 + 4 + 3 + 1
    assert saved_positions(PROMPT[:14]) == 3, "with M-RoPE all cells of a picture have one position"
    assert saved_positions(PROMPT[:17]) == 2 + 4 + 3
    assert saved_positions([1, 2, 3]) == 3


def test_pictures_are_told_from_text() -> None:
    assert text_tokens(PROMPT) == [5, 6, 7]
    assert has_pictures(PROMPT)
    assert not has_pictures([5, 6, 7])


def test_a_block_needs_tokens_and_not_too_many_positions() -> None:
    for count, positions in ((0, 1), (1, 0), (1, 1 << 14)):
        with pytest.raises(ValueError, match="block"):
            block_tokens("a", 0, count, positions)
