"""Positions of rows in a long column, compared with plain sums."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.transcript.message_column import Heights, estimate


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=70),
    st.lists(st.tuples(st.integers(0, 69), st.integers(0, 500)), max_size=20),
)
def test_rows_lie_where_the_sums_say(heights: list[int], changes: list[tuple[int, int]]) -> None:
    rows = Heights(heights)
    for row, height in changes:
        heights[row % len(heights)] = height
        rows.set(row % len(heights), height)
    assert [rows[row] for row in range(len(rows))] == heights
    assert [rows.top(row) for row in range(len(rows) + 1)] == [sum(heights[:row]) for row in range(len(heights) + 1)]
    for y in (-1, 0, *range(0, sum(heights) + 50, 7)):
        row = rows.row_at(y)
        assert rows.top(row) <= max(y, 0) or row == 0
        assert y < rows.top(row + 1) or row == len(rows) - 1


def test_no_rows() -> None:
    assert Heights().row_at(5) == -1
    assert Heights().top(0) == 0


def test_more_text_is_higher() -> None:
    assert estimate("", 80, 20) == 20
    assert estimate("a" * 800, 80, 20) > estimate("a" * 80, 80, 20) > 0
    assert estimate("a\n\nb", 80, 20) == 60
