"""Parts of every dialog: labels and buttons that word themselves, inset rows, the sheet, one dialog of each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QBoxLayout,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLayout,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.look.flow import Flow
from app.look.live import Live
from app.look.tab_stops import step_around
from app.look.theme import SIZES
from app.words import UiText, current_text, escaped_html, tr

Row = QWidget | QLayout | tuple[QWidget | None, ...]
PERMILLE = 1000
Part = QWidget | QLayout | int | None
L = TypeVar("L", bound=QBoxLayout)


class Label(Live, QLabel):
    """Label of plain text over several lines; `name` is its object name in the style sheet.

    What `say` shows is worded again when the language changes.
    """

    def __init__(self, name: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.words: UiText = ""
        self.setObjectName(name)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.apply_look()

    def say(self, words: UiText) -> None:
        """Show these words; hide the label if there are none."""
        self.words = words
        self.setText(current_text(words))
        self.setVisible(bool(self.text()))

    def retranslate(self) -> None:
        if self.words:
            self.setText(current_text(self.words))


def label(name: str, parent: QWidget | None, words: UiText = "") -> Label:
    """Return a label with these words."""
    result = Label(name, parent)
    if words:
        result.say(words)
    return result


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


class Button(Live, QPushButton):
    """Button with `words`, marked English, that does `work`; Enter presses it while it has the focus, as Space does.

    Elsewhere in a dialog Enter does not press it, because Enter confirms a typed value there.
    """

    def __init__(
        self, parent: QWidget, words: str = "", work: Callable[[], object] | None = None, kind: str = "step"
    ) -> None:
        super().__init__(parent)
        self._words = words
        self.setProperty("kind", kind)
        self.setAutoDefault(False)
        if work is not None:
            self.clicked.connect(lambda: work())
        self.apply_look()

    def retranslate(self) -> None:
        if self._words:
            self.setText(tr(self._words))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


class ProgressBar(Live, QProgressBar):
    """Thin bar that shows a fraction of 1."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setRange(0, PERMILLE)
        self.setTextVisible(False)
        self.apply_look()

    def show_fraction(self, fraction: float | None, name: str) -> None:
        """Show the fraction; None hides the bar. `name` is for screen readers."""
        self.setVisible(fraction is not None)
        self.setValue(round((fraction or 0) * PERMILLE))
        self.setAccessibleName(name)

    def restyle(self) -> None:
        self.setFixedHeight(SIZES.bar)


def fill(
    layout: L,
    *parts: Part | tuple[Part, int | Qt.AlignmentFlag],
    gap: int = -1,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> L:
    """Place the parts in the layout, with a gap between two (-1: that of the layout around it); return the layout.

    None is space that stretches, a number is a space in pixels, and a pair is a part with its stretch or alignment.
    """
    layout.setContentsMargins(*margins)
    layout.setSpacing(gap)
    for each in parts:
        part, how = each if isinstance(each, tuple) else (each, int(each is None))
        stretch, alignment = (0, how) if isinstance(how, Qt.AlignmentFlag) else (how, Qt.AlignmentFlag(0))
        if part is None:
            layout.addStretch(stretch)
        elif isinstance(part, int):
            layout.addSpacing(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part, stretch)
        else:
            layout.addWidget(part, stretch, alignment)
    return layout


def inset(*widgets: QWidget | None) -> QHBoxLayout:
    """Return a row with the page's margins; None is space that stretches.

    In a row without such space, the first part that shows or takes text gets the room that the others leave. A row of
    buttons is wrapped where there is too little room.
    """
    if all(each is None or isinstance(each, QPushButton) for each in widgets):
        buttons = [each for each in widgets if each is not None]
        behind = widgets[widgets.index(None) + 1] if None in widgets else None
        row = Flow(buttons[0].parentWidget())
        row.moved = behind
        row.set_widgets(buttons)
        return fill(QHBoxLayout(), row, margins=(SIZES.gap_xl, 0, SIZES.gap_xl, 0))
    texts = [each for each in widgets if not isinstance(each, QPushButton)]
    parts = [(each, int(None not in widgets and each is texts[0])) if each else None for each in widgets]
    return fill(QHBoxLayout(), *parts, gap=SIZES.gap, margins=(SIZES.gap_xl, 0, SIZES.gap_xl, 0))


class Sheet(Live, QDialog):
    """Dialog that follows the language and the theme while it is open, and grows with the text size."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self._rows: list[QWidget] = []

    def lay_out(self, *rows: Row, gap: int = SIZES.gap_m) -> None:
        """Place the rows below each other, with the page's margins; lists, texts and pages share the height left over.

        A tuple is a row of `inset`. A Page, which scrolls, has margins of its own.
        """
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap_m)
        layout.setSpacing(gap)
        for row in rows:
            self._rows += _widgets(row)
            tall = int(isinstance(row, QAbstractScrollArea))
            if isinstance(row, QAbstractScrollArea):  # the rows above must not move when it is hidden
                policy = row.sizePolicy()
                policy.setRetainSizeWhenHidden(True)
                row.setSizePolicy(policy)
            if isinstance(row, QScrollArea):
                layout.addWidget(row, tall)
            elif isinstance(row, QLayout):
                layout.addLayout(row)
            else:
                layout.addLayout(inset(*row) if isinstance(row, tuple) else inset(row), tall)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Move the focus in the order in which the rows are arranged, because rows come and go."""
        return step_around(self._rows, next) or super().focusNextPrevChild(next)

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


def _widgets(row: Row) -> list[QWidget]:
    """Return the widgets of a row of `Sheet.lay_out`, from left to right."""
    if isinstance(row, QWidget):
        return [row]
    items = map(row.itemAt, range(row.count())) if isinstance(row, QLayout) else ()
    parts = [item.widget() for item in items if item is not None] if isinstance(row, QLayout) else row
    return [part for part in parts if part is not None]


def restyle_by(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet knows, and style the widget again if its value is another one."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def discard(widget: QWidget) -> None:
    """Hide the widget now, and delete it once Qt has handled its events."""
    widget.hide()
    widget.deleteLater()


def has_words(words: str, text: str) -> bool:
    """Return whether all of the typed words occur in the text."""
    return all(word in text.casefold() for word in words.casefold().split())


S = TypeVar("S", bound=Sheet)


class OneDialog(Generic[S]):
    """The only open dialog of a kind, in `open`, or None.

    A closed dialog is deleted, and `closed` is called.
    """

    def __init__(self, closed: Callable[[], object] = lambda: None) -> None:
        self.open: S | None = None
        self._closed = closed

    def show(self, make: Callable[[], S], made: Callable[[S], object] = lambda _dialog: None) -> S:
        """Raise the open dialog, or create one with `make` and then call `made` with it; return the dialog."""
        is_new = self.open is None
        dialog = self.open = self.open or make()
        if is_new:
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.finished.connect(self._dialog_finished)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        if is_new:
            made(dialog)
        return dialog

    def close(self) -> None:
        if self.open is not None:
            self.open.close()

    def _dialog_finished(self) -> None:
        self.open = None
        self._closed()


class HasDialog(Generic[S]):
    """A mixin of controllers with one dialog, which `_dialog` keeps."""

    _dialog: OneDialog[S]

    @property
    def dialog(self) -> S | None:
        """The dialog while it is open, else None."""
        return self._dialog.open
