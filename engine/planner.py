"""Plans for a model file on this machine, as it is now: asks the file, the system and the plan. Loads no weights."""

from __future__ import annotations

from pathlib import Path

from engine.budget import budget
from engine.llama.dry import DryModel
from engine.machine import memory
from engine.plan import Plan, Wish, make_plan


def plan_for(path: Path, wish: Wish, memory_bytes: int | None = None, freed_bytes: int = 0) -> Plan:
    """The plan for the model at `path`; raises Failure when the file is no chat model.

    `memory_bytes` is the most the engine may take, if the user set that; `freed_bytes` are given back before loading.
    """
    now = memory()
    with DryModel(path) as sizes:
        return make_plan(Path(path).name, sizes, budget(now.total, now.available, memory_bytes, freed_bytes), wish)
