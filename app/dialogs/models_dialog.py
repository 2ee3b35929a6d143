"""The models' dialog: local models, recommended ones, downloads and results of the hub, as `ModelList` lists them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from html import escape

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.dialogs.dialog import Page, heading
from app.dialogs.model_details import Details, language_name
from app.dialogs.model_list import ACTIONS, SECTIONS, Action, ModelList, ModelRow
from app.look.flow import Flow
from app.look.live import Live
from app.look.sheet import Button, ProgressBar, Sheet, discard, fill, label, restyle_by
from app.look.theme import SIZES, theme
from app.words import UiText, current_text, mark, tr

CONSENT = mark(
    "Chickadee connects to huggingface.co only to search for models, to download them and to check for new ones. It "
    "sends your search words and the names of models."
)
LOW = 320  # pixels of height, below which the list needs the room of the filters
CHECKING = mark("Checking which models suit this computer…")
FILTERS = {
    "fits": mark("Fits"),
    "coding": mark("Code"),
    "thinking": mark("Thinking"),
    "vision": mark("Pictures"),
}


class CardText(Live, QLabel):
    """The lines of a model's card, each with its heading at the left."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("modelCard")
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._details: Details = ()
        self.apply_look()

    def show_details(self, details: Details) -> None:
        if details != self._details:
            self._details = details
            self.restyle()

    def restyle(self) -> None:
        cell = f"<td style='padding: 0 {SIZES.gap_l}px {SIZES.gap_s}px 0; color: {theme().soft}; white-space: nowrap'>"
        lines = [f"<tr>{cell}{escape(what)}</td><td>{escape(text)}</td></tr>" for what, text in self._details]
        table = "".join(("<table cellspacing='0'>", *lines, "</table>"))
        self.setText(table)


class ModelRowView(Live, QFrame):
    """Row of one model: title, facts, whether the model fits, buttons, and a card that unfolds."""

    def __init__(self, row: ModelRow, dialog: ModelsDialog) -> None:
        super().__init__(dialog.list.rows)
        self.setObjectName("settingRow")
        self.row, self._dialog = row, dialog
        self.title = label("settingTitle", self)
        self.facts = label("settingHelp", self)
        self.verdict = label("verdict", self)
        self.problem = label("problem", self)
        self.badge = label("badge", self)
        self.bar = ProgressBar(self)
        self.card = CardText(self)
        self.card.hide()
        self.fold = Button(self, work=self._fold, kind="quiet")
        self.buttons: dict[Action, Button] = {}
        self._layout()
        self.show_row(row)
        self.apply_look()

    def show_row(self, row: ModelRow) -> None:
        self.row = row
        lines = (self.badge, self.title, self.facts, self.verdict, self.problem)
        for line, text in zip(lines, (row.badge, row.title, row.facts, row.verdict, row.problem), strict=True):
            line.say(text)
        self.card.show_details(row.details)
        self.fold.setVisible(bool(row.details))
        restyle_by(self.verdict, "tone", row.tone)
        self.bar.show_fraction(row.fraction, tr("Download progress of {model}", model=row.title))
        if tuple(self.buttons) != row.actions:
            self._make_buttons()
        self.retranslate()

    def retranslate(self) -> None:
        for action, widget in self.buttons.items():
            widget.setText(tr(ACTIONS[action]))
            widget.setAccessibleName(tr("{action}: {model}", action=tr(ACTIONS[action]), model=self.row.title))
        self.fold.setText(tr("Hide details") if self.card.isVisibleTo(self) else tr("Details"))
        self.fold.setAccessibleName(tr("{action}: {model}", action=self.fold.text(), model=self.row.title))

    def _make_buttons(self) -> None:
        had_focus = any(old.hasFocus() for old in self.buttons.values())
        for old in self.buttons.values():
            self._row.removeWidget(old)
            old.deleteLater()
        self.buttons = {}
        for action in self.row.actions:
            widget = self.buttons[action] = Button(self, work=partial(self._request_action, action))
            widget.setEnabled(action != "loading")
            self._row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        if had_focus and self.buttons:
            next((each for each in self.buttons.values() if each.isEnabled()), self.fold).setFocus()

    def _fold(self) -> None:
        self.card.setVisible(not self.card.isVisibleTo(self))
        self.retranslate()

    def _request_action(self, action: Action) -> None:
        self._dialog.action_requested.emit(self.row.key, action)

    def _layout(self) -> None:
        lines = (self.badge, self.title, self.facts, self.verdict, self.problem, self.bar)
        fold = (self.fold, Qt.AlignmentFlag.AlignLeft)
        words = fill(QVBoxLayout(), *lines, fold, self.card, gap=SIZES.gap_s)
        self._row = fill(QHBoxLayout(self), (words, 1), gap=SIZES.gap, margins=(0, SIZES.gap_m, 0, SIZES.gap_m))


