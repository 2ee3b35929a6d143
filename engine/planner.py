"""Plans for a model file on this machine, as it is now: asks the file, the system and the plan. Loads no weights."""

from __future__ import annotations

from pathlib import Path

from engine.budget import budget
from engine.draft.same_vocabulary import check_pair
from engine.llama.dry import DryModel
from engine.machine import memory
from engine.plan import DraftFile, Plan, Wish, make_plan
from models.failures import Failure


def plan_for(
    path: Path, wish: Wish, memory_bytes: int | None = None, freed_bytes: int = 0, draft: Path | None = None
) -> Plan:
    """The plan for the model at `path`, and for a draft model; raises Failure when a file is no chat model, or when the
    one at `draft` cannot draft for the other.

    `memory_bytes` is the most the engine may take, if the user set that; `freed_bytes` are given back before loading.
    """
    now = memory()
    limits = budget(now.total, now.available, memory_bytes, freed_bytes)
    with DryModel(path) as sizes:
        if draft is None:
            return make_plan(Path(path).name, sizes, limits, wish)
        with DryModel(draft) as small:
            refuse_draft(sizes, small)
            return make_plan(Path(path).name, sizes, limits, wish, DraftFile(draft.name, small))


def refuse_draft(target: DryModel, draft: DryModel) -> None:
    check_pair(target.model.header, draft.model.header)
    for model in (target.model, draft.model):
        if not model.can_drop:
            sentence = f"{model.path.name} cannot take tokens back, so there is no drafting with it."
            raise Failure("cannot_draft", sentence, model.header.architecture)
