"""What the window asks and says of memory plans: whether a model fits, what takes how much, what other choices would
come to, in memory and speed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Literal

import msgspec
from PySide6.QtCore import QObject, Signal

from app.services.planner import Planner
from app.settings.schema import choice_words
from app.words import mark, tr, worded
from common.byte_sizes import show_bytes
from common.planning import Ask, Verdict

Tone = Literal["", "fits", "tight", "no"]
PARTS = {
    "weights": mark("weights"),
    "kv": mark("KV cache"),
    "draft": mark("draft model"),
    "rest": mark("other"),
}
WEIGHTS = ("weights_mapped", "weights_read", "weights_repacked")
KV = ("kv", "kv_compressed")
# The settings whose every choice is planned, in the order in which they are asked. A store of another process takes
# a second, so it comes last.
CHOICES = {"kv_type": ("f16", "q8_0", "q4_0"), "flash_attention": ("on", "off"), "backend": ("llama", "ik")}


def verdict_words(verdict: Verdict | None) -> str:
    """One line: does it fit this computer's memory, and with how much context?"""
    if verdict is None:
        return tr("Checking whether it fits…")
    if verdict.verdict == "unknown":
        return worded(verdict.problem) or tr("Could not determine whether it fits")
    size = show_bytes(verdict.total_bytes)
    if not verdict.exact:
        size = tr("about {size}", size=size)
    if verdict.verdict == "no":
        if verdict.max_n_ctx:
            return tr(
                "Does not fit: needs {size}; a context of {n} tokens would fit", size=size, n=f"{verdict.max_n_ctx:,}"
            )
        return tr("Does not fit: needs {size} of memory", size=size)
    words = mark("Fits: {size} of memory with {n} tokens")
    if verdict.verdict == "tight":
        words = mark("Tight: {size} of memory with {n} tokens")
    return tr(words, size=size, n=f"{verdict.n_ctx:,}")


def tone_of(verdict: Verdict | None) -> Tone:
    return verdict.verdict if verdict and verdict.verdict != "unknown" else ""


def parts_words(verdict: Verdict) -> str:
    """'weights 1.12 GB · KV cache 940 MB · other 96 MB · 18.36 GB available', and what to know of it."""
    if not verdict.total_bytes:
        return ""
    parts = dict(verdict.parts)
    sizes = {
        "weights": sum(parts.pop(name, 0) for name in WEIGHTS),
        "kv": sum(parts.pop(name, 0) for name in KV),
        "draft": sum(parts.pop(name) for name in list(parts) if name.startswith("draft_")),
        "rest": sum(parts.values()),
    }
    said = [f"{tr(PARTS[name])} {show_bytes(size)}" for name, size in sizes.items() if size]
    said.append(tr("{size} available", size=show_bytes(verdict.available_bytes)))
    return "\n".join((" · ".join(said), *(worded(note) for note in verdict.notes)))


def speed_words(verdict: Verdict) -> str:
    """Empty where this way to load was not timed yet."""
    return tr("{n} tok/s, measured on this computer", n=f"{verdict.speed:,.1f}") if verdict.speed else ""


def context_words(verdict: Verdict) -> str:
    """What context costs; empty where there is none."""
    kv = sum(verdict.parts.get(name, 0) for name in (*KV, "draft_kv"))
    return (
        tr("Memory: {size} for each 1,000 tokens", size=show_bytes(kv * 1000 // verdict.n_ctx)) if verdict.n_ctx else ""
    )


def choices_words(found: Mapping[str, Verdict]) -> str:
    """What the choices of one setting come to, by their words; those that cannot be are left out."""
    said = []
    for words, verdict in found.items():
        if verdict.total_bytes:
            speed = speed_words(verdict)
            said.append(f"{words} {show_bytes(verdict.total_bytes)}" + (f" ({speed})" if speed else ""))
    return tr("Memory: {choices}", choices=" · ".join(said)) if len(said) > 1 else ""


class PlanEffects(QObject):
    """What a model comes to as it would be loaded, and what other choices of single settings would.

    The planner is asked; of what changes meanwhile only the last counts. `changed`: there is more to tell. `verdict` is
    None while it is being worked out."""

    changed = Signal()

    def __init__(self, planner: Planner, parent: QObject) -> None:
        super().__init__(parent)
        self.verdict: Verdict | None = None
        self._planner = planner
        self._base: Ask | None = None
        self._found: dict[tuple[str, str], Verdict] = {}
        self._answered = False  # is the verdict that of the base?
        planner.answered.connect(self._judged)

    def ask(self, base: Ask) -> None:
        """Work it out for the model of `base`, loaded like that. What is known of it stays until then."""
        if base == self._base:
            return
        self._withdraw()
        if self._base is None or base.path != self._base.path:
            self.verdict, self._found = None, {}
        self._base, self._answered = base, False
        self._planner.ask(self._key(), base)
        self.changed.emit()

    def forget(self) -> None:
        """Nobody looks any more."""
        self._base, self.verdict, self._found = None, None, {}
        self._withdraw()

    def _withdraw(self) -> None:
        keys = [self._key(), *(self._key(name, value) for name, values in CHOICES.items() for value in values)]
        self._planner.withdraw(keys)

    @property
    def words(self) -> dict[str, str]:
        """By the keys of settings."""
        said = {name: choices_words(self._choices(name)) for name in CHOICES}
        if self.verdict is not None:
            said |= {"context": context_words(self.verdict), "threads": speed_words(self.verdict)}
        return said

    def _choices(self, name: str) -> dict[str, Verdict]:
        found = {value: self._found.get((name, value)) for value in CHOICES[name]}
        return {choice_words(name, value): verdict for value, verdict in found.items() if verdict is not None}

    def _key(self, name: str = "", value: str = "") -> Hashable:
        return ("effects", id(self), name, value)

    def _judged(self, key: Hashable, verdict: Verdict) -> None:
        if self._base is None or not (isinstance(key, tuple) and key[:2] == ("effects", id(self))):
            return
        _, _, name, value = key
        if name and self._answered:  # else it is of what was asked before
            self._found[name, value] = verdict
        elif not name:
            self.verdict, self._answered = verdict, True
            self._ask_choices(self._base, verdict)
        self.changed.emit()

    def _ask_choices(self, base: Ask, verdict: Verdict) -> None:
        """With the same context, so that they can be compared."""
        if not verdict.n_ctx:
            return
        base = msgspec.structs.replace(base, n_ctx=verdict.n_ctx)
        for name, values in CHOICES.items():
            for value in values:
                self._planner.ask(self._key(name, value), msgspec.structs.replace(base, **{name: value}))
