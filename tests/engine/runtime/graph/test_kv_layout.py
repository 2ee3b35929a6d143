"""Blocks of memory begin at a huge page and go back to the system when they are freed."""

from __future__ import annotations

import ctypes

import psutil
import pytest

from engine.runtime.graph.kv_layout import HUGE_PAGE, Block

SIZE = 64 << 20


def test_begins_where_a_huge_page_does_and_is_empty() -> None:
    block = Block(1000)
    assert block.address % HUGE_PAGE == 0
    assert ctypes.string_at(block.address, block.size) == bytes(1000)
    block.free()


def test_what_is_freed_goes_back_at_once() -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    block = Block(SIZE)
    untouched = process.memory_info().rss
    ctypes.memset(block.address, 1, SIZE)
    touched = process.memory_info().rss
    block.free()
    assert untouched - before < SIZE // 4
    assert touched - before > SIZE * 3 // 4
    assert process.memory_info().rss - before < SIZE // 4


def test_a_few_bytes_take_no_whole_huge_page() -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    blocks = [Block(1000) for _ in range(16)]
    for block in blocks:
        ctypes.memset(block.address, 1, block.size)
    assert process.memory_info().rss - before < HUGE_PAGE
    for block in blocks:
        block.free()


def test_more_than_there_is() -> None:
    with pytest.raises(MemoryError):
        Block(1 << 60)
