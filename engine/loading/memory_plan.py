"""The memory plan: how to load a model so that it fits. Decides from sizes alone; loads and measures nothing.

The plan's total is what the engine's process will hold at most (its peak resident memory), with the KV cache grown to
n_ctx. The cache starts small and grows, so much of the total is only taken when a chat becomes long. Growing takes no
more: the old cache is freed before the new one is made, and its content waits in a file (`engine.runtime.capi.state`).

Candidates are tried in order of preference and the first that fits is taken, so that more memory never gives a plan
further down the list. In order of what is given up:
1. nothing: f16, repacked weights beside the mapped file (a library that repacks in place has no other way);
2. the mapped file: weights are read instead, so that those that are repacked exist once. As fast (30 ms a token of a
   1.5B model either way) and 0.6 GB smaller, but loaded slower, and the system cannot take the memory back under need;
3. repacking, where that is smaller still: 1.2 times slower;
4. large batches: a long prompt is read a little slower;
5. f16 keys and values: q8_0 halves the cache; answers may differ in rare words. q4_0 only if asked for: it hurts keys;
6. context, if its size was not asked for: first down to COMFORTABLE;
7. the draft model, if one is asked for;
8. context below COMFORTABLE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from common.failures import Failure
from common.sentences import Sentence
from engine.loading.options import Wish
from engine.loading.sizes import Budget, Layout, all_parts, draft_kv_type
from engine.protocol import KVType
from engine.runtime.contexts import SMALLEST, STEP, Sizes

Verdict = Literal["fits", "tight", "no"]

COMFORTABLE = 4096  # tokens: a chat of some turns or a few pages of text
MOST_BY_DEFAULT = 32768  # tokens: reading more takes such a machine many minutes; whoever wants it asks for it
BATCHES = (512, 128)


@dataclass(frozen=True, slots=True)
class DraftFile:
    """The draft model that is asked for."""

    name: str
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How to load a model, with contexts in tokens. `parts` are bytes by name and sum up to `total_bytes`; `notes` are
    those of the `reasons` that a user should see without asking.

    When the verdict is "no", the rest is the smallest way to load it, and `max_n_ctx` the largest context that would
    fit, 0 if none does. `draft_kv_type`: of the draft model, which is loaded in the same way otherwise; None: without
    one."""

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

    def as_json(self) -> dict[str, Any]:
        """What `plan --json` prints; its fields are an interface."""
        names = ("verdict", "total_bytes", "available_bytes", "parts", "n_ctx", "max_n_ctx", "kv_type", "repack")
        return {name: getattr(self, name) for name in (*names, "threads")} | {"reasons": list(map(str, self.reasons))}


def make_plan(name: str, sizes: Sizes, budget: Budget, wish: Wish, draft: DraftFile | None = None) -> MemoryPlan:
    """The best plan for the model called `name` within the budget; without its draft model if that is too much.

    Raises Failure where it cannot store its keys and values in the type that is asked for."""
    alone = _Search(name, sizes, budget, wish)
    if draft is None:
        return alone.plan()
    pair = _Search(name, sizes, budget, wish, draft)
    if pair.found is None:
        return with_note(alone.plan(), without_draft(draft.name, *pair.least))
    if draft.sizes.weights.file >= sizes.weights.file:
        return with_note(pair.plan(), large_draft(draft.name))
    return pair.plan()


