"""What the dialogs are made of: rows at one inset, a column that scrolls, lines on memory; of each kind one is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.theme import SIZES
from app.memory_plan import parts_words, tone_of, verdict_words
from common.planning import Verdict


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


class Sheet(Live, QDialog):
    """A dialog that follows the language and the look while it is open, and is as large as the text asks for."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")

    def restyle(self) -> None:
        self._fit()
        QTimer.singleShot(0, self, self._fit)  # what is in it may hear of other sizes later than it does itself

    def _fit(self) -> None:
        layout = self.layout()
        if layout is not None:  # it knows the least size for the text as it was
            layout.invalidate()
            layout.activate()
        room = self.screen().availableSize()
        self.resize(min(SIZES.dialog, room.width()), min(SIZES.dialog_height, room.height() * 9 // 10))


S = TypeVar("S", bound=Sheet)


class OneDialog(Generic[S]):
    """The one open dialog of a kind: `open`, or none. One that is closed is deleted, and `closed` called."""

    def __init__(self, closed: Callable[[], object] = lambda: None) -> None:
        self.open: S | None = None
        self._closed = closed

    def show(self, make: Callable[[], S]) -> S:
        """To the front; made first if there is none."""
        if self.open is None:
            self.open = make()
            self.open.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.open.finished.connect(self._ended)
        self.open.show()
        self.open.raise_()
        self.open.activateWindow()
        return self.open

    def close(self) -> None:
        if self.open is not None:
            self.open.close()

    def _ended(self) -> None:
        self.open = None
        self._closed()


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


class Section(Live, QWidget):
    """A section of the settings' dialog that has other things than settings."""

    def search(self, words: str, section: str) -> bool:
        """Show what has all of `words`; is there anything?"""
        raise NotImplementedError


class PlanLine(Live, QWidget):
    """Two lines below settings: what the model comes to as it is loaded with them."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.verdict, self.parts = label("verdict", self), label("settingHelp", self)
        self._shown: tuple[Verdict | None, str] = None, ""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SIZES.gap_s)
        layout.addWidget(self.verdict)
        layout.addWidget(self.parts)
        self.apply_look()

    def show_verdict(self, verdict: Verdict | None, name: str = "") -> None:
        """None: it is being worked out. `name`: the model's, where it is not clear."""
        self._shown = verdict, name
        words = verdict_words(verdict)
        self.verdict.setText(f"{name}: {words}" if name else words)
        self.verdict.setProperty("tone", tone_of(verdict))
        self.verdict.style().unpolish(self.verdict)
        self.verdict.style().polish(self.verdict)
        self.parts.setText(parts_words(verdict) if verdict else "")
        self.parts.setVisible(bool(self.parts.text()))

    def retranslate(self) -> None:
        self.show_verdict(*self._shown)


def heading(parent: QWidget) -> QLabel:
    """Above the rows of a section."""
    made = label("settingsSection", parent)
    made.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap)
    return made
