"""How the model is to be loaded, and whether it was: the settings, and what was chosen for a chat. Knows no Qt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from common.paths import path_text
from engine.protocol import KVType, Load


class Loading:
    """`options` is a Load without a path. What was chosen for a chat goes above it until another model is chosen."""

    def __init__(self, options: Load) -> None:
        self.options = options
        self._chosen: dict[str, object] = {}
        self._asked: Load | None = None

    def choose(self, n_ctx: int | None, kv_type: KVType | None) -> None:
        """None leaves the setting."""
        wishes = {"n_ctx": n_ctx, "kv_type": kv_type}
        self._chosen = {field: wish for field, wish in wishes.items() if wish is not None}

    def use(self, options: Load) -> None:
        """The settings have changed: a changed one is newer than what was chosen."""
        kept = [field for field in self._chosen if getattr(options, field) == getattr(self.options, field)]
        self._chosen = {field: self._chosen[field] for field in kept}
        self.options = options

    def failed(self) -> None:
        """What was chosen cannot be had; a model that is still loaded stays as it is."""
        if self._chosen:
            self._chosen = {}
            self._asked = self._wanted()

    def stays(self) -> None:
        """What is loaded is kept as it is, although something else was asked for."""
        self._asked = self._wanted()

    def outdated(self) -> bool:
        """Was the model asked for with other options than it would be now?"""
        return self._asked is not None and self._asked != self._wanted()

    def request(self, path: Path) -> Load:
        """Ask for the model now."""
        self._asked = self._wanted()
        return replace(self._asked, path=path_text(path))

    def _wanted(self) -> Load:
        return replace(self.options, **self._chosen)  # type: ignore[arg-type]
