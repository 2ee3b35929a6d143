"""The dialog of collections: folders whose documents can be searched for answers, and how far they are indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.attachments.kinds import kinds_words
from app.collections.collection import Collection
from app.dialogs.dialog import Page
from app.look.live import Live
from app.look.sheet import Button, PathLabel, ProgressBar, Sheet, fill, label
from app.look.theme import SIZES
from app.state.collections import IndexState
from app.words import UiText, mark, tr, tr_n

Action = Literal["add_folder", "remove_folder", "again", "pause", "resume", "remove", "unreadable", "rename", "now"]
ACTIONS: dict[Action, str] = {
    "now": mark("Index now"),
    "add_folder": mark("Add folder…"),
    "again": mark("Index again"),
    "pause": mark("Pause"),
    "resume": mark("Resume"),
    "unreadable": mark("Files that cannot be read"),
    "remove": mark("Remove"),
}
EMPTY = mark(
    "Add a folder with documents, and switch it on beside the message box: answers then use the passages that help, "
    "and name their files. The files are indexed on this computer; these kinds can be read: {kinds}."
)


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A collection with how far it is indexed."""

    collection: Collection
    state: IndexState


class CollectionView(Live, QFrame):
    """Row of one collection: its name, which can be changed, its folders, how far it is indexed, and its buttons."""

    def __init__(self, row: CollectionRow, dialog: CollectionsDialog) -> None:
        super().__init__(dialog.page.rows)
        self.setObjectName("settingRow")
        self._row, self._dialog = row, dialog
        self.name = QLineEdit(row.collection.name, self)
        self.name.setObjectName("collectionName")
        self.name.editingFinished.connect(self._rename)
        self.folders = QVBoxLayout()
        self.folder_buttons: dict[str, Button] = {}
        self._folder_rows: list[QWidget] = []
        self.status = label("settingHelp", self)
        self.problem = label("problem", self)
        self.bar = ProgressBar(self)
        self.buttons = {action: Button(self, words, partial(self._ask, action)) for action, words in ACTIONS.items()}
        self._layout()
        self.show_row(row)
        self.apply_look()

    def show_row(self, row: CollectionRow) -> None:
        before, self._row = self._row, row
        if not self.name.hasFocus():
            self.name.setText(row.collection.name)
        if before.collection.folders != row.collection.folders or not self._folder_rows:
            self._show_folders()
        self.retranslate()

    def retranslate(self) -> None:
        collection, state = self._row.collection, self._row.state
        self.name.setAccessibleName(tr("Name of the collection"))
        self.status.setText(state_words(collection, state))
        missing = ", ".join(state.missing)
        self.problem.say(tr("Not available now: {folders}", folders=missing) if missing else "")
        fraction = state.done / max(1, state.files) if state.working and not collection.paused else None
        self.bar.show_fraction(fraction, tr("Progress of {name}", name=collection.name))
        waiting = bool(collection.folders) and not collection.paused and (state.postponed or not state.known)
        shown = {
            "pause": not collection.paused,
            "resume": collection.paused,
            "unreadable": state.refused > 0,
            "now": waiting,
        }
        for action, widget in self.buttons.items():
            widget.setAccessibleName(tr("{action}: {name}", action=tr(ACTIONS[action]), name=collection.name))
            widget.setVisible(shown.get(action, True))
        for folder, leave_out in self.folder_buttons.items():
            leave_out.setText(tr("Remove folder"))
            leave_out.setAccessibleName(tr("Remove the folder {folder}", folder=folder))
            leave_out.setVisible(len(self.folder_buttons) > 1)

    def _show_folders(self) -> None:
        for widget in self._folder_rows:
            self.folders.removeWidget(widget)
            widget.deleteLater()
        self._folder_rows, self.folder_buttons = [], {}
        for folder in self._row.collection.folders:
            line = QWidget(self)
            path = PathLabel(folder, "settingHelp", line)
            widget = self.folder_buttons[folder] = Button(line, work=partial(self._ask, "remove_folder", folder))
            fill(QHBoxLayout(line), (path, 1), widget)
            self.folders.addWidget(line)
            self._folder_rows.append(line)

    def _rename(self) -> None:
        if self.name.text().strip() != self._row.collection.name:
            self._ask("rename", self.name.text())

    def _ask(self, action: Action, value: str = "") -> None:
        self._dialog.action_requested.emit(self._row.collection.id, action, value)

    def _layout(self) -> None:
        status = fill(QHBoxLayout(), (self.status, 1), self.buttons["unreadable"], gap=SIZES.gap)
        *others, remove = (widget for action, widget in self.buttons.items() if action != "unreadable")
        buttons = fill(QHBoxLayout(), *others, None, remove, gap=SIZES.gap)
        parts = (self.name, self.folders, status, self.bar, self.problem, buttons)
        fill(QVBoxLayout(self), *parts, gap=SIZES.gap_s, margins=(0, SIZES.gap_m, 0, SIZES.gap_m))