def with_note(plan: MemoryPlan, note: Sentence) -> MemoryPlan:
    """Where nothing fits, what the draft model adds to it is no news."""
    return plan if plan.verdict == "no" else replace(plan, reasons=(*plan.reasons, note), notes=(*plan.notes, note))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A way to load the model with a context of `n_ctx` tokens, and its bytes by name."""

    layout: Layout
    n_ctx: int
    parts: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.parts.values())


class _Search:
    """For the first candidate within the budget, and for the words that say why it is that one."""

    def __init__(self, name: str, sizes: Sizes, budget: Budget, wish: Wish, draft: DraftFile | None = None) -> None:
        self.name = name
        self.sizes = sizes
        self.draft = draft
        self.budget = budget
        self.wish = wish
        self.trained = sizes.n_ctx_train or COMFORTABLE

    def plan(self) -> MemoryPlan:
        return self._finish(self.found) if self.found else self._refuse()

    @cached_property
    def found(self) -> _Candidate | None:
        """The first candidate that fits."""
        for layout, n_ctx in self.candidates():
            parts = self.parts(layout, n_ctx)
            if parts and sum(parts.values()) <= self.budget.usable:
                return _Candidate(layout, n_ctx, parts)
        return None

    # --- what is tried ---

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        kv_types: tuple[KVType, ...] = (self.wish.kv_type,) if self.wish.kv_type else ("f16", "q8_0")
        return tuple(
            Layout(kv_type, n_batch, repack, mmap)
            for kv_type in kv_types
            for n_batch in BATCHES
            for repack, mmap in self.sizes.weights.ways
        )

    @cached_property
    def most(self) -> int:
        """The largest context that is tried."""
        return min(self.wish.n_ctx or MOST_BY_DEFAULT, self.trained)

    @cached_property
    def comfortable(self) -> int:
        return min(COMFORTABLE, self.most)

    def candidates(self) -> Iterator[tuple[Layout, int]]:
        if self.wish.n_ctx:
            yield from ((layout, self.most) for layout in self.layouts)
            return
        comfortable = self.comfortable
        classes = [self.most, *(size for size in _classes_down() if size < self.most)]
        for layout in self.layouts:
            yield from ((layout, n_ctx) for n_ctx in classes if n_ctx >= comfortable)
        if self.draft:
            return
        for n_ctx in classes:
            if n_ctx < comfortable:
                yield from ((layout, n_ctx) for layout in self.layouts)

    # --- what it takes ---

    def parts(self, layout: Layout, n_ctx: int) -> dict[str, int] | None:
        """Bytes by name; None when the model cannot have this type of KV cache."""
        return all_parts(self.sizes, self.draft.sizes if self.draft else None, layout, n_ctx, self.wish.rows)

    @property
    def least(self) -> tuple[int, int]:
        """Bytes that the smallest plan would need that is any good, and its context."""
        n_ctx = self.most if self.wish.n_ctx else self.comfortable
        return self.smallest(n_ctx, self.layouts)[0], n_ctx

    def total(self, layout: Layout, n_ctx: int) -> int | None:
        parts = self.parts(layout, n_ctx)
        return sum(parts.values()) if parts else None

    def smallest(self, n_ctx: int, layouts: tuple[Layout, ...]) -> tuple[int, Layout]:
        """Fewest bytes for a context of n_ctx tokens, and how. Raises Failure when none of them is possible."""
        totals = ((self.total(layout, n_ctx), i) for i, layout in enumerate(layouts))
        possible = [(total, i) for total, i in totals if total is not None]
        if not possible:
            raise Failure("bad_option.kv_type", name=self.name, kv_type=layouts[0].kv_type)
        total, i = min(possible)
        return total, layouts[i]

    @cached_property
    def max_n_ctx(self) -> int:
        """The largest context that fits in the smallest way, 0 if none does: a search by halves."""
        _, layout = self.smallest(min(SMALLEST, self.trained), self.layouts)

        def fits(n_ctx: int) -> bool:
            total = self.total(layout, n_ctx)
            return total is not None and total <= self.budget.usable

        if fits(self.trained):
            return self.trained
        low, high = 0, -(-self.trained // STEP)  # `low` steps fit, `high` steps do not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle * STEP) else (low, middle)
        return low * STEP

    # --- what is said ---

    def _finish(self, found: _Candidate) -> MemoryPlan:
        layout, n_ctx = found.layout, found.n_ctx
        short = not self.wish.n_ctx and n_ctx < self.comfortable
        less = given_up(self.layouts[0], layout, n_ctx if short else None)
        verdict: Verdict = "tight" if less else "fits"
        notes = (*self._cut(), *less)
        model = Sentence.of("plan.pair", name=self.name, draft=self.draft.name) if self.draft else self.name
        needs = Sentence.of("plan.needs", model=model, size=found.bytes, n_ctx=n_ctx, room=usable(self.budget))
        return self._plan(verdict, found, (needs, *notes, *self._explained(layout, n_ctx)), notes)

    def _cut(self) -> tuple[Sentence, ...]:
        return cut(self.trained) if self.wish.n_ctx and self.wish.n_ctx > self.trained else ()

    def _explained(self, layout: Layout, n_ctx: int) -> Iterator[Sentence]:
        if layout.repack and layout.mmap:
            yield held_twice(self.sizes.weights.repacked)
        if not self.wish.n_ctx and n_ctx < self.trained:
            yield more_context(self.trained, self.max_n_ctx if self.max_n_ctx > n_ctx else 0)
        yield Sentence.of("plan.grows")

    def _refuse(self) -> MemoryPlan:
        n_ctx = self.most if self.wish.n_ctx else min(SMALLEST, self.most)
        total, layout = self.smallest(n_ctx, self.layouts)
        room = usable(self.budget)
        needs = {"name": self.name, "size": total, "n_ctx": n_ctx, "missing": total - self.budget.usable, "room": room}
        said = (Sentence.of("plan.too_much", **needs), *self._cut(), self._would_fit(n_ctx))
        parts = self.parts(layout, n_ctx)
        assert parts
        return self._plan("no", _Candidate(layout, n_ctx, parts), said, said)

    def _would_fit(self, n_ctx: int) -> Sentence:
        quantised: KVType = "q8_0"
        if self.wish.kv_type == "f16":
            others = tuple(Layout(quantised, c.n_batch, c.repack, c.mmap) for c in self.layouts)
            if self.total(others[0], n_ctx) is not None and self.smallest(n_ctx, others)[0] <= self.budget.usable:
                return Sentence.of("plan.would_fit", kv_type=quantised)
        if self.max_n_ctx:
            _, layout = self.smallest(self.max_n_ctx, self.layouts)
            return Sentence.of("plan.context_would_fit", n_ctx=self.max_n_ctx, kv_type=layout.kv_type)
        total, _ = self.smallest(min(STEP, self.trained), self.layouts)
        return Sentence.of("plan.no_context", size=total)

    def _plan(
        self, verdict: Verdict, found: _Candidate, said: tuple[Sentence, ...], notes: tuple[Sentence, ...]
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
            threads=self.wish.threads,
            reasons=said,
            notes=notes,
            draft_kv_type=draft_kv_type(self.draft.sizes, layout.kv_type) if self.draft else None,
        )


def _classes_down() -> Iterator[int]:
    """The KV cache's size classes, largest first."""
    size = MOST_BY_DEFAULT
    while size >= SMALLEST:
        yield size
        size //= 2


