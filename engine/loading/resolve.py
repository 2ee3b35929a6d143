"""From load options to a plan: which library computes the model, and how it fits into the memory that is free now."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from common.failures import Failure
from common.paths import display_name
from common.planning import Computer, Estimate
from common.sentences import Sentence
from engine.base import OtherLibrary
from engine.devices.device import Placement
from engine.devices.look import refusal as refusal_of_device
from engine.loading.crash_mark import CrashWatch
from engine.loading.device_check import is_right
from engine.loading.device_choice import Decision
from engine.loading.device_plan import LLAMA, decide, with_device
from engine.loading.first_look import TO_LOAD, Headers, Patience, take_first_looks
from engine.loading.libraries import (
    BACKEND_TITLES,
    Backend,
    backend,
    can_see,
    llama_missing,
    needs_new_process,
)
from engine.loading.library_choice import (
    NOT_READY,
    LibraryChoice,
    choose,
    choose_after,
)
from engine.loading.memory_search import (
    DraftFile,
    MemoryPlan,
    kv_cache_bytes,
    make_plan,
    with_kept_chats,
    with_projector,
)
from engine.loading.options import LoadOptions
from engine.loading.sizes import EstimatedSizes, MemoryBudget, memory_budget
from engine.machine import memory
from engine.protocol.requests import BackendName
from engine.runtime.capi.model import CDryModel
from engine.runtime.contexts import EXACT
from models.header import Header
from models.own_drafter import refusal, usable_layers
from models.projector import Projector, find_projector
from models.split import model_headers, whole_header
from models.validation import checked_headers
from models.vocabulary_match import check_same_vocabulary

log = logging.getLogger("engine.resolve")


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The way to load a model: with which library, and how in the available memory.

    `headers` are those of the model's files, `draft` those of its draft model's files; `choice` says why `library`
    computes them. `projector`: what turns pictures into embeddings for the model; None: it cannot see. `own_drafter`:
    why layers or a file that were made to draft for the model do not; None if they do, or there are none. `decision`:
    which device computes a part of the model, and why; `processor`: the library that would compute it without a device.
    """

    options: LoadOptions
    headers: Headers
    draft: Headers | None
    choice: LibraryChoice
    library: Backend
    memory: MemoryPlan
    projector: Projector | None
    own_drafter: Sentence | None
    decision: Decision
    processor: BackendName

    @property
    def placement(self) -> Placement:
        """The place where the model is computed."""
        return self.decision.placement

    @property
    def header(self) -> Header:
        """Header of the model's first file."""
        return self.headers[0]

    def with_context(self, n_ctx: int, freed_bytes: int) -> MemoryPlan:
        """Return a memory plan for the same model and library with a context of `n_ctx` tokens. Raises Failure.

        If the requested type of keys and values does not fit, the plan may choose another one.
        """
        for options in (replace(self.options, n_ctx=n_ctx), replace(self.options, n_ctx=n_ctx, kv_type=None)):
            plan = _memory_plan(options, self.headers, self.draft, self.library, freed_bytes)
            if plan.verdict != "no" or options.kv_type is None:
                break
        return plan


@dataclass(frozen=True, slots=True)
class LoadEnvironment:
    """The state of the engine that a plan depends on.

    `freed_bytes`: memory that is freed before the model is loaded; `stopped` is called now and then, and True ends the
    work; `crashes`: from just before the chosen library is imported, watches that library's crash mark; `patience`: how
    long a first look may take.
    """

    freed_bytes: int = 0
    stopped: Callable[[], bool] = lambda: False
    crashes: CrashWatch | None = None
    patience: Patience = TO_LOAD


DEFAULT_ENVIRONMENT = LoadEnvironment()


def resolve(options: LoadOptions, environment: LoadEnvironment = DEFAULT_ENVIRONMENT) -> LoadPlan:
    """Plan how to load the model; the verdict is "no" if it does not fit. Imports the library, but loads no weights.

    Raises Failure if a file is no chat model or an option is not possible with it, Stopped, and OtherLibrary if the
    model needs a library that only a new process can import.
    """
    headers = checked_headers(options.path)
    draft = model_headers(options.draft) if options.draft else None
    projector = find_projector(headers[0]) if can_see() else None
    sees, usable = projector is not None, _budget_for(options, environment.freed_bytes).usable
    choice = _choose_library(options, headers, draft, environment, sees)
    processor = choice.name
    decision = _decide(options, headers, usable, processor, environment)
    if decision.placement.device and choice.name != LLAMA:
        choice = _choose_library(replace(options, backend=LLAMA), headers, draft, environment, sees)
    library = _import_library(choice, environment.crashes)
    memory = _memory_plan(options, headers, draft, library, environment.freed_bytes)
    kv_bytes = kv_cache_bytes(memory)
    memory, decision = with_device(memory, decision, whole_header(headers))
    reason = own_drafter_refusal(headers, library.name)
    if reason:
        memory = replace(memory, reasons=(*memory.reasons, reason))
    projector = projector if library.name == "llama" else None
    memory = with_kept_chats(with_projector(memory, projector) if projector else memory, kv_bytes)
    return LoadPlan(options, headers, draft, choice, library, memory, projector, reason, decision, processor)


