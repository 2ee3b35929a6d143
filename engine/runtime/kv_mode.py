"""The wish how a model's keys and values are kept, checked. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol import KVModeName

SHARE = 0.25  # of the kv-heads, if none is given


@dataclass(frozen=True, slots=True)
class KVMode:
    """`share` of the kv-heads are compressed, the least harmful ones; 0 and exact go together."""

    name: KVModeName = "exact"
    share: float = 0.0

    def __post_init__(self) -> None:
        if self.name == "exact" and self.share:
            raise ValueError("a share of the heads is only compressed with --kv published, merged or window")
        if self.name != "exact" and not 0 < self.share <= 1:
            raise ValueError(f"the share of heads must lie above 0 and up to 1, not {self.share:g}")

    @property
    def words(self) -> str:
        """What tells saved chats and timings of one mode from another's; empty for exact ones."""
        return "" if self == EXACT else f" {self.name} {self.share:g}"


EXACT = KVMode()


def mode_of(name: KVModeName | None, share: float | None) -> KVMode:
    """Raises ValueError."""
    if name in (None, "exact"):
        return KVMode("exact", share or 0.0)
    return KVMode(name, SHARE if share is None else share)