def state_words(collection: Collection, state: IndexState) -> str:
    """Return how far a collection is indexed, in words."""
    if not collection.folders:
        return tr("No folder")
    if not state.known:
        if collection.paused:
            return tr("Paused")
        if state.postponed:
            return tr("Waiting until the computer is plugged in")
        return tr("Waiting until the computer is idle")
    files = tr_n("{n} file", "{n} files", state.files)
    if collection.paused:
        return tr("Paused · {files}", files=files)
    if state.working:
        return tr("{done:,} of {files} read", done=state.done, files=files) if state.files else tr("Looking for files…")
    words = tr("Up to date · {files}", files=files)
    if state.refused:
        words += " · " + tr_n("{n} cannot be read", "{n} cannot be read", state.refused)
    return words + " · " + tr("more files than can be indexed") if state.full else words


class CollectionsDialog(Sheet):
    """Dialog of all collections.

    Signals: `folder_requested` asks for a folder for a new collection; `action_requested` carries a collection's id, an
    Action and its value; `undo_requested` asks to bring back what was removed last.
    """

    folder_requested = Signal()
    action_requested = Signal(str, str, str)
    undo_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hint = label("settingHelp", self)
        self.page = Page(self)
        self.views: dict[str, CollectionView] = {}
        self.note = label("settingHelp", self)
        self.add_button = Button(self, mark("New collection from a folder…"), self.folder_requested.emit)
        self.add_button.setProperty("kind", "begin")
        self.undo_button = Button(self, mark("Undo"), self.undo_requested.emit)
        self.close_button = Button(self, mark("Close"), self.reject)
        self._layout()
        self.show_note("", undo=False)
        self.apply_look()

    def show_rows(self, rows: Sequence[CollectionRow]) -> None:
        """Show these collections; the view of one that is still there stays, with its focus."""
        wanted = [row.collection.id for row in rows]
        for gone in [each for each in self.views if each not in wanted]:
            self.views.pop(gone).deleteLater()
        for at, row in enumerate(rows):
            view = self.views.get(row.collection.id)
            if view is None:
                view = self.views[row.collection.id] = CollectionView(row, self)
            else:
                view.show_row(row)
            if self.page.column.indexOf(view) != at:
                self.page.column.insertWidget(at, view)
        self.hint.setVisible(not rows)

    def show_note(self, sentence: UiText, undo: bool) -> None:
        """Show a sentence below the rows, with an Undo button if `undo`."""
        self.note.say(sentence)
        self.undo_button.setVisible(undo)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Collections"))
        self.hint.setText(tr(EMPTY, kinds=kinds_words()))

    def _layout(self) -> None:
        buttons = (self.add_button, None, self.close_button)
        self.lay_out(self.hint, self.page, (self.note, self.undo_button), buttons)