# --- why it is as it is, for the user ---


def usable(budget: Budget) -> Sentence:
    """How much memory there is for the model: a part of a sentence."""
    if budget.limit is not None:
        return Sentence.of("plan.budget", usable=budget.usable, limit=budget.limit)
    return Sentence.of("plan.available", usable=budget.usable, reserve=budget.reserve)


def given_up(first: Layout, layout: Layout, short_n_ctx: int | None) -> tuple[Sentence, ...]:
    """What `layout` does without that `first` has, because memory is short; empty when they are the same."""
    said = []
    if layout.mmap != first.mmap:
        said.append(Sentence.of("plan.read_once"))
    if layout.repack != first.repack:
        said.append(Sentence.of("plan.not_repacked"))
    if layout.n_batch != first.n_batch:
        said.append(Sentence.of("plan.small_batch", tokens=layout.n_batch))
    if layout.kv_type != first.kv_type:
        said.append(Sentence.of("plan.q8_0"))
    if short_n_ctx:
        said.append(Sentence.of("plan.short_context", n_ctx=short_n_ctx))
    return tuple(said)


def cut(trained: int) -> tuple[Sentence, ...]:
    """Why the context is smaller than was asked for: the model was trained for `trained` tokens."""
    return (Sentence.of("plan.trained", n_ctx=trained),)


def held_twice(repacked: int) -> Sentence:
    """`repacked`: bytes of the weights that are repacked beside the mapped file."""
    return Sentence.of("plan.held_twice", size=repacked)


def more_context(trained: int, fitting: int) -> Sentence:
    """`fitting` is the largest context that would fit, 0 if it is the planned one."""
    if fitting:
        return Sentence.of("plan.more_context", trained=trained, fitting=fitting)
    return Sentence.of("plan.no_more_context", trained=trained)


def without_draft(name: str, together: int, n_ctx: int) -> Sentence:
    """`together`: bytes of the model and the draft model with a context of `n_ctx` tokens."""
    return Sentence.of("plan.without_draft", name=name, size=together, n_ctx=n_ctx)


def large_draft(name: str) -> Sentence:
    """`name`: the draft model's."""
    return Sentence.of("plan.large_draft", name=name)
