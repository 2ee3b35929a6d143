"""Plans for a model file on this machine, as it is now: asks the file, the system and the plan. Loads no weights."""

from __future__ import annotations

from pathlib import Path

from engine.loading.first_look import looked_at
from engine.loading.libraries import Backend
from engine.loading.memory_budget import budget
from engine.loading.memory_plan import DraftFile, Plan, Wish, make_plan
from engine.loading.same_vocabulary import check_pair
from engine.machine import memory
from engine.protocol import FlashAttention
from engine.runtime.flash_attention import check_kv_type
from engine.runtime.kv_mode import EXACT, KVMode
from engine.runtime.sizes import DrySizes
from models.failures import Failure
from models.paths import shown


def plan_for(
    path: Path,
    wish: Wish,
    library: Backend,
    memory_bytes: int | None = None,
    freed_bytes: int = 0,
    draft: Path | None = None,
    kv_mode: KVMode = EXACT,
    flash_attention: FlashAttention = "auto",
) -> Plan:
    """The plan for the model at `path`, and for a draft model, with the library that will load them; raises Failure
    when a file is no chat model, or when the one at `draft` cannot draft for the other.

    `memory_bytes` is the most the engine may take, if the user set that; `freed_bytes` are given back before loading.
    """
    check_kv_type(flash_attention, wish.kv_type)
    looked_at((path, draft), library.name)
    now = memory()
    limits = budget(now.total, now.available, memory_bytes, freed_bytes)
    modes = {} if kv_mode == EXACT else {"kv_mode": kv_mode}
    with library.dry(path, flash_attention, **modes) as sizes:
        if draft is None:
            return make_plan(shown(path), sizes, limits, wish)
        with library.dry(draft, flash_attention) as small:
            refuse_draft(sizes, small)
            return make_plan(shown(path), sizes, limits, wish, DraftFile(shown(draft), small))


def refuse_draft(target: DrySizes, draft: DrySizes) -> None:
    check_pair(target.header, draft.header)
    for model in (target, draft):
        if not model.can_truncate:
            sentence = f"{model.header.path.name} cannot take tokens back, so there is no drafting with it."
            raise Failure("cannot_draft", sentence, model.header.architecture)
