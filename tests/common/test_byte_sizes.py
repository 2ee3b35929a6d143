"""Tests of memory sizes as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.byte_sizes import LARGEST, exact_bytes, parse_bytes

GIB = 1 << 30
LIKE_SIZES = st.from_regex(r"\s?-?[0-9]{1,20}([.,][0-9]{1,10})?\s?([kmgtKMGT][iI]?)?[bB]?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4 * GIB), ("3500MB", 3_500_000_000), ("2G", 2 * GIB), (" 1.5 gib ", 3 * GIB // 2),
        ("512k", 512 * 1024), ("1000000", 1_000_000), ("7 B", 7),
    ],
)  # fmt: skip
def test_sizes_are_read(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "4X", "-1G", "1e9", "nan", "0", "4 Gi B", "9" * 20 + "T", "1,5G"])
def test_bad_sizes_are_sentences(text):
    with pytest.raises(ValueError, match=r"is not a memory size|more memory than"):
        parse_bytes(text)


@given(st.text(max_size=12) | LIKE_SIZES)
def test_any_text_is_a_size_or_a_sentence(text):
    try:
        assert 1 <= parse_bytes(text) <= LARGEST
    except ValueError as error:
        assert f"“{text}” is " in str(error)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (4_000_000_000, "4GB"),
        (3_500_000_000, "3.5GB"),
        (4 * GIB, "4.294967296GB"),
        (12_000_000_000_000, "12TB"),
        (128_000_000, "128MB"),
        (1024, "1.024kB"),
        (999, "999B"),
    ],
)
def test_sizes_are_written(size, text):
    assert exact_bytes(size) == text


@given(st.integers(1, 1 << 50))
def test_a_written_size_is_read_as_the_same(size):
    assert parse_bytes(exact_bytes(size)) == size
