"""Numbers of bytes as the window says them: in thousands, as disks are sold. Knows no Qt."""

from __future__ import annotations


def in_bytes(count: int) -> str:
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{max(1, count / 1e3):,.0f} kB"
