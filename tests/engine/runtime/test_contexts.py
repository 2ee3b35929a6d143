"""Sizes of KV caches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.contexts import CACHE_STEP, SMALLEST_CACHE, size_class


@given(st.integers(0, 200_000), st.integers(64, 131_072))
def test_size_classes(tokens, limit):
    size = size_class(tokens, limit)
    assert size <= limit
    assert size >= min(tokens, limit)
    assert size == limit or size <= max(tokens * 5 // 4 + CACHE_STEP, SMALLEST_CACHE)
    assert size == limit or size % CACHE_STEP == 0
