"""The memory plan: how to load a model so that it fits. Decides from sizes alone; loads and measures nothing.

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

A part of the memory that is left pays for more checkpoints (`engine.kv.checkpoints`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from common.failures import Failure
from common.sentences import Sentence
from engine.loading.options import PlanOptions
from engine.loading.sizes import (
    MemoryBudget,
    MemoryLayout,
    affordable_checkpoints,
    can_take_back,
    draft_kv_type,
    engine_parts,
    rollbacks,
)
from engine.protocol.requests import KVType
from engine.runtime.contexts import CACHE_STEP, SMALLEST_CACHE, Sizes
from models.projector import Projector

Verdict = Literal["fits", "tight", "disk", "no"]

COMFORTABLE = 4096  # tokens: a chat of some turns or a few pages of text
MOST_BY_DEFAULT = 32768  # tokens: reading more takes such a machine many minutes; whoever wants it asks for it
USUAL_PICTURE = 1024, 768  # pixels: what most models see of a picture at most (USUAL_PIXELS of the window)
BATCHES = (512, 128)


@dataclass(frozen=True, slots=True)
class DraftFile:
    """The requested draft model: the name to show and its sizes."""

    name: str
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The way to load a model, with sizes in bytes and contexts in tokens.

    `parts` are bytes by name and sum up to `total_bytes`; `notes` are those of the `reasons` that a user should see
    without opening the details. `rollback`, `checkpoints` and `own_layers` are those of the `MemoryLayout`.
    `draft_kv_type` is the draft model's KV cache type, None without a draft model; in all else the draft model is
    loaded as the model is.

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
    kv_type: KVType
    repack: bool
    mmap: bool
    n_batch: int
    threads: int
    reasons: tuple[Sentence, ...]
    notes: tuple[Sentence, ...] = ()
    draft_kv_type: KVType | None = None
    rollback: int = 0
    checkpoints: int = 0
    own_layers: bool = False

    @property
    def page_cache_bytes(self) -> int:
        """Bytes of available memory that are left for pages of the mapped file."""
        return max(0, self.available_bytes - self.total_bytes + self.parts.get("weights_mapped", 0))

    def as_json(self) -> dict[str, Any]:
        """Return the object that `plan --json` prints; its fields are an interface."""
        names = (
            "verdict",
            "total_bytes",
            "available_bytes",
            "parts",
            "n_ctx",
            "max_n_ctx",
            "kv_type",
            "repack",
            "checkpoints",
        )
        return {name: getattr(self, name) for name in (*names, "threads")} | {"reasons": list(map(str, self.reasons))}


def make_plan(
    name: str, sizes: Sizes, budget: MemoryBudget, options: PlanOptions, draft: DraftFile | None = None
) -> MemoryPlan:
    """Return the best plan for the model called `name` within the budget; without its draft model if both do not fit.

    Raises Failure if the model cannot store its keys and values in the requested type.
    """
    alone = _Search(name, sizes, budget, options)
    if draft is None:
        return alone.plan()
    pair = _Search(name, sizes, budget, options, draft)
    if pair.found is None:
        return with_note(alone.plan(), say_without_draft(draft.name, *pair.least_need))
    if draft.sizes.weights.file >= sizes.weights.file:
        return with_note(pair.plan(), say_large_draft(draft.name))
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A way to load the model with a context of `n_ctx` tokens, and its bytes by name."""

    layout: MemoryLayout
    n_ctx: int
    parts: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.parts.values())