class FilterBar(Live, Flow):
    """Buttons that filter the list, and a choice of a language; `changed` is emitted after each change."""

    changed = Signal()

    def __init__(self, models: ModelList, parent: QWidget) -> None:
        super().__init__(parent)
        self._models = models
        self.buttons = {name: Button(self, work=self._apply) for name in FILTERS}
        self.language = self.moved = QComboBox(self)
        self.language.currentIndexChanged.connect(self._apply)
        for part in self.buttons.values():
            part.setCheckable(True)
            part.setProperty("kind", "filter")
        self.set_widgets([*self.buttons.values(), self.language])
        self.apply_look()

    def retranslate(self) -> None:
        for name, part in self.buttons.items():
            part.setText(tr(FILTERS[name]))
        self._name_languages()
        self.language.setAccessibleName(tr("Language"))

    def _name_languages(self) -> None:
        """List the catalogue's languages by their names; the chosen one stays."""
        chosen = self.language.currentData() or ""
        self.language.blockSignals(True)
        self.language.clear()
        self.language.addItem(tr("Any language"), "")
        for code in sorted({code for entry in self._models.entries for code in entry.languages}, key=language_name):
            self.language.addItem(language_name(code), code)
        self.language.setCurrentIndex(max(0, self.language.findData(chosen)))
        self.language.blockSignals(False)

    def _apply(self) -> None:
        chosen = {name: part.isChecked() for name, part in self.buttons.items()}
        language = str(self.language.currentData() or "")
        self._models.filters = replace(self._models.filters, **chosen, language=language)
        self.changed.emit()


