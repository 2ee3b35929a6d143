"""The dialog of all prompt snippets: change, add, delete, import and export them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QListWidgetItem, QPlainTextEdit, QWidget

from app.look.sheet import Button, Sheet, label
from app.look.speech import announce
from app.look.theme import SIZES
from app.state.snippets import Snippet
from app.words import UiText, current_text, mark, tr


class SnippetDialog(Sheet):
    """Dialog of the snippets.

    Signals: `edited` carries a place, a name and a text, once the user has left the fields; `add_requested`,
    `import_requested`, `export_requested`, `restore_requested` (the built-in ones) and `undo_requested` nothing;
    `remove_requested` a place.
    """

    edited = Signal(int, str, str)
    add_requested = Signal()
    remove_requested = Signal(int)
    import_requested = Signal()
    export_requested = Signal()
    restore_requested = Signal()
    undo_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hint, self.variables, self.outcome, self.problem = (
            label(name, self) for name in ("settingHelp", "settingHelp", "verdict", "problem")
        )
        self.list = QListWidget(self)
        self.list.setObjectName("binList")
        self.name = QLineEdit(self)
        self.text = QPlainTextEdit(self)
        self.text.setTabChangesFocus(True)
        self.titles = [QLabel(self), QLabel(self)]
        for title, field in zip(self.titles, (self.name, self.text), strict=True):
            title.setObjectName("settingTitle")
            title.setBuddy(field)
        self.new_button = Button(self, mark("New"), lambda: self._request(self.add_requested))
        self.delete_button = Button(self, mark("Delete"), self._remove)
        self.import_button = Button(self, mark("Import…"), lambda: self._request(self.import_requested))
        self.export_button = Button(self, mark("Export…"), lambda: self._request(self.export_requested))
        restore = mark("Restore the built-in ones")
        self.restore_button = Button(self, restore, lambda: self._request(self.restore_requested))
        self.undo_button = Button(self, mark("Undo"), self.undo_requested.emit)
        self.close_button = Button(self, mark("Close"), self.close)
        self._source: Callable[[], Sequence[Snippet]] = tuple
        self._snippets: Sequence[Snippet] = ()
        self._place = -1  # of the snippet that the fields show
        self._layout()
        self._connect()
        self.apply_look()

    # --- what is shown ----------------------------------------------------------------------------------------------

    def show_snippets(self, source: Callable[[], Sequence[Snippet]], place: int, can_restore: bool) -> None:
        """Show the snippets of `source`, that at `place` in the fields.

        `source` is called again when the language changes. `can_restore` says whether a built-in snippet is missing.
        """
        self._source = source
        snippets = self._snippets = source()
        self._place = -1  # so that filling the list edits nothing
        self.list.clear()
        for snippet in snippets:
            QListWidgetItem(snippet.name, self.list).setSizeHint(QSize(0, SIZES.button + SIZES.gap_s))
        self.restore_button.setVisible(can_restore)
        self.list.setCurrentRow(min(place, len(snippets) - 1))
        self._show_current(self.list.currentRow())

    def show_outcome(self, outcome: UiText, can_undo: bool = False, problem: UiText = "") -> None:
        """Show what was done, with an “Undo” button if `can_undo`, or the problem."""
        self.outcome.say(outcome)
        self.problem.say(problem)
        self.undo_button.setVisible(can_undo)
        announce(self, current_text(problem or outcome), urgent=bool(problem))

    def focus_name(self) -> None:
        """Let the user type the name of the snippet that was added."""
        self.name.setFocus()
        self.name.selectAll()

    def commit(self) -> None:
        """Hand on what was typed in the fields."""
        place = self._place
        if 0 <= place < len(self._snippets):
            shown = self._snippets[place]
            if (self.name.text(), self.text.toPlainText()) != (shown.name, shown.text):
                self.edited.emit(place, self.name.text(), self.text.toPlainText())

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Prompt snippets"))
        self.hint.setText(tr("Type / at the beginning of a message to find a snippet."))
        self.variables.setText(
            tr(
                "{{clipboard}}, {{selection}}, {{date}} and {{time}} are filled in automatically. You are asked for "
                "any other name in double braces: {{recipient}}, or {{language=English}} with a suggestion."
            )
        )
        self.list.setAccessibleName(tr("Prompt snippets"))
        for title, words, field in zip(self.titles, (tr("Name"), tr("Text")), (self.name, self.text), strict=True):
            title.setText(words)
            field.setAccessibleName(words)
        if self._snippets:
            self.show_snippets(self._source, self._place, not self.restore_button.isHidden())

    def done(self, result: int) -> None:
        """Close the dialog; what was typed is applied."""
        self.commit()
        super().done(result)

    def restyle(self) -> None:
        super().restyle()
        for row in range(self.list.count()):
            self.list.item(row).setSizeHint(QSize(0, SIZES.button + SIZES.gap_s))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _show_current(self, place: int) -> None:
        self._place = place
        some = 0 <= place < len(self._snippets)
        shown = self._snippets[place] if some else Snippet("", "")
        if self.name.text() != shown.name:
            self.name.setText(shown.name)
        if self.text.toPlainText() != shown.text:
            self.text.setPlainText(shown.text)
        for widget in (self.name, self.text, self.delete_button):
            widget.setEnabled(some)
        self.export_button.setEnabled(bool(self._snippets))

    def _row_changed(self, place: int) -> None:
        """Apply what was typed, then show the chosen snippet; stay where the typed text cannot be used."""
        if self._place < 0 or place < 0 or place == self._place:
            return
        self.commit()
        place = self._place if self.problem.words else place
        self._place = -1  # so that the next line edits nothing
        self.list.setCurrentRow(place)
        if not self.problem.words:
            self._show_current(place)
        self._place = place

    def _request(self, signal: SignalInstance) -> None:
        self.commit()
        signal.emit()

    def _remove(self) -> None:
        if self._place >= 0:
            self.remove_requested.emit(self._place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.list.hasFocus():
            self._remove()
        else:
            super().keyPressEvent(event)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:  # of the text; the name has a signal for that
            self.commit()
        return False

    def _connect(self) -> None:
        self.list.currentRowChanged.connect(self._row_changed)
        self.name.editingFinished.connect(self.commit)
        self.text.installEventFilter(self)

    def _layout(self) -> None:
        adding = (self.new_button, self.delete_button, None, self.restore_button)
        fields = ((self.titles[0], self.name), (self.titles[1], self.variables), self.text, self.problem)
        below = ((self.outcome, self.undo_button), (self.import_button, self.export_button, None, self.close_button))
        self.lay_out(self.hint, self.list, adding, *fields, *below, gap=SIZES.gap)
