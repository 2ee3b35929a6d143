"""How much memory a model may take: what the machine has free, or what the user allows. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20
# Left to the system: other programs grow while the user chats, and a plan is exact to some percent only.
RESERVE, RESERVE_SHARE, RESERVE_MOST_SHARE = 512 * MIB, 0.10, 0.25
BUDGET_SHARE = 0.05  # left of a budget that the user set: for the plan's own inexactness alone


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes the engine may take; `reserve` is what was left out of them; `limit` is the user's own, if one was set."""

    usable: int
    reserve: int
    limit: int | None = None


def budget(total: int, available: int, limit: int | None = None, freed_bytes: int = 0) -> Budget:
    """What may be used of a machine with `total` bytes of RAM of which `available` are free for us.

    The reserve is a tenth of the RAM, at least 512 MiB but never more than a quarter. `freed_bytes` is what the loaded
    model will give back."""
    reserve = int(max(min(RESERVE, total * RESERVE_MOST_SHARE), total * RESERVE_SHARE))
    usable = max(0, available + freed_bytes - reserve)
    if limit is not None and int(limit * (1 - BUDGET_SHARE)) <= usable:
        spare = limit - int(limit * (1 - BUDGET_SHARE))
        return Budget(limit - spare, spare, limit)
    return Budget(usable, reserve, limit)
