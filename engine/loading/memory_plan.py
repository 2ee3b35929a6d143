"""The memory plan: how to load a model so that it fits. Decides from sizes alone; loads and measures nothing.

The plan's total is what the engine's process will hold at most (its peak resident memory), with the KV cache grown to
n_ctx. The cache starts small and grows, so much of the total is only taken when a chat becomes long. Growing takes no
more: the old cache is freed before the new one is made, and its content waits in a file (`engine.runtime.capi.move`).

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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from engine.loading import memory_reasons as reasons
from engine.loading.memory_budget import Budget
from engine.loading.memory_parts import Choice, all_parts, draft_kv_type
from engine.runtime.ladder import SMALLEST, STEP
from engine.runtime.sizes import KVType, Sizes
from models.byte_sizes import show_bytes
from models.failures import Failure

Verdict = Literal["fits", "tight", "no"]

COMFORTABLE = 4096  # tokens: a chat of some turns or a few pages of text
MOST_BY_DEFAULT = 32768  # tokens: reading more takes such a machine many minutes; whoever wants it asks for it
BATCHES = (512, 128)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for; None leaves the choice to the plan.

    `rows`: most logits rows of one pass, as calibrating and verifying drafts ask for them."""

    threads: int
    n_ctx: int | None = None
    kv_type: KVType | None = None
    rows: int = 48

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"threads must be 1 or more, not {self.threads}")
        if self.n_ctx is not None and self.n_ctx < 64:
            raise ValueError(f"a context has 64 tokens or more, not {self.n_ctx}")
        assert self.rows > 0, self


@dataclass(frozen=True, slots=True)
class DraftFile:
    """The draft model that is asked for."""

    name: str
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Plan:
    """How to load a model. `parts` are bytes by name and sum up to `total_bytes`; `notes` are those of the `reasons`
    that a user should see without asking. When the verdict is "no", the rest is the smallest way to load it, and
    `max_n_ctx` the largest context that would fit, 0 if none does. `draft_kv_type`: of the draft model, which is loaded
    in the same way otherwise; None: without one."""

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
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())
    draft_kv_type: KVType | None = None

    def as_json(self) -> dict[str, Any]:
        names = ("verdict", "total_bytes", "available_bytes", "parts", "n_ctx", "max_n_ctx", "kv_type", "repack")
        return {name: getattr(self, name) for name in (*names, "threads")} | {"reasons": list(self.reasons)}


def make_plan(name: str, sizes: Sizes, budget: Budget, wish: Wish, draft: DraftFile | None = None) -> Plan:
    """The best plan for the model called `name` within the budget; without its draft model if that is too much."""
    alone = _Search(name, sizes, budget, wish)
    if draft is None:
        return alone.plan()
    pair = _Search(name, sizes, budget, wish, draft)
    if pair.found is None:
        return with_note(alone.plan(), reasons.without_draft(draft.name, *pair.least))
    if draft.sizes.weights.file >= sizes.weights.file:
        return with_note(pair.plan(), reasons.large_draft(draft.name))
    return pair.plan()


def with_note(plan: Plan, note: str) -> Plan:
    """Where nothing fits, what the draft model adds to it is no news."""
    return plan if plan.verdict == "no" else replace(plan, reasons=(*plan.reasons, note), notes=(*plan.notes, note))


