"""Memory plans as the window asks for them and words them.

They say whether a model fits, which part takes how much memory, and what other choices would cost in memory and speed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Literal, get_args

import msgspec
from PySide6.QtCore import QObject, Signal

from app.services.planner import Planner
from app.settings.schema import choice_words
from app.words import mark, tr, worded
from common.byte_sizes import show_bytes
from common.planning import API, KEPT_CHATS, KV, OWN_DRAFTER, WEIGHTS, Ask, KVType, Verdict
from common.units import duration, speed
from models.recommend import PASTE_WORDS, WORDS_PER_TOKEN

Tone = Literal["", "fits", "tight", "no"]
PARTS = {
    "weights": mark("weights"),
    "kv": mark("KV cache"),
    "kept": mark("other chats"),
    "own": mark("its own drafter"),
    "draft": mark("draft model"),
    "api": mark("local API"),
    "rest": mark("other"),
}
# The settings for which every choice is planned, in this order. `backend` comes last: a plan of the other library
# takes a second, because that library runs in a process of its own.
CHOICES = {"kv_type": get_args(KVType), "flash_attention": ("on", "off"), "backend": ("llama", "ik")}


def verdict_words(verdict: Verdict | None) -> str:
    """Return one line that says whether the model fits this computer's memory, and with how much context."""
    if verdict is None:
        return tr("Checking whether it fits…")
    if verdict.verdict == "unknown":
        return worded(verdict.problem) or tr("Could not determine whether it fits")
    size = show_bytes(verdict.needed_bytes)
    if not verdict.exact:
        size = tr("about {size}", size=size)
    if verdict.verdict == "disk":
        return tr(
            "Very slow: needs {size}, more than the memory, so it is read from the disk again and again", size=size
        )
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
    if verdict is None or verdict.verdict == "unknown":
        return ""
    return "tight" if verdict.verdict == "disk" else verdict.verdict


def parts_words(verdict: Verdict) -> str:
    """Return 'weights 1.12 GB · KV cache 940 MB · other 96 MB · 18.36 GB available', then one line for each note."""
    if not verdict.total_bytes:
        return ""
    parts = dict(verdict.parts)
    sizes = {
        "weights": sum(parts.pop(name, 0) for name in WEIGHTS),
        "kv": sum(parts.pop(name, 0) for name in KV),
        "kept": parts.pop(KEPT_CHATS, 0),
        "own": sum(parts.pop(name, 0) for name in OWN_DRAFTER),
        "draft": sum(parts.pop(name) for name in list(parts) if name.startswith("draft_")),
        "api": sum(parts.pop(name, 0) for name in API),
        "rest": sum(parts.values()),
    }
    texts = [f"{tr(PARTS[name])} {show_bytes(size)}" for name, size in sizes.items() if size]
    texts.append(tr("{size} available", size=show_bytes(verdict.available_bytes)))
    from_disk = [writing_speed(verdict)] if verdict.verdict == "disk" else []
    return "\n".join((" · ".join([*texts, *from_disk]), *(worded(note) for note in verdict.notes)))


def speed_words(verdict: Verdict) -> str:
    """Return the measured decode speed; "" if the model was not timed when loaded like this."""
    return tr("{speed}, measured on this computer", speed=worded(speed(verdict.speed))) if verdict.speed else ""


def writing_speed(verdict: Verdict | None) -> str:
    """Return how fast the model writes: as measured on this computer, else as predicted; "" if nothing is known."""
    if verdict is None or not (verdict.speed or verdict.predicted_speed):
        return ""
    words = worded(speed(verdict.speed or verdict.predicted_speed))
    return tr("{speed}, measured here", speed=words) if verdict.speed else tr("about {speed}", speed=words)


def delay_words(verdict: Verdict) -> str:
    """Return the delay to the first word after a long paste; "" if nothing is known."""
    if not verdict.predicted_prompt_speed:
        return ""
    delay = worded(duration(PASTE_WORDS / WORDS_PER_TOKEN / verdict.predicted_prompt_speed))
    return tr("Reads {n:,} words in {delay}", delay=delay, n=PASTE_WORDS)


