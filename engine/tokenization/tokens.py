"""Small functions on lists of token ids. Knows nothing else."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the longest common beginning."""
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit
    return next((i for i in range(limit) if a[i] != b[i]), limit)  # a list and a tuple are never equal as wholes
