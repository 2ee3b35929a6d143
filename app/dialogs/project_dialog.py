"""The dialog of a project: what the chats of a folder begin with, and how much of the context that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from app.dialogs.dialog import Page
from app.dialogs.setting_row import ChoiceControl, SettingRow, SettingsSheet
from app.look.live import Live
from app.look.sheet import Button, fill, label
from app.look.theme import SIZES
from app.settings.resolve import PROMPT, Values
from app.settings.schema import for_chat
from app.state.projects import Project
from app.store.project_store import MOST_FILES
from app.words import UiText, mark, tr

LIST_ROWS = 5  # visible without scrolling


@dataclass(frozen=True, slots=True)
class Offered:
    """Choices of the dialog: ids and names of the collections, and paths and titles of the models."""

    collections: tuple[tuple[str, str], ...] = ()
    models: tuple[tuple[str, str], ...] = ()


class ItemBox(Live, QWidget):
    """List with a title above it and buttons below it; each item has an id."""

    def __init__(self, title: str, help: str, buttons: Sequence[Button], parent: QWidget) -> None:
        super().__init__(parent)
        self._title, self._help = title, help
        self.title, self.help = label("settingTitle", self), label("settingHelp", self)
        self.note, self.problem = label("settingHelp", self), label("problem", self)
        self.list = QListWidget(self)
        self.list.setObjectName("binList")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.title.setBuddy(self.list)
        row = fill(QHBoxLayout(), *buttons, None, gap=SIZES.gap)
        parts = (self.title, self.help, self.list, self.note, self.problem, row)
        fill(QVBoxLayout(self), *parts, gap=SIZES.gap_s, margins=(0, SIZES.gap, 0, SIZES.gap))
        for each in (self.note, self.problem):
            each.say("")
        self.apply_look()

    def show_items(self, items: Sequence[tuple[str, str]], checked: Sequence[str] | None = None) -> None:
        """List pairs of an id and a name; with `checked`, each has a box, ticked for these ids."""
        chosen = self.selected_ids()
        with QSignalBlocker(self.list):
            self.list.clear()
            for id, name in items:
                item = QListWidgetItem(name, self.list)
                item.setData(Qt.ItemDataRole.UserRole, id)
                item.setSizeHint(QSize(0, SIZES.row))
                if checked is not None:
                    item.setCheckState(Qt.CheckState.Checked if id in checked else Qt.CheckState.Unchecked)
                item.setSelected(id in chosen)
        self.list.setVisible(bool(items))
        self.restyle()

    def selected_ids(self) -> list[str]:
        return [str(item.data(Qt.ItemDataRole.UserRole)) for item in self.list.selectedItems()]

    def retranslate(self) -> None:
        self.title.setText(tr(self._title))
        self.help.setText(tr(self._help, most=MOST_FILES))
        self.list.setAccessibleName(tr(self._title))

    def restyle(self) -> None:
        self.list.setFixedHeight(min(LIST_ROWS, max(1, self.list.count())) * SIZES.row + 2 * SIZES.gap_s)


class ProjectDialog(SettingsSheet):
    """Dialog of one project.

    Signals: `option_changed` carries a setting's name and its value, None for the usual one; `add_requested`,
    `read_again_requested` and `folder_requested` nothing; `remove_requested` ids of files; `collection_switched` an id
    and whether it is searched; `model_chosen` a path, "" for any model; `undo_requested` nothing.
    """

    option_changed = Signal(str, object)
    add_requested = Signal()
    remove_requested = Signal(list)
    read_again_requested = Signal()
    folder_requested = Signal()
    undo_requested = Signal()
    collection_switched = Signal(str, bool)
    model_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._name = ""
        self.rows = {setting.name: SettingRow(setting, self) for setting in for_chat()}
        for row in self.rows.values():
            row.changed.connect(self.option_changed)
        self.add_button = Button(self, mark("Add files…"), self.add_requested.emit)
        self.remove_button = Button(self, mark("Remove"), self._remove)
        self.again_button = Button(self, mark("Read again"), self.read_again_requested.emit)
        self.undo_button = Button(self, mark("Undo"), self.undo_requested.emit)
        file_buttons = (self.add_button, self.remove_button, self.again_button, self.undo_button)
        help = mark("Up to {most} files of text, which the model reads before each chat, and only once.")
        self.files = ItemBox(mark("Files"), help, file_buttons, self)
        self.files.list.itemSelectionChanged.connect(self._show_remove)
        self.fit, self.full = label("settingHelp", self), label("problem", self)
        self.folder_button = Button(self, mark("Search a folder instead…"), self.folder_requested.emit)
        help = mark("These collections are searched for each question.")
        self.collections = ItemBox(mark("Collections"), help, (self.folder_button,), self)
        self.collections.list.itemChanged.connect(self._switched)
        self.model_title = label("settingTitle", self)
        self.model = ChoiceControl((), self)
        self.model.complete.connect(lambda: self.model_chosen.emit(str(self.model.currentData())))
        self.model_title.setBuddy(self.model)
        self.close_button = Button(self, mark("Close"), self.close)
        self._layout()
        self.show_note("", can_undo=False)
        self.show_changed(0)
        self.apply_look()

    def show_project(self, project: Project, usual: Values, offered: Offered) -> None:
        """Show the project; `usual` are the values of the settings that it does not have."""
        self._name = project.name
        self.files.show_items([(file.id, file.attachment.name) for file in project.files])
        self.collections.show_items(offered.collections, project.collections)
        own = project.options.values
        for name, row in self.rows.items():
            row.show_value(own.get(name, "" if name == PROMPT else usual[name]), name in own)
        self.model.clear()
        models = offered.models
        if project.model and project.model_path not in dict(models):
            models = (*models, (project.model_path, project.model))
        for path, title in (("", tr("The loaded model")), *models):
            self.model.addItem(title, path)
        self.model.setCurrentIndex(max(0, self.model.findData(project.model_path)))
        self._show_remove()
        self.retranslate()

    def show_changed(self, count: int) -> None:
        """Offer to read files again of which `count` have changed."""
        self.again_button.setVisible(count > 0)

    def show_note(self, words: UiText, can_undo: bool, problem: UiText = "") -> None:
        """Show what is done with the files, or was, with an Undo button if `can_undo`; and what could not be read."""
        self.files.note.say(words)
        self.files.problem.say(problem)
        self.undo_button.setVisible(can_undo)

    def show_fit(self, words: UiText, fits: bool) -> None:
        """Show how much of the context the chats' beginning takes."""
        self.fit.say(words if fits else "")
        self.full.say("" if fits else words)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Project “{name}”", name=self._name))
        self.model_title.setText(tr("Model of new chats"))
        self.model.setAccessibleName(tr("Model of new chats"))
        self.model.setItemText(0, tr("The loaded model"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.focusWidget() is self.files.list:
            self._remove()
        else:
            super().keyPressEvent(event)

    def _remove(self) -> None:
        if ids := self.files.selected_ids():
            self.remove_requested.emit(ids)

    def _show_remove(self) -> None:
        self.remove_button.setEnabled(bool(self.files.selected_ids()))

    def _switched(self, item: QListWidgetItem) -> None:
        on = item.checkState() == Qt.CheckState.Checked
        self.collection_switched.emit(str(item.data(Qt.ItemDataRole.UserRole)), on)

    def _layout(self) -> None:
        model = QWidget(self)
        margins = (0, SIZES.gap, 0, SIZES.gap)
        fill(QHBoxLayout(model), (self.model_title, 1), self.model, gap=SIZES.gap, margins=margins)
        others = [row for name, row in self.rows.items() if name != PROMPT]
        page = Page(self, self.rows[PROMPT], self.files, self.collections, model, *others)
        self.lay_out(page, (self.fit, None), (self.full, None), (None, self.close_button))
