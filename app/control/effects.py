"""What a model comes to as it would be loaded, and what other choices of single settings would, in memory and speed.

The planner is asked; of what changes meanwhile only the last counts."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec
from PySide6.QtCore import QObject, Signal

from app.memory_plan import choices_words, context_words, speed_words
from app.services.planner import Planner
from app.settings.schema import choice_words
from common.planning import Ask, Verdict

# The settings whose every choice is planned, in the order in which they are asked. A store of another process takes
# a second, so it comes last.
CHOICES = {"kv_type": ("f16", "q8_0", "q4_0"), "flash_attention": ("on", "off"), "backend": ("llama", "ik")}


class Effects(QObject):
    """`changed`: there is more to tell. `verdict` is None while it is being worked out."""

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
