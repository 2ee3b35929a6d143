"""The search for a memory plan: how to load a model so that it fits. Decides from sizes alone; loads nothing.

The plan's total is what the engine's process will hold at most (its peak resident memory), with the KV cache grown to
n_ctx. The cache starts small and grows, so much of the total is only taken when a chat becomes long. Growing needs no
extra memory: the old cache is freed before the new one is made, and its content waits in a file
(`engine.runtime.capi.sequences`).

Candidates are tried in order of preference and the first that fits is taken, so that more memory never gives a plan
further down the list. In order of what is given up:

1. nothing: f16, repacked weights beside the mapped file (a library that repacks in place has no other way);
2. the mapped file: weights are read instead, so that those that are repacked exist once. As fast (30 ms a token of a
   1.5B model either way) and 0.6 GB smaller, but loaded slower, and the system cannot take the memory back under need;
3. repacking, where that is smaller still: 1.2 times slower;
4. large batches: a long prompt is read a little slower;
5. drafts that need memory: the model's own layers, and snapshots of recurrent states to take drafts back;
6. f16 keys and values: q8_0 halves the cache; answers may differ in rare words. q4_0 only on request: it hurts keys;
7. context, if no size was requested: first down to COMFORTABLE;
8. the draft model, if one is requested;
9. context below COMFORTABLE;
10. the weights' place in memory: the mapped file is larger than the memory, and passes read it from the disk again and
    again (`engine.costs.disk_reads`). Everything else must fit, and the user must not have set a limit.

A part of the memory that is left pays for more checkpoints (`engine.kv.checkpoints`), and then for chats that are kept
beside the one in the KV cache (`engine.kv.kept`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal

from common.failures import Failure
from common.planning import DEFAULT_KV_TYPE, KEPT_CHATS, KVType
from common.sentences import Sentence
from engine.kv.chat_cache import COPIED_CHECKPOINTS
from engine.loading.options import LoadOptions
from engine.loading.sizes import (
    MemoryBudget,
    MemoryLayout,
    affordable_checkpoints,
    can_take_back,
    draft_kv_type,
    engine_parts,
    rollbacks,
)
from engine.runtime.contexts import CACHE_STEP, SMALLEST_CACHE, Sizes
from models.projector import Projector

Verdict = Literal["fits", "tight", "disk", "no"]

COMFORTABLE = 4096  # tokens: a chat of some turns or a few pages of text
MOST_BY_DEFAULT = 32768  # tokens: reading more takes such a machine many minutes; whoever wants it asks for it
AUTOMATIC_KV_TYPES: tuple[KVType, ...] = (DEFAULT_KV_TYPE, "q8_0")  # in the order in which they are tried
USUAL_PICTURE = 1024, 768  # pixels: what most models see of a picture at most (USUAL_PIXELS of the window)
BATCHES = (512, 128)
# Kept chats: at most so many of the context's length and so many bytes, at least one of so many tokens.
MOST_KEPT_CHATS, KEPT_CHATS_BYTES, LEAST_KEPT_TOKENS = 4, 1 << 30, 2048
SIZE_CLASSES = tuple(SMALLEST_CACHE * 2**i for i in reversed(range(7)))  # of KV caches, up to MOST_BY_DEFAULT


@dataclass(frozen=True, slots=True)
class DraftFile:
    """The requested draft model: the name to show and its sizes."""

    name: str
    sizes: Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan(MemoryLayout):
    """The layout in which to load a model, with sizes in bytes and contexts in tokens.

    `parts` are bytes by name and sum up to `total_bytes`; `notes` are those of the `reasons` that a user should see
    without opening the details. `draft_kv_type` is the draft model's KV cache type, None without a draft model; in all
    else the draft model is loaded as the model is.

    When the verdict is "disk", the file is larger than the memory and stays mapped: only the other parts fit.
    When the verdict is "no", the plan is the smallest way to load the model, and `max_n_ctx` the largest context that
    would fit, 0 if none does.
    """

    verdict: Verdict
    total_bytes: int
    available_bytes: int
    parts: dict[str, int]
    n_ctx: int
    max_n_ctx: int
    threads: int
    reasons: tuple[Sentence, ...]
    notes: tuple[Sentence, ...]
    draft_kv_type: KVType | None

    @property
    def page_cache_bytes(self) -> int:
        """Bytes of available memory that are left for pages of the mapped file."""
        return max(0, self.available_bytes - self.total_bytes + self.parts.get("weights_mapped", 0))


def make_plan(
    name: str, sizes: Sizes, budget: MemoryBudget, options: LoadOptions, draft: DraftFile | None = None
) -> MemoryPlan:
    """Return the best plan for the model called `name` within the budget; without its draft model if both do not fit.

    Raises Failure if the model cannot store its keys and values in the requested type.
    """
    alone = _Search(name, sizes, budget, options)
    if draft is None:
        return alone.plan()
    pair = _Search(name, sizes, budget, options, draft)
    if pair.first_fitting is None:
        together = pair.smallest(pair.acceptable_n_ctx)
        note = Sentence.of("plan.without_draft", name=draft.name, size=together.bytes, n_ctx=together.n_ctx)
        return with_note(alone.plan(), note)
    if draft.sizes.weights.file >= sizes.weights.file:
        return with_note(pair.plan(), Sentence.of("plan.large_draft", name=draft.name))
    return pair.plan()


def with_note(plan: MemoryPlan, note: Sentence) -> MemoryPlan:
    """Return the plan with a `note` about what else there is no room for; unchanged if the model does not fit."""
    return plan if plan.verdict == "no" else replace(plan, reasons=(*plan.reasons, note), notes=(*plan.notes, note))


def with_projector(plan: MemoryPlan, projector: Projector) -> MemoryPlan:
    """Return the plan with the projector's weights and buffers if there is room for them, else with a note.

    The projector is loaded only when the first picture needs it, so nothing else is given up for it.
    """
    parts = {"projector": projector.file_bytes, "projector_compute": projector.compute_bytes}
    total = plan.total_bytes + projector.memory_bytes
    if plan.verdict == "no":
        return plan
    if total > plan.available_bytes:
        return with_note(plan, Sentence.of("plan.projector_no_room", size=total - plan.available_bytes))
    tokens = projector.tokens_of(*USUAL_PICTURE)
    sees = Sentence.of("plan.projector", size=projector.memory_bytes, tokens=tokens)
    return replace(plan, total_bytes=total, parts={**plan.parts, **parts}, reasons=(*plan.reasons, sees))


def with_kept_chats(plan: MemoryPlan, kv_bytes: int | None = None) -> MemoryPlan:
    """Return the plan with memory for chats that are kept beside the KV cache, if there is room for a useful one.

    Nothing is given up for them, and half of the room is left to the system. `kv_bytes`: of the KV cache, a part of
    which may lie on a device; None: as in the plan.
    """
    checkpoint = plan.parts.get("checkpoints", 0) // max(1, plan.checkpoints)
    kv = kv_cache_bytes(plan) if kv_bytes is None else kv_bytes
    whole = kv + COPIED_CHECKPOINTS * checkpoint
    room = min((plan.available_bytes - plan.total_bytes) // 2, MOST_KEPT_CHATS * whole, KEPT_CHATS_BYTES)
    if plan.verdict in ("disk", "no") or room < min(whole, whole * LEAST_KEPT_TOKENS // plan.n_ctx):
        return plan
    keeps = Sentence.of("plan.kept_chats", size=room)
    parts, reasons = {**plan.parts, KEPT_CHATS: room}, (*plan.reasons, keeps)
    return replace(plan, total_bytes=plan.total_bytes + room, parts=parts, reasons=reasons)


def kv_cache_bytes(plan: MemoryPlan) -> int:
    """Return the bytes of a plan's KV cache with a full context."""
    return plan.parts["kv"] + plan.parts.get("kv_compressed", 0)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A way to load the model with a context of `n_ctx` tokens, and its bytes by name."""

    layout: MemoryLayout
    n_ctx: int
    parts: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.parts.values())


@dataclass
class _Search:
    """A search for the first candidate within the budget, and the sentences that explain the choice."""

    name: str
    sizes: Sizes
    budget: MemoryBudget
    options: LoadOptions
    draft: DraftFile | None = None

    def plan(self) -> MemoryPlan:
        if self.first_fitting:
            return self._finished_plan(self._with_checkpoints(self.first_fitting))
        return self._plan_from_disk() or self._refusal()

    @cached_property
    def first_fitting(self) -> _Candidate | None:
        """First candidate that fits; None if none does."""
        return next((each for each in self.candidates() if self.fits(each)), None)

    def fits(self, candidate: _Candidate | None) -> bool:
        return candidate is not None and candidate.bytes <= self.budget.usable

    # --- candidates ---

    @property
    def trained(self) -> int:
        """Tokens of context that the model was trained for, COMFORTABLE if unknown."""
        return self.sizes.n_ctx_train or COMFORTABLE

    @property
    def largest_n_ctx(self) -> int:
        """Largest context to try, in tokens."""
        return min(self.options.n_ctx or MOST_BY_DEFAULT, self.trained)

    @property
    def comfortable_n_ctx(self) -> int:
        return min(COMFORTABLE, self.largest_n_ctx)

    @property
    def acceptable_n_ctx(self) -> int:
        """Smallest context that is accepted before other things are given up."""
        return self.largest_n_ctx if self.options.n_ctx else self.comfortable_n_ctx

    @cached_property
    def layouts(self) -> tuple[MemoryLayout, ...]:
        most, *less = rollbacks(self.sizes)
        predicts = self.sizes.own_layers(SMALLEST_CACHE, DEFAULT_KV_TYPE, BATCHES[-1]) is not None
        own = predicts and can_take_back(self.sizes, most)
        ways = [(n_batch, most, own) for n_batch in BATCHES]
        ways += [(BATCHES[-1], rollback, False) for rollback in ((most, *less) if own else less)]
        kv_types = (self.options.kv_type,) if self.options.kv_type else AUTOMATIC_KV_TYPES
        return tuple(
            MemoryLayout(kv_type, n_batch, repack, mmap, rollback, own_layers=own_layers)
            for kv_type in kv_types
            for n_batch, rollback, own_layers in ways
            for repack, mmap in self.sizes.weights.ways
        )

    def candidates(self) -> Iterator[_Candidate | None]:
        comfortable_n_ctx = self.acceptable_n_ctx
        smaller = [] if self.options.n_ctx else [size for size in SIZE_CLASSES if size < self.largest_n_ctx]
        sizes = [self.largest_n_ctx, *smaller]
        for layout in self.layouts:
            yield from (self.candidate(layout, n_ctx) for n_ctx in sizes if n_ctx >= comfortable_n_ctx)
        if self.draft:
            return
        for n_ctx in sizes:
            if n_ctx < comfortable_n_ctx:
                yield from (self.candidate(layout, n_ctx) for layout in self.layouts)

    def candidate(self, layout: MemoryLayout, n_ctx: int) -> _Candidate | None:
        """Return the candidate with its bytes; None if the model cannot have this type of KV cache."""
        draft = self.draft.sizes if self.draft else None
        parts = engine_parts(self.sizes, draft, layout, n_ctx, self.options.api)
        return _Candidate(layout, n_ctx, parts) if parts else None

    def smallest(self, n_ctx: int) -> _Candidate:
        """Return the candidate with the fewest bytes for a context of n_ctx tokens. Raises Failure if there is none."""
        possible = [each for layout in self.layouts if (each := self.candidate(layout, n_ctx))]
        if not possible:
            raise Failure("bad_option.kv_type", name=self.name, kv_type=self.layouts[0].kv_type)
        return min(possible, key=lambda each: each.bytes)

    @cached_property
    def max_n_ctx(self) -> int:
        """Largest context that fits in the smallest way, found by a binary search; 0 if none fits."""
        layout = self.smallest(min(SMALLEST_CACHE, self.trained)).layout
        if self.fits(self.candidate(layout, self.trained)):
            return self.trained
        low, high = 0, -(-self.trained // CACHE_STEP)  # `low` steps fit, `high` steps do not
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.fits(self.candidate(layout, middle * CACHE_STEP))
            low, high = (middle, high) if fits else (low, middle)
        return low * CACHE_STEP

    # --- plans, with the sentences that explain them to the user ---

    def _finished_plan(self, candidate: _Candidate) -> MemoryPlan:
        short = candidate.n_ctx < self.acceptable_n_ctx
        less = say_given_up(self.layouts[0], candidate.layout, candidate.n_ctx if short else None)
        model = Sentence.of("plan.pair", name=self.name, draft=self.draft.name) if self.draft else self.name
        needs = Sentence.of("plan.needs", **self._needs(candidate), model=model)
        notes = (*self._trained_limit(), *less)
        return self._plan(
            "tight" if less else "fits", candidate, (needs, *notes, *self._explanations(candidate)), notes
        )

    def _with_checkpoints(self, candidate: _Candidate) -> _Candidate:
        """Return the candidate with as many checkpoints as there is room for."""
        layout = candidate.layout
        count = affordable_checkpoints(candidate.parts, layout, self.budget.usable - candidate.bytes)
        return (self.candidate(replace(layout, checkpoints=count), candidate.n_ctx) if count else None) or candidate

    def _needs(self, candidate: _Candidate) -> dict[str, int | Sentence]:
        """Return what the first sentence of a plan tells: bytes, tokens of context, and how much may be used."""
        room = Sentence.of("plan.available", usable=self.budget.usable, reserve=self.budget.reserve)
        if self.budget.limit is not None:
            room = Sentence.of("plan.budget", usable=self.budget.usable, limit=self.budget.limit)
        return {"size": candidate.bytes, "n_ctx": candidate.n_ctx, "room": room}

    def _trained_limit(self) -> tuple[Sentence, ...]:
        """Say why the context is smaller than requested, if it is."""
        is_cut = self.options.n_ctx and self.options.n_ctx > self.trained
        return (Sentence.of("plan.trained", n_ctx=self.trained),) if is_cut else ()

    def _explanations(self, candidate: _Candidate) -> Iterator[Sentence]:
        if candidate.layout.repack and candidate.layout.mmap:
            yield Sentence.of("plan.held_twice", size=self.sizes.weights.repacked)
        if candidate.layout.own_layers:
            yield Sentence.of("plan.own_layers")
        if not self.options.n_ctx and candidate.n_ctx < self.trained:
            if self.max_n_ctx > candidate.n_ctx:
                yield Sentence.of("plan.more_context", trained=self.trained, fitting=self.max_n_ctx)
            else:
                yield Sentence.of("plan.no_more_context", trained=self.trained)
        yield Sentence.of("plan.grows")

    def _plan_from_disk(self) -> MemoryPlan | None:
        """Return a plan that maps a file larger than the memory; None if the rest does not fit either.

        Memory that other parts leave is a cache of the file's pages. So the context is no larger than is comfortable or
        requested, and passes are as large as possible: each of them may read the whole file.
        """
        if self.draft or not self.sizes.weights.mappable or self.budget.limit is not None:
            return None
        if self.max_n_ctx >= SMALLEST_CACHE:  # it fits with a shorter context than was requested
            return None
        mapped = (layout for layout in self.layouts if layout.mmap and not layout.repack)
        for candidate in filter(None, (self.candidate(layout, self.acceptable_n_ctx) for layout in mapped)):
            if candidate.bytes - candidate.parts["weights_mapped"] <= self.budget.usable:
                reasons = (
                    Sentence.of("plan.from_disk", **self._needs(candidate), name=self.name),
                    *self._trained_limit(),
                )
                return replace(self._plan("disk", candidate, reasons, reasons), max_n_ctx=0)
        return None

    def _refusal(self) -> MemoryPlan:
        n_ctx = self.largest_n_ctx if self.options.n_ctx else min(SMALLEST_CACHE, self.largest_n_ctx)
        smallest = self.smallest(n_ctx)
        missing = smallest.bytes - self.budget.usable
        too_much = Sentence.of("plan.too_much", **self._needs(smallest), name=self.name, missing=missing)
        reasons = (too_much, *self._trained_limit(), self._would_fit(n_ctx))
        return self._plan("no", smallest, reasons, reasons)

    def _would_fit(self, n_ctx: int) -> Sentence:
        if self.options.kv_type == DEFAULT_KV_TYPE:
            quantised = [replace(layout, kv_type=AUTOMATIC_KV_TYPES[-1]) for layout in self.layouts]
            if any(self.fits(self.candidate(layout, n_ctx)) for layout in quantised):
                return Sentence.of("plan.would_fit", kv_type=AUTOMATIC_KV_TYPES[-1])
        if self.max_n_ctx:
            layout = self.smallest(self.max_n_ctx).layout
            return Sentence.of("plan.context_would_fit", n_ctx=self.max_n_ctx, kv_type=layout.kv_type)
        return Sentence.of("plan.no_context", size=self.smallest(min(CACHE_STEP, self.trained)).bytes)

    def _plan(
        self, verdict: Verdict, candidate: _Candidate, reasons: tuple[Sentence, ...], notes: tuple[Sentence, ...]
    ) -> MemoryPlan:
        checkpoints = candidate.layout.checkpoints if candidate.parts.get("checkpoints") else 0
        return MemoryPlan(
            **asdict(replace(candidate.layout, checkpoints=checkpoints)),
            verdict=verdict,
            total_bytes=candidate.bytes,
            available_bytes=self.budget.usable,
            parts=candidate.parts,
            n_ctx=candidate.n_ctx,
            max_n_ctx=self.max_n_ctx,
            threads=self.options.planned_threads,
            reasons=reasons,
            notes=notes,
            draft_kv_type=draft_kv_type(self.draft.sizes, candidate.layout.kv_type) if self.draft else None,
        )


def say_given_up(first: MemoryLayout, layout: MemoryLayout, short_n_ctx: int | None) -> tuple[Sentence, ...]:
    """Return what `layout` gives up against `first` for lack of memory; empty if the two are the same."""
    losses = (
        (layout.mmap != first.mmap, Sentence.of("plan.read_once")),
        (layout.repack != first.repack, Sentence.of("plan.not_repacked")),
        (layout.n_batch != first.n_batch, Sentence.of("plan.small_batch", tokens=layout.n_batch)),
        (layout.own_layers != first.own_layers, Sentence.of("plan.no_own_layers")),
        (layout.rollback != first.rollback, Sentence.of("plan.no_rollback")),
        (layout.kv_type != first.kv_type, Sentence.of("plan.q8_0")),
        (short_n_ctx is not None, Sentence.of("plan.short_context", n_ctx=short_n_ctx)),
    )
    return tuple(sentence for is_lost, sentence in losses if is_lost)
