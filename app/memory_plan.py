"""What the window says of a memory plan: whether a model fits, what takes how much, what other choices would come to.

Knows no Qt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from app.words import mark, tr, worded
from common.byte_sizes import show_bytes
from common.planning import Verdict

Tone = Literal["", "fits", "tight", "no"]
PARTS = {
    "weights": mark("weights"),
    "kv": mark("KV cache"),
    "draft": mark("draft model"),
    "rest": mark("other"),
}
WEIGHTS = ("weights_mapped", "weights_read", "weights_repacked")
KV = ("kv", "kv_compressed")


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