def room_words(verdict: Verdict) -> str:
    """Return how much of the free memory the model takes: 'Takes 5.10 GB of 6.30 GB free memory'."""
    size, free = show_bytes(verdict.needed_bytes), show_bytes(verdict.available_bytes)
    return tr("Takes {size} of {free} free memory", size=size, free=free)


def context_words(verdict: Verdict) -> str:
    """Return how much memory 1,000 tokens of context take; "" if the verdict has no context."""
    kv = sum(verdict.parts.get(name, 0) for name in (*KV, "draft_kv"))
    return (
        tr("Memory: {size} for each 1,000 tokens", size=show_bytes(kv * 1000 // verdict.n_ctx)) if verdict.n_ctx else ""
    )


def choices_words(verdicts: Mapping[str, Verdict]) -> str:
    """Return the memory and speed of each choice of one setting; "" if fewer than two of the choices are possible.

    `verdicts` has the verdicts by the words shown for the choices. A verdict without a size, of a choice that is not
    possible, is left out.
    """
    texts = []
    for words, verdict in verdicts.items():
        if verdict.total_bytes:
            measured = speed_words(verdict)
            texts.append(f"{words} {show_bytes(verdict.needed_bytes)}" + (f" ({measured})" if measured else ""))
    return tr("Memory: {choices}", choices=" · ".join(texts)) if len(texts) > 1 else ""


class PlanEffects(QObject):
    """The memory plan of a model as it would be loaded, and the plans for other choices of single settings.

    The planner works them out; if the question changes meanwhile, only the latest one counts. `changed` is emitted when
    there is more to show. `verdict` is None while it is being worked out.
    """

    changed = Signal()

    def __init__(self, planner: Planner, parent: QObject) -> None:
        super().__init__(parent)
        self.verdict: Verdict | None = None
        self._planner = planner
        self._base: Ask | None = None
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._answered = False  # whether `verdict` is the one for `_base`
        planner.answered.connect(self._take_verdict)

    def ask(self, base: Ask) -> None:
        """Ask for the plan of the model and options of `base`; the model's old verdicts stay until the answer."""
        if base == self._base:
            return
        self._withdraw()
        if self._base is None or base.path != self._base.path:
            self.verdict, self._verdicts = None, {}
        self._base, self._answered = base, False
        self._planner.ask(self._key(), base)
        self.changed.emit()

    def forget(self) -> None:
        """Drop the verdicts and withdraw the open questions, because no widget shows them any more."""
        self._base, self.verdict, self._verdicts = None, None, {}
        self._withdraw()

    def _withdraw(self) -> None:
        keys = [self._key(), *(self._key(name, value) for name, values in CHOICES.items() for value in values)]
        self._planner.withdraw(keys)

    @property
    def words(self) -> dict[str, str]:
        """Texts about the memory and speed of choices, by the keys of engine settings."""
        texts = {name: choices_words(self._choices(name)) for name in CHOICES}
        if self.verdict is not None:
            texts |= {"context": context_words(self.verdict), "threads": speed_words(self.verdict)}
        return texts

    def _choices(self, name: str) -> dict[str, Verdict]:
        verdicts = {value: self._verdicts.get((name, value)) for value in CHOICES[name]}
        return {choice_words(name, value): verdict for value, verdict in verdicts.items() if verdict is not None}

    def _key(self, name: str = "", value: str = "") -> Hashable:
        return ("effects", id(self), name, value)

    def _take_verdict(self, key: Hashable, verdict: Verdict) -> None:
        if self._base is None or not (isinstance(key, tuple) and key[:2] == ("effects", id(self))):
            return
        _, _, name, value = key
        if name and self._answered:  # otherwise the verdict belongs to an earlier question
            self._verdicts[name, value] = verdict
        elif not name:
            self.verdict, self._answered = verdict, True
            self._ask_choices(self._base, verdict)
        self.changed.emit()

    def _ask_choices(self, base: Ask, verdict: Verdict) -> None:
        """Ask for a plan of each choice, all with the context of `verdict` so that they can be compared."""
        if not verdict.n_ctx:
            return
        base = msgspec.structs.replace(base, n_ctx=verdict.n_ctx)
        for name, values in CHOICES.items():
            for value in values:
                self._planner.ask(self._key(name, value), msgspec.structs.replace(base, **{name: value}))
