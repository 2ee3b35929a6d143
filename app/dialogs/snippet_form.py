"""The small form that asks for the variables of a prompt snippet before it is inserted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QWidget

from app.dialogs.dialog import Page
from app.look.sheet import Button, Sheet, label
from app.look.theme import SIZES
from app.state.placeholders import Variable
from app.words import mark, tr

MOST_LINES = 5  # lines of one field that are visible without scrolling
TITLES = {
    "clipboard": mark("Text from the clipboard"),
    "selection": mark("Selected text"),
    "date": mark("Date"),
    "time": mark("Time"),
}
NOTHING = {"clipboard": mark("The clipboard has no text."), "selection": mark("No text is selected.")}


class AskedField(QPlainTextEdit):
    """Field for one variable: grows with its text, and leaves Tab to the form."""

    def __init__(self, variable: Variable, parent: QWidget) -> None:
        super().__init__(variable.default, parent)
        self.setTabChangesFocus(True)
        self.selectAll()
        self.textChanged.connect(self.fit)

    def fit(self) -> None:
        """Make the field as high as its text."""
        lines = min(max(1, int(self.document().size().height())), MOST_LINES)
        frame = 2 * int(self.document().documentMargin()) + SIZES.gap + 2 * self.frameWidth() + 2
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + frame)


class SnippetForm(Sheet):
    """Form with a field for each of `variables`; `filled` carries the values by the variables' names."""

    filled = Signal(dict)

    def __init__(self, name: str, variables: Sequence[Variable], parent: QWidget) -> None:
        super().__init__(parent)
        self._name, self._variables = name, tuple(variables)
        self.fields = {variable.name: AskedField(variable, self) for variable in self._variables}
        self.titles = {each.name: QLabel(self) for each in self._variables}
        self.hint = label("settingHelp", self)
        self.cancel_button = Button(self, mark("Cancel"), self.reject)
        self.insert_button = Button(self, mark("Insert"), self._insert)
        self.insert_button.setProperty("kind", "begin")
        QShortcut("Ctrl+Return", self, self._insert)
        self._layout()
        self.apply_look()
        next(iter(self.fields.values())).setFocus()

    @property
    def values(self) -> Mapping[str, str]:
        """Typed values by the variables' names."""
        return {name: field.toPlainText().strip() for name, field in self.fields.items()}

    def retranslate(self) -> None:
        self.setWindowTitle(self._name)
        for name, title in self.titles.items():
            title.setText(tr(TITLES[name]) if name in TITLES else name)
            self.fields[name].setAccessibleName(title.text())
            self.fields[name].setPlaceholderText(tr(NOTHING[name]) if name in NOTHING else "")
        self.hint.setText(tr("Nothing is sent yet: the text goes into the message, where you can change it."))

    def _fit_to_text(self) -> None:
        for field in self.fields.values():
            field.fit()
        super()._fit_to_text()
        room = self.screen().availableSize()
        width = min(SIZES.dialog * 3 // 4, room.width())
        rows = sum(field.height() + title.sizeHint().height() + SIZES.gap_l for field, title in self._titled_fields())
        height = rows + self.hint.heightForWidth(width - 2 * SIZES.gap_xl) + SIZES.control + 4 * SIZES.gap_l
        self.resize(width, min(height, room.height() * 9 // 10))

    def _titled_fields(self) -> Iterator[tuple[AskedField, QLabel]]:
        return zip(self.fields.values(), self.titles.values(), strict=True)

    def _insert(self) -> None:
        values = dict(self.values)
        self.accept()
        self.filled.emit(values)

    def _layout(self) -> None:
        page = Page(self)
        page.column.setSpacing(SIZES.gap_s)
        for name, field in self.fields.items():
            title = self.titles[name]
            title.setObjectName("settingTitle")
            title.setTextFormat(Qt.TextFormat.PlainText)  # a file that was imported may name variables as it likes
            title.setWordWrap(True)
            title.setBuddy(field)
            page.add(title, field)
            page.column.insertSpacing(page.column.count() - 1, SIZES.gap)
        self.lay_out(page, self.hint, (None, self.cancel_button, self.insert_button))