class ModelsDialog(Sheet):
    """Dialog of all models.

    Signals: `action_requested` carries a row's key and an action; `search_requested` the words to search the hub for.
    """

    action_requested = Signal(object, str)
    search_requested = Signal(str)

    def __init__(self, models: ModelList, parent: QWidget) -> None:
        super().__init__(parent)
        self.models = models
        self.rows: dict[Hashable, ModelRowView] = {}
        self._order: list[Hashable] = []
        self.line = QLineEdit(self)
        self.line.setClearButtonEnabled(True)
        self.line.textChanged.connect(self._filter)
        self.line.returnPressed.connect(self._search)
        self.search_button = Button(self, work=self._search)
        self.filters = FilterBar(models, self)
        self.filters.changed.connect(self.show_models)
        self.consent = label("settingHelp", self, lambda: tr(CONSENT))
        self.note = label("settingHelp", self)
        self.note.hide()
        nothing = mark("No results on this computer. Try searching huggingface.co.")
        self.nothing = label("nothingFound", self, lambda: tr(nothing))
        self.checking = label("settingHelp", self, lambda: tr(CHECKING))
        self.list = Page(self, always_bar=True)  # so that a search does not move the rows sideways
        self.undo_button = Button(self, work=self._undo)
        self.undo_button.hide()
        self._undo_work: Callable[[], object] | None = None
        self._undo_words: UiText = ""
        self.folder_button = Button(self, mark("Add folder…"))
        self.file_button = Button(self, mark("Add file…"))
        self.server_button = Button(self, mark("Connect to a server…"))
        self.update_button = Button(self, mark("Check for new models"))
        self.close_button = Button(self, mark("Close"), self.accept)
        self.headings = {name: heading(self) for name in SECTIONS}
        self._layout()
        self.apply_look()
        self.line.setFocus()

    # --- what is shown ----------------------------------------------------------------------------------------------

    def show_models(self) -> None:
        """Update the rows that are shown already, and add and remove the others."""
        sections = self.models.sections()
        rows = {row.key: row for section in sections.values() for row in section}
        order: list[Hashable] = [key for name, section in sections.items() for key in (name, *(r.key for r in section))]
        for key in [key for key in self.rows if key not in rows]:
            view = self.rows.pop(key)
            self.list.column.removeWidget(view)
            discard(view)
        for key, row in rows.items():
            self._show_row(key, row)
        if order != self._order:
            self._place(sections)
            self._order = order
        checking = self.models.ranking and not sections["entries"]
        self.checking.setVisible(checking)
        for name, title in self.headings.items():
            title.setVisible(bool(sections[name]) or (checking and name == "entries"))
        self.nothing.setVisible(not rows)
        for key in rows:
            self.models.shown.setdefault(key, len(self.models.shown))

    def show_note(self, sentence: UiText, button_text: UiText = "", work: Callable[[], object] | None = None) -> None:
        """Show a sentence below the list, with a button labelled `button_text` that does `work`; "" hides both."""
        self.note.say(sentence)
        self._undo_work, self._undo_words = work, button_text
        self.undo_button.setText(current_text(button_text))
        self.undo_button.setVisible(bool(button_text))
        if button_text:  # the row that had the focus may be gone
            self.undo_button.setFocus()

    def show_searching(self, searching: bool) -> None:
        self.search_button.setEnabled(not searching)
        self.search_button.setText(tr("Searching…") if searching else tr("Search huggingface.co"))

    def retranslate(self) -> None:
        self.undo_button.setText(current_text(self._undo_words))
        self.setWindowTitle(tr("Models"))
        self.line.setPlaceholderText(tr("Find a model"))
        self.line.setAccessibleName(tr("Find a model"))
        for name, title in self.headings.items():
            title.setText(tr(SECTIONS[name]))
        self.show_searching(False)
        self.show_models()

    def restyle(self) -> None:
        room = self.screen().availableSize()
        self.setMinimumWidth(min(SIZES.dialog * 4 // 5, room.width()))  # room for three buttons and some words
        super().restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.filters.setVisible(self.height() >= LOW)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _show_row(self, key: Hashable, row: ModelRow) -> None:
        view = self.rows.get(key)
        if view is None:
            view = self.rows[key] = ModelRowView(row, self)
        elif view.row != row:
            view.show_row(row)

    def _place(self, sections: dict[str, list[ModelRow]]) -> None:
        """Lay out the rows in the order of the sections; a file of the hub is indented below its repository.

        A row that is taken out of a layout by `takeAt` and added again keeps its old height for ever: the item that was
        taken out lives on and gets what is meant for the new one. So rows are moved by `insertWidget`.
        """
        order: list[QWidget] = []
        for name, section in sections.items():
            order.append(self.headings[name])
            order += [self.checking] if name == "entries" else []
            for row in section:
                view = self.rows[row.key]
                is_file = isinstance(row.key, tuple) and row.key[0] == "file"
                view.setContentsMargins(SIZES.indent if is_file else 0, 0, 0, 0)
                order.append(view)
        for place, widget in enumerate((self.consent, *order, self.nothing)):
            if self.list.column.indexOf(widget) != place:
                self.list.column.insertWidget(place, widget)

    def _filter(self, words: str) -> None:
        self.models.words = words
        self.show_models()

    def _search(self) -> None:
        if self.search_button.isEnabled():
            self.search_requested.emit(self.line.text())

    def _undo(self) -> None:
        work = self._undo_work
        self.show_note("")
        if work is not None:
            work()

    def _layout(self) -> None:
        adding = (self.folder_button, self.file_button, self.server_button)
        below = ((self.note, self.undo_button), (*adding, self.update_button, None, self.close_button))
        self.lay_out((self.line, self.search_button), self.filters, self.list, *below, gap=SIZES.gap)
