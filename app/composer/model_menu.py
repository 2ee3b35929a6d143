"""The menu of models at the status line: the commands about models, then the recent models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QMenu, QWidget

from app.commands.commands import CommandSet
from common.paths import path_text
from models.titles import title_of


class ModelMenu(QMenu):
    """Menu of the `recent` models; the one in use has a tick, and each what `about` says: size and speed.

    Calls `choose` with the path of the chosen one, as `path_text` writes it.
    """

    def __init__(
        self,
        commands: CommandSet,
        recent: Sequence[Path],
        about: Callable[[Path], str],
        used: Path | None,
        choose: Callable[[str], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.addActions([commands.actions["models"], commands.actions["open_model"]])
        if recent:
            self.addSeparator()
        for path in recent:
            words = "\t".join(filter(None, (title_of(path), about(path))))  # Qt shows what follows a tab at the right
            action = self.addAction(words.replace("&", "&&"), partial(choose, path_text(path)))
            action.setCheckable(True)
            action.setChecked(path == used)
