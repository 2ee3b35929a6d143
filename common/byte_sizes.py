"""Memory sizes as people write and read them: parses '4GB' into bytes, and shows bytes in powers of 1000."""

from __future__ import annotations

import re
from decimal import Decimal

UNITS = {"": 1, "b": 1} | {
    prefix + ending: base**power
    for power, prefix in enumerate("kmgt", 1)
    for ending, base in (("", 1024), ("ib", 1024), ("b", 1000))
}
LARGEST = 1 << 60
MOST_DECIMALS = 9  # that are read


def parse_bytes(text: str) -> int:
    """Return the bytes that a text like '4GiB', '3500MB', '2G' (= 2 GiB), '1.5 g' or '1000000' names.

    Raises ValueError with a sentence for any other text.
    """
    match = re.fullmatch(rf"\s*(\d{{1,20}}(?:\.\d{{1,{MOST_DECIMALS}}})?)\s*([a-z]{{0,3}})\s*", text.lower())
    if not match or match[2] not in UNITS:
        raise ValueError(f"“{text}” is not a memory size: write it like 4GB or 3500MB")
    size = Decimal(match[1]) * UNITS[match[2]]
    if not 1 <= size <= LARGEST:
        raise ValueError(f"“{text}” is more memory than a computer can have")
    return int(size)


def show_bytes(size: int) -> str:
    """Format a size for a sentence, rounded: '1.42 GB', '210 MB', '16 kB', '100 bytes'."""
    if size >= 1e9:
        return f"{size / 1e9:,.2f} GB"
    if size >= 1e6:
        return f"{size / 1e6:,.0f} MB"
    return f"{size / 1e3:,.0f} kB" if size >= 1e3 else f"{size} bytes"


def exact_bytes(size: int) -> str:
    """Format a size without rounding, so that `parse_bytes` reads it back: '4GB', '3.5GB', '4.294967296GB', '7B'."""
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        whole, rest = divmod(size, 10**power)
        decimals = f"{rest:0{power}d}".rstrip("0")
        if whole and len(decimals) <= MOST_DECIMALS:
            return f"{whole}.{decimals}{unit}" if decimals else f"{whole}{unit}"
    return f"{size}B"