def _decide(
    options: LoadOptions, headers: Headers, usable: int, processor: BackendName, environment: LoadEnvironment
) -> Decision:
    """Decide where the model is computed; a load uses only a device whose numbers are right. Raises Stopped."""
    decision = decide(options, headers, usable, processor)
    device, loads = decision.placement.device, environment.crashes is not None and options.placed_layers is None
    if not device or not loads or is_right(headers[0], decision.placement, environment.stopped):
        return decision
    if refusal_of_device(device):  # by the check
        return _decide(options, headers, usable, processor, environment)
    return Decision(reason=Sentence.of("device.not_checked", device=decision.device))


def own_drafter_refusal(headers: Headers, library: BackendName) -> Sentence | None:
    """Return why the layers that a model brings to draft for it do not; None if they do, or there are none."""
    if library != "llama" and usable_layers(headers):
        return Sentence.of("own_drafter.library", library=BACKEND_TITLES[library])
    return refusal(headers)


def _choose_library(
    options: LoadOptions, headers: Headers, draft: Headers | None, environment: LoadEnvironment, sees: bool
) -> LibraryChoice:
    """Choose the library and take the first looks with it; continue with the other one if it crashes or refuses.

    Nothing is imported: after a crash this process must still be able to import the other library.
    """
    choice = choose(options, headers, _budget_for(options, environment.freed_bytes).usable, sees)
    if choice.name != options.requested_backend and (options.no_other or options.kv_mode != EXACT):
        if choice.note == NOT_READY:
            raise llama_missing()
        raise Failure("not_supported.model", reason=choice.note)
    if environment.crashes and choice.mark:
        choice.mark.clear()
    try:
        take_first_looks((headers, draft), choice.name, environment.stopped, environment.patience)
    except Failure as failure:
        other = choose_after(failure, choice, options, headers[0])
        if other is None:
            raise
        if other.note:
            log.warning("%s %s", failure, other.note)
        else:
            log.info("%s: %s", choice.name, failure.log_text)
        take_first_looks((headers, draft), other.name, environment.stopped, environment.patience)
        return other
    return choice


def planned_estimate(
    model: Estimate, options: LoadOptions, freed_bytes: int, computer: Computer | None = None
) -> MemoryPlan:
    """Estimate the plan of a model that is not downloaded yet, on another computer if one is given.

    The path in `options` is not read.
    """
    budget = _budget_for(options, freed_bytes)
    if computer and computer.memory:
        budget = memory_budget(computer.memory, computer.available, options.memory_bytes)
    return with_kept_chats(make_plan(model.name, EstimatedSizes(model), budget, options))


def _import_library(choice: LibraryChoice, crashes: CrashWatch | None) -> Backend:
    """Watch the crash mark of `choice` and import its library: on an unsuitable processor the import crashes."""
    if needs_new_process(choice.name):
        raise OtherLibrary(choice.name)
    if crashes:
        crashes.watch(choice.mark)
    return backend(choice.name)


def _memory_plan(
    options: LoadOptions, headers: Headers, draft: Headers | None, library: Backend, freed_bytes: int
) -> MemoryPlan:
    """Plan the memory from dry models. Raises Failure if the model at `draft` cannot draft for the other."""
    name, budget = display_name(options.path), _budget_for(options, freed_bytes)
    modes = {} if options.kv_mode == EXACT else {"kv_mode": options.kv_mode}
    with ExitStack() as opened:
        sizes = opened.enter_context(library.dry(headers, options.flash_attention, **modes))
        if draft is None:
            return make_plan(name, sizes, budget, options)
        small = opened.enter_context(library.dry(draft, options.flash_attention))
        _refuse_draft(sizes, small)
        return make_plan(name, sizes, budget, options, DraftFile(display_name(draft[0].path), small))


def _budget_for(options: LoadOptions, freed_bytes: int) -> MemoryBudget:
    now = memory()
    return memory_budget(now.total, now.available, options.memory_bytes, freed_bytes)


def _refuse_draft(target: CDryModel, draft: CDryModel) -> None:
    check_same_vocabulary(target.header, draft.header)
    for model in (target, draft):
        if not model.can_truncate:
            raise Failure("cannot_draft.keeps_tokens", model.header.architecture, name=model.header.path.name)
