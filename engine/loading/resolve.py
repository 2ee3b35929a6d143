"""From what is asked for to how it is loaded: with which library, and how in the memory that this machine has now."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from common.failures import Failure
from common.paths import shown
from common.planning import Estimate
from engine.loading.crash_mark import CrashWatch
from engine.loading.first_look import Headers, meanwhile
from engine.loading.libraries import Backend, OtherLibrary, backend, takes_new_process
from engine.loading.library_choice import NOT_READY, LibraryChoice, choose
from engine.loading.memory_plan import DraftFile, MemoryPlan, make_plan
from engine.loading.options import LoadOptions
from engine.loading.sizes import Budget, EstimatedSizes, budget
from engine.machine import memory
from engine.runtime.contexts import EXACT, DrySizes
from models.header import Header
from models.same_vocabulary import check_pair
from models.split import model_headers
from models.validation import checked_headers


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """`headers` are the model's, `draft` those of its draft model's files; `choice`: why `library` computes them."""

    options: LoadOptions
    headers: Headers
    draft: Headers | None
    choice: LibraryChoice
    library: Backend
    memory: MemoryPlan

    @property
    def header(self) -> Header:
        """Of the model's first file."""
        return self.headers[0]

    def with_context(self, n_ctx: int, freed_bytes: int) -> MemoryPlan:
        """For the same model with the same library; where the type of keys and values that was asked for does not fit,
        another one may. Raises Failure."""
        for options in (replace(self.options, n_ctx=n_ctx), replace(self.options, n_ctx=n_ctx, kv_type=None)):
            plan = _memory_plan(options, self.headers, self.draft, self.library, freed_bytes)
            if plan.verdict != "no" or options.kv_type is None:
                break
        return plan


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a plan is made in. `freed_bytes`: what is given back before the model is loaded; `stopped` is asked now and
    then; `crashes` is told which library is at work from now on."""

    freed_bytes: int = 0
    stopped: Callable[[], bool] = lambda: False
    crashes: CrashWatch | None = None


HERE = Surroundings()


def resolve(options: LoadOptions, around: Surroundings = HERE) -> LoadPlan:
    """How to load what is asked for; a verdict of "no" where it does not fit. Loads the library, but no weights.

    Raises Failure where a file is no chat model or an option is not possible with it, Stopped, and OtherLibrary when
    it takes a new process."""
    headers = checked_headers(options.path)
    draft = model_headers(options.draft) if options.draft else None
    choice = choose(options.backend_wish, headers[0], options.wish.threads, options.kv_type or "f16")
    if choice.name != options.backend_wish and (options.no_other or options.kv_mode != EXACT):
        if choice.note == NOT_READY:
            raise Failure("no_backend.llama")
        raise Failure("not_supported.model", reason=choice.note)
    library = meanwhile(lambda: _opened(choice, around.crashes), (headers, draft), choice.name, around.stopped)
    memory = _memory_plan(options, headers, draft, library, around.freed_bytes)
    return LoadPlan(options, headers, draft, choice, library, memory)


def planned_estimate(model: Estimate, options: LoadOptions, freed_bytes: int) -> MemoryPlan:
    """How a model that is not here yet would be loaded, about. `options` are wishes; their path is not read."""
    return make_plan(model.name, EstimatedSizes(model), _limits(options, freed_bytes), options.wish)


def _opened(choice: LibraryChoice, crashes: CrashWatch | None) -> Backend:
    """Imports the library; one that this processor cannot run dies of that already."""
    if takes_new_process(choice.name):
        raise OtherLibrary(choice.name)
    if crashes:
        if choice.mark:
            choice.mark.clear()
        crashes.watch(choice.mark)
    return backend(choice.name)


def _memory_plan(
    options: LoadOptions, headers: Headers, draft: Headers | None, library: Backend, freed_bytes: int
) -> MemoryPlan:
    """Raises Failure where the model at `draft` cannot draft for the other."""
    name, limits = shown(options.path), _limits(options, freed_bytes)
    modes = {} if options.kv_mode == EXACT else {"kv_mode": options.kv_mode}
    with ExitStack() as opened:
        sizes = opened.enter_context(library.dry(headers, options.flash_attention, **modes))
        if draft is None:
            return make_plan(name, sizes, limits, options.wish)
        small = opened.enter_context(library.dry(draft, options.flash_attention))
        _refuse_draft(sizes, small)
        return make_plan(name, sizes, limits, options.wish, DraftFile(shown(draft[0].path), small))


def _limits(options: LoadOptions, freed_bytes: int) -> Budget:
    now = memory()
    return budget(now.total, now.available, options.memory_bytes, freed_bytes)


def _refuse_draft(target: DrySizes, draft: DrySizes) -> None:
    check_pair(target.header, draft.header)
    for model in (target, draft):
        if not model.can_truncate:
            raise Failure("cannot_draft.keeps_tokens", model.header.architecture, name=model.header.path.name)
