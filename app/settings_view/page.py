"""What the dialogs of settings, of a chat and of models are made of: rows at one inset, and a column that scrolls."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.look.theme import SIZES


def label(name: str, parent: QWidget) -> QLabel:
    """Plain text over several lines; `name` is what the style sheet knows it by."""
    made = QLabel(parent)
    made.setObjectName(name)
    made.setWordWrap(True)
    made.setTextFormat(Qt.TextFormat.PlainText)
    return made


def button(parent: QWidget, work: Callable[[], object] | None = None) -> QPushButton:
    made = QPushButton(parent)
    made.setProperty("kind", "step")
    made.setAutoDefault(False)  # Enter confirms the value that is typed
    if work is not None:
        made.clicked.connect(lambda: work())
    return made


def inset(*widgets: QWidget | None, wide: QWidget | None = None) -> QHBoxLayout:
    """A row beside the column's edges; None is empty space, and `wide` takes what is left of the row."""
    row = QHBoxLayout()
    row.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
    row.setSpacing(SIZES.gap)
    for widget in widgets:
        if widget is None:
            row.addStretch(1)
        else:
            row.addWidget(widget, int(widget is wide))
    return row


class Sheet(QDialog):
    """A dialog that follows the language and the look while it is open."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")

    def retranslate(self) -> None:
        raise NotImplementedError

    def restyle(self) -> None:
        raise NotImplementedError


class Page(QScrollArea):
    """Rows below each other in `column`, scrolled up and down by what has the focus, the wheel and the bar.

    `steady`: the bar is always there, so that rows that come and go move nothing aside."""

    def __init__(self, parent: QWidget, steady: bool = False) -> None:
        super().__init__(parent)
        self.rows = QWidget()
        self.rows.setObjectName("settingRows")
        self.column = QVBoxLayout(self.rows)
        self.column.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl - SIZES.scroll_bar * steady, SIZES.gap)
        self.column.setSpacing(0)
        self.setObjectName("settingsArea")
        if steady:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(self.rows)

    def scroll_to(self, widget: QWidget) -> None:
        """Have it stand at the top, as far as the rows below it reach."""
        self.column.activate()
        self.verticalScrollBar().setValue(widget.y())


class Section(QWidget):
    """A section of the settings' dialog that has other things than settings."""

    def search(self, words: str, section: str) -> bool:
        """Show what has all of `words`; is there anything?"""
        raise NotImplementedError

    def retranslate(self) -> None:
        raise NotImplementedError


def heading(parent: QWidget) -> QLabel:
    """Above the rows of a section."""
    made = label("settingsSection", parent)
    made.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap)
    return made


def fit(dialog: QDialog) -> None:
    """The size of such a dialog, or as much of it as the screen has room for."""
    layout = dialog.layout()
    if layout is not None:  # it knows the least size for the text as it was
        layout.invalidate()
        layout.activate()
    room = dialog.screen().availableSize()
    dialog.resize(min(SIZES.dialog, room.width()), min(SIZES.dialog_height, room.height() * 9 // 10))
