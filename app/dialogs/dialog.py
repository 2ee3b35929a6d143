"""Building blocks of the dialogs: inset rows, a scrolling page, lines about memory, and one dialog of each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.theme import SIZES
from app.model_fit import parts_words, tone_of, verdict_words
from app.words import escaped_html
from common.planning import Verdict


def label(name: str, parent: QWidget) -> QLabel:
    """Return a label for plain text over several lines; `name` is its object name in the style sheet."""
    widget = QLabel(parent)
    widget.setObjectName(name)
    widget.setWordWrap(True)
    widget.setTextFormat(Qt.TextFormat.PlainText)
    return widget


class PathLabel(Live, QLabel):
    """Label of a path on one line, with dots in its middle where there is no room; the tip has all of it."""

    def __init__(self, path: str, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._path = path
        self.setObjectName(name)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setToolTip(escaped_html(path))
        self.setAccessibleName(path)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self._path), super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setText(self.fontMetrics().elidedText(self._path, Qt.TextElideMode.ElideMiddle, self.width()))


def button(parent: QWidget, work: Callable[[], object] | None = None) -> QPushButton:
    widget = QPushButton(parent)
    widget.setProperty("kind", "step")
    widget.setAutoDefault(False)  # Enter must confirm the typed value instead
    if work is not None:
        widget.clicked.connect(lambda: work())
    return widget


def inset(*widgets: QWidget | None, wide: QWidget | None = None) -> QHBoxLayout:
    """Return a row with the page's margins; None is stretching space, and `wide` takes the rest of the row."""
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
    """Dialog that follows the language and the theme while it is open, and grows with the text size."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")

    def restyle(self) -> None:
        self._fit_to_text()
        QTimer.singleShot(0, self, self._fit_to_text)  # children may restyle after the dialog

    def _fit_to_text(self) -> None:
        layout = self.layout()
        if layout is not None:  # its minimum size is that of the old text size
            layout.invalidate()
            layout.activate()
        room = self.screen().availableSize()
        self.resize(min(SIZES.dialog, room.width()), min(SIZES.dialog_height, room.height() * 9 // 10))


S = TypeVar("S", bound=Sheet)


class OneDialog(Generic[S]):
    """The only open dialog of a kind, in `open`, or None.

    A closed dialog is deleted, and `closed` is called.
    """

    def __init__(self, closed: Callable[[], object] = lambda: None) -> None:
        self.open: S | None = None
        self._closed = closed

    def show(self, make: Callable[[], S]) -> S:
        """Raise the open dialog, or create one with `make`, and return it."""
        if self.open is None:
            self.open = make()
            self.open.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.open.finished.connect(self._dialog_finished)
        self.open.show()
        self.open.raise_()
        self.open.activateWindow()
        return self.open

    def close(self) -> None:
        if self.open is not None:
            self.open.close()

    def _dialog_finished(self) -> None:
        self.open = None
        self._closed()


class Page(QScrollArea):
    """Scrolling column of rows that follows the focus, the wheel and the scroll bar.

    With `always_bar` the scroll bar is always shown, so that rows that come and go do not move the others sideways.
    """

    def __init__(self, parent: QWidget, always_bar: bool = False) -> None:
        super().__init__(parent)
        self.rows = QWidget()
        self.rows.setObjectName("settingRows")
        self.column = QVBoxLayout(self.rows)
        self.column.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl - SIZES.scroll_bar * always_bar, SIZES.gap)
        self.column.setSpacing(0)
        self.setObjectName("settingsArea")
        if always_bar:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(self.rows)

    def scroll_to(self, widget: QWidget) -> None:
        """Scroll the widget to the top, as far as the rows below it allow."""
        self.column.activate()
        self.verticalScrollBar().setValue(widget.y())


class Section(Live, QWidget):
    """Section of the settings dialog whose rows are not settings."""

    def search(self, words: str, section: str) -> bool:
        """Show the rows that contain all of `words`; return whether there is one."""
        raise NotImplementedError


class PlanLine(Live, QWidget):
    """Two lines below settings: whether the model fits with these settings, and what takes how much memory."""

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
        """Show the verdict; None while the planner works.

        `name` is the model's; leave it out if the dialog already shows the name.
        """
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
    """Return a heading for the rows of a section."""
    title = label("settingsSection", parent)
    title.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap)
    return title