class _Search:
    """A search for the first candidate within the budget, and the sentences that explain the choice."""

    def __init__(
        self, name: str, sizes: Sizes, budget: MemoryBudget, options: PlanOptions, draft: DraftFile | None = None
    ) -> None:
        self.name = name
        self.sizes = sizes
        self.draft = draft
        self.budget = budget
        self.options = options
        self.trained = sizes.n_ctx_train or COMFORTABLE

    def plan(self) -> MemoryPlan:
        if self.found:
            return self._finished_plan(self.found)
        return self._plan_from_disk() or self._refusal()

    @cached_property
    def found(self) -> _Candidate | None:
        """First candidate that fits; None if none does."""
        for layout, n_ctx in self.candidates():
            parts = self.parts(layout, n_ctx)
            if parts and sum(parts.values()) <= self.budget.usable:
                return _Candidate(layout, n_ctx, parts)
        return None

    # --- candidates ---

    @cached_property
    def layouts(self) -> tuple[MemoryLayout, ...]:
        most, *less = rollbacks(self.sizes)
        own = self.sizes.own_layers(SMALLEST_CACHE, "f16", BATCHES[-1]) is not None and can_take_back(self.sizes, most)
        ways = [(n_batch, most, own) for n_batch in BATCHES]
        ways += [(BATCHES[-1], rollback, False) for rollback in ((most, *less) if own else less)]
        kv_types: tuple[KVType, ...] = (self.options.kv_type,) if self.options.kv_type else ("f16", "q8_0")
        return tuple(
            MemoryLayout(kv_type, n_batch, repack, mmap, rollback, own_layers=own_layers)
            for kv_type in kv_types
            for n_batch, rollback, own_layers in ways
            for repack, mmap in self.sizes.weights.ways
        )

    @cached_property
    def largest_n_ctx(self) -> int:
        """Largest context to try, in tokens."""
        return min(self.options.n_ctx or MOST_BY_DEFAULT, self.trained)

    @cached_property
    def comfortable_n_ctx(self) -> int:
        return min(COMFORTABLE, self.largest_n_ctx)

    def candidates(self) -> Iterator[tuple[MemoryLayout, int]]:
        if self.options.n_ctx:
            yield from ((layout, self.largest_n_ctx) for layout in self.layouts)
            return
        comfortable_n_ctx = self.comfortable_n_ctx
        classes = [self.largest_n_ctx, *(size for size in _classes_down() if size < self.largest_n_ctx)]
        for layout in self.layouts:
            yield from ((layout, n_ctx) for n_ctx in classes if n_ctx >= comfortable_n_ctx)
        if self.draft:
            return
        for n_ctx in classes:
            if n_ctx < comfortable_n_ctx:
                yield from ((layout, n_ctx) for layout in self.layouts)

    # --- sizes ---

    def parts(self, layout: MemoryLayout, n_ctx: int) -> dict[str, int] | None:
        """Return bytes by name; None if the model cannot have this type of KV cache."""
        draft, options = self.draft.sizes if self.draft else None, self.options
        return engine_parts(self.sizes, draft, layout, n_ctx, options.rows, options.api)

    @property
    def least_need(self) -> tuple[int, int]:
        """Bytes that the smallest acceptable plan would need, and its context in tokens."""
        n_ctx = self.largest_n_ctx if self.options.n_ctx else self.comfortable_n_ctx
        return self.smallest(n_ctx, self.layouts)[0], n_ctx

    def total(self, layout: MemoryLayout, n_ctx: int) -> int | None:
        parts = self.parts(layout, n_ctx)
        return sum(parts.values()) if parts else None

    def smallest(self, n_ctx: int, layouts: tuple[MemoryLayout, ...]) -> tuple[int, MemoryLayout]:
        """Return the fewest bytes for a context of n_ctx tokens, and their layout. Raises Failure if there are none."""
        totals = ((self.total(layout, n_ctx), i) for i, layout in enumerate(layouts))
        possible = [(total, i) for total, i in totals if total is not None]
        if not possible:
            raise Failure("bad_option.kv_type", name=self.name, kv_type=layouts[0].kv_type)
        total, i = min(possible)
        return total, layouts[i]

    @cached_property
    def max_n_ctx(self) -> int:
        """Largest context that fits in the smallest way, found by a binary search; 0 if none fits."""
        _, layout = self.smallest(min(SMALLEST_CACHE, self.trained), self.layouts)

        def fits(n_ctx: int) -> bool:
            total = self.total(layout, n_ctx)
            return total is not None and total <= self.budget.usable

        if fits(self.trained):
            return self.trained
        low, high = 0, -(-self.trained // CACHE_STEP)  # `low` steps fit, `high` steps do not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle * CACHE_STEP) else (low, middle)
        return low * CACHE_STEP

    # --- the sentences of a plan ---

    def _finished_plan(self, found: _Candidate) -> MemoryPlan:
        found = self._with_checkpoints(found)
        layout, n_ctx = found.layout, found.n_ctx
        short = not self.options.n_ctx and n_ctx < self.comfortable_n_ctx
        less = say_given_up(self.layouts[0], layout, n_ctx if short else None)
        verdict: Verdict = "tight" if less else "fits"
        notes = (*self._trained_limit(), *less)
        model = Sentence.of("plan.pair", name=self.name, draft=self.draft.name) if self.draft else self.name
        needs = Sentence.of("plan.needs", model=model, size=found.bytes, n_ctx=n_ctx, room=say_usable(self.budget))
        return self._plan(verdict, found, (needs, *notes, *self._explanations(layout, n_ctx)), notes)

    def _with_checkpoints(self, found: _Candidate) -> _Candidate:
        """Return the candidate with as many checkpoints as there is room for."""
        count = affordable_checkpoints(found.parts, found.layout, self.budget.usable - found.bytes)
        if count == found.layout.checkpoints or not count:
            return found
        layout = replace(found.layout, checkpoints=count)
        parts = self.parts(layout, found.n_ctx)
        assert parts
        return _Candidate(layout, found.n_ctx, parts)

    def _trained_limit(self) -> tuple[Sentence, ...]:
        return say_trained_limit(self.trained) if self.options.n_ctx and self.options.n_ctx > self.trained else ()

    def _explanations(self, layout: MemoryLayout, n_ctx: int) -> Iterator[Sentence]:
        if layout.repack and layout.mmap:
            yield say_held_twice(self.sizes.weights.repacked)
        if layout.own_layers:
            yield Sentence.of("plan.own_layers")
        if not self.options.n_ctx and n_ctx < self.trained:
            yield say_more_context(self.trained, self.max_n_ctx if self.max_n_ctx > n_ctx else 0)
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
        n_ctx = self.largest_n_ctx if self.options.n_ctx else self.comfortable_n_ctx
        for layout in self.layouts:
            parts = self.parts(layout, n_ctx) if layout.mmap and not layout.repack else None
            if parts and sum(parts.values()) - parts["weights_mapped"] <= self.budget.usable:
                needs = Sentence.of(
                    "plan.from_disk",
                    name=self.name,
                    size=sum(parts.values()),
                    n_ctx=n_ctx,
                    room=say_usable(self.budget),
                )
                reasons = (needs, *self._trained_limit())
                plan = self._plan("disk", _Candidate(layout, n_ctx, parts), reasons, reasons)
                return replace(plan, max_n_ctx=0)
        return None

    def _refusal(self) -> MemoryPlan:
        n_ctx = self.largest_n_ctx if self.options.n_ctx else min(SMALLEST_CACHE, self.largest_n_ctx)
        total, layout = self.smallest(n_ctx, self.layouts)
        room = say_usable(self.budget)
        needs = {"name": self.name, "size": total, "n_ctx": n_ctx, "missing": total - self.budget.usable, "room": room}
        reasons = (Sentence.of("plan.too_much", **needs), *self._trained_limit(), self._would_fit(n_ctx))
        parts = self.parts(layout, n_ctx)
        assert parts
        return self._plan("no", _Candidate(layout, n_ctx, parts), reasons, reasons)

    def _would_fit(self, n_ctx: int) -> Sentence:
        quantised: KVType = "q8_0"
        if self.options.kv_type == "f16":
            others = tuple(replace(c, kv_type=quantised) for c in self.layouts)
            if self.total(others[0], n_ctx) is not None and self.smallest(n_ctx, others)[0] <= self.budget.usable:
                return Sentence.of("plan.would_fit", kv_type=quantised)
        if self.max_n_ctx:
            _, layout = self.smallest(self.max_n_ctx, self.layouts)
            return Sentence.of("plan.context_would_fit", n_ctx=self.max_n_ctx, kv_type=layout.kv_type)
        total, _ = self.smallest(min(CACHE_STEP, self.trained), self.layouts)
        return Sentence.of("plan.no_context", size=total)

    def _plan(
        self, verdict: Verdict, found: _Candidate, reasons: tuple[Sentence, ...], notes: tuple[Sentence, ...]
    ) -> MemoryPlan:
        layout = found.layout
        return MemoryPlan(
            verdict=verdict,
            total_bytes=found.bytes,
            available_bytes=self.budget.usable,
            parts=found.parts,
            n_ctx=found.n_ctx,
            max_n_ctx=self.max_n_ctx,
            kv_type=layout.kv_type,
            repack=layout.repack,
            mmap=layout.mmap,
            n_batch=layout.n_batch,
            threads=self.options.threads,
            reasons=reasons,
            notes=notes,
            rollback=layout.rollback,
            checkpoints=layout.checkpoints if found.parts.get("checkpoints") else 0,
            own_layers=layout.own_layers,
            draft_kv_type=draft_kv_type(self.draft.sizes, layout.kv_type) if self.draft else None,
        )


def _classes_down() -> Iterator[int]:
    """Yield the KV cache's size classes, largest first."""
    size = MOST_BY_DEFAULT
    while size >= SMALLEST_CACHE:
        yield size
        size //= 2


# --- sentences that explain a plan to the user ---


def say_usable(budget: MemoryBudget) -> Sentence:
    """Return how much memory the model may use, as a part of a sentence."""
    if budget.limit is not None:
        return Sentence.of("plan.budget", usable=budget.usable, limit=budget.limit)
    return Sentence.of("plan.available", usable=budget.usable, reserve=budget.reserve)


def say_given_up(first: MemoryLayout, layout: MemoryLayout, short_n_ctx: int | None) -> tuple[Sentence, ...]:
    """Return what `layout` gives up against `first` for lack of memory; empty if the two are the same."""
    reasons = []
    if layout.mmap != first.mmap:
        reasons.append(Sentence.of("plan.read_once"))
    if layout.repack != first.repack:
        reasons.append(Sentence.of("plan.not_repacked"))
    if layout.n_batch != first.n_batch:
        reasons.append(Sentence.of("plan.small_batch", tokens=layout.n_batch))
    if layout.own_layers != first.own_layers:
        reasons.append(Sentence.of("plan.no_own_layers"))
    if layout.rollback != first.rollback:
        reasons.append(Sentence.of("plan.no_rollback"))
    if layout.kv_type != first.kv_type:
        reasons.append(Sentence.of("plan.q8_0"))
    if short_n_ctx:
        reasons.append(Sentence.of("plan.short_context", n_ctx=short_n_ctx))
    return tuple(reasons)


def say_trained_limit(trained: int) -> tuple[Sentence, ...]:
    """Say why the context is smaller than requested: the model was trained for `trained` tokens."""
    return (Sentence.of("plan.trained", n_ctx=trained),)


def say_held_twice(repacked: int) -> Sentence:
    """Say that `repacked` bytes of weights exist twice: repacked, and in the mapped file."""
    return Sentence.of("plan.held_twice", size=repacked)


def say_more_context(trained: int, fitting: int) -> Sentence:
    """Say that the model was trained for `trained` tokens of context, and how many would fit.

    `fitting` is the largest context that would fit, 0 if the planned one is the largest.
    """
    if fitting:
        return Sentence.of("plan.more_context", trained=trained, fitting=fitting)
    return Sentence.of("plan.no_more_context", trained=trained)


def say_without_draft(name: str, together: int, n_ctx: int) -> Sentence:
    """Say that the draft model was left out.

    Together with the model and `n_ctx` tokens it would need `together` bytes.
    """
    return Sentence.of("plan.without_draft", name=name, size=together, n_ctx=n_ctx)


def say_large_draft(name: str) -> Sentence:
    """Say that the draft model called `name` is no smaller than the model that it drafts for."""
    return Sentence.of("plan.large_draft", name=name)