class _Search:
    def __init__(self, name: str, sizes: Sizes, budget: Budget, wish: Wish, draft: DraftFile | None = None) -> None:
        self.name = name
        self.sizes = sizes
        self.draft = draft
        self.budget = budget
        self.wish = wish
        self.trained = sizes.n_ctx_train or COMFORTABLE

    def plan(self) -> Plan:
        return self._finish(*self.found) if self.found else self._refuse()

    @cached_property
    def found(self) -> tuple[Choice, int, dict[str, int]] | None:
        """The first candidate that fits."""
        for choice, n_ctx in self.candidates():
            parts = self.parts(choice, n_ctx)
            if parts and sum(parts.values()) <= self.budget.usable:
                return choice, n_ctx, parts
        return None

    # --- what is tried ---

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        kv_types: tuple[KVType, ...] = (self.wish.kv_type,) if self.wish.kv_type else ("f16", "q8_0")
        return tuple(
            Choice(kv_type, n_batch, repack, mmap)
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

    def candidates(self) -> Iterator[tuple[Choice, int]]:
        if self.wish.n_ctx:
            yield from ((choice, self.most) for choice in self.choices)
            return
        comfortable = self.comfortable
        classes = [self.most, *(size for size in _classes_down() if size < self.most)]
        for choice in self.choices:
            yield from ((choice, n_ctx) for n_ctx in classes if n_ctx >= comfortable)
        if self.draft:
            return
        for n_ctx in classes:
            if n_ctx < comfortable:
                yield from ((choice, n_ctx) for choice in self.choices)

    # --- what it takes ---

    def parts(self, choice: Choice, n_ctx: int) -> dict[str, int] | None:
        """Bytes by name; None when the model cannot have this type of KV cache."""
        return all_parts(self.sizes, self.draft.sizes if self.draft else None, choice, n_ctx, self.wish.rows)

    @property
    def least(self) -> tuple[int, int]:
        """Bytes that the smallest plan would need that is any good, and its context."""
        n_ctx = self.most if self.wish.n_ctx else self.comfortable
        return self.smallest(n_ctx, self.choices)[0], n_ctx

    def total(self, choice: Choice, n_ctx: int) -> int | None:
        parts = self.parts(choice, n_ctx)
        return sum(parts.values()) if parts else None

    def smallest(self, n_ctx: int, choices: tuple[Choice, ...]) -> tuple[int, Choice]:
        """Fewest bytes for a context of n_ctx tokens, and how. Raises Failure when none of them is possible."""
        totals = ((self.total(choice, n_ctx), i) for i, choice in enumerate(choices))
        possible = [(total, i) for total, i in totals if total is not None]
        if not possible:
            raise Failure("bad_option", f"{self.name} cannot store its keys and values as {choices[0].kv_type}.")
        total, i = min(possible)
        return total, choices[i]

    @cached_property
    def max_n_ctx(self) -> int:
        """The largest context that fits in the smallest way, 0 if none does: a search by halves."""
        _, choice = self.smallest(min(SMALLEST, self.trained), self.choices)

        def fits(n_ctx: int) -> bool:
            total = self.total(choice, n_ctx)
            return total is not None and total <= self.budget.usable

        if fits(self.trained):
            return self.trained
        low, high = 0, -(-self.trained // STEP)  # `low` steps fit, `high` steps do not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle * STEP) else (low, middle)
        return low * STEP

    # --- what is said ---

    def _finish(self, choice: Choice, n_ctx: int, parts: dict[str, int]) -> Plan:
        short = not self.wish.n_ctx and n_ctx < self.comfortable
        given_up = reasons.given_up(self.choices[0], choice, n_ctx if short else None)
        verdict: Verdict = "tight" if given_up else "fits"
        notes = (*self._cut(), *given_up)
        total = show_bytes(sum(parts.values()))
        what = f"{self.name} with {self.draft.name} needs" if self.draft else f"{self.name} needs"
        room = f"{what} up to {total} with a context of {n_ctx:,} tokens; {reasons.usable(self.budget)}."
        return self._plan(verdict, choice, n_ctx, parts, (room, *notes, *self._explained(choice, n_ctx)), notes)

    def _cut(self) -> tuple[str, ...]:
        return reasons.cut(self.trained) if self.wish.n_ctx and self.wish.n_ctx > self.trained else ()

    def _explained(self, choice: Choice, n_ctx: int) -> Iterator[str]:
        if choice.repack and choice.mmap:
            yield reasons.held_twice(self.sizes.weights.repacked)
        if not self.wish.n_ctx and n_ctx < self.trained:
            yield reasons.more_context(self.trained, self.max_n_ctx if self.max_n_ctx > n_ctx else 0)
        yield reasons.GROWS

    def _refuse(self) -> Plan:
        n_ctx = self.most if self.wish.n_ctx else min(SMALLEST, self.most)
        total, choice = self.smallest(n_ctx, self.choices)
        missing = show_bytes(total - self.budget.usable)
        sentence = f"{self.name} needs {show_bytes(total)} with a context of {n_ctx:,} tokens, {missing} too much: "
        said = (f"{sentence}{reasons.usable(self.budget)}.", *self._cut(), self._would_fit(n_ctx))
        parts = self.parts(choice, n_ctx)
        assert parts
        return self._plan("no", choice, n_ctx, parts, said, said)

    def _would_fit(self, n_ctx: int) -> str:
        quantised: KVType = "q8_0"
        if self.wish.kv_type == "f16":
            others = tuple(Choice(quantised, c.n_batch, c.repack, c.mmap) for c in self.choices)
            if self.total(others[0], n_ctx) is not None and self.smallest(n_ctx, others)[0] <= self.budget.usable:
                return f"It would fit with keys and values stored as {quantised}."
        if self.max_n_ctx:
            _, choice = self.smallest(self.max_n_ctx, self.choices)
            return f"A context of up to {self.max_n_ctx:,} tokens would fit (KV cache {choice.kv_type})."
        total, _ = self.smallest(min(STEP, self.trained), self.choices)
        return f"No context would fit: even the smallest needs {show_bytes(total)}. Choose a smaller model."

    def _plan(
        self,
        verdict: Verdict,
        choice: Choice,
        n_ctx: int,
        parts: dict[str, int],
        said: tuple[str, ...],
        notes: tuple[str, ...],
    ) -> Plan:
        return Plan(
            verdict=verdict,
            total_bytes=sum(parts.values()),
            available_bytes=self.budget.usable,
            parts=parts,
            n_ctx=n_ctx,
            max_n_ctx=self.max_n_ctx,
            kv_type=choice.kv_type,
            repack=choice.repack,
            mmap=choice.mmap,
            n_batch=choice.n_batch,
            threads=self.wish.threads,
            reasons=said,
            notes=notes,
            draft_kv_type=draft_kv_type(self.draft.sizes, choice.kv_type) if self.draft else None,
        )


def _classes_down() -> Iterator[int]:
    """The KV cache's size classes, largest first."""
    size = MOST_BY_DEFAULT
    while size >= SMALLEST:
        yield size
        size //= 2
