"""Building blocks of the larger dialogs: a scrolling page, sections of it, and lines about memory."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import fill, label, restyle_by
from app.look.theme import SIZES
from app.model_fit import parts_words, tone_of, verdict_words
from common.planning import Verdict


class Page(QScrollArea):
    """Scrolling column of rows that follows the focus, the wheel and the scroll bar.

    With `always_bar` the scroll bar is always shown, so that rows that come and go do not move the others sideways.
    """

    def __init__(self, parent: QWidget, *rows: QWidget, always_bar: bool = False) -> None:
        super().__init__(parent)
        self.rows = QWidget()
        self.rows.setObjectName("settingRows")
        margins = (SIZES.gap_xl, 0, SIZES.gap_xl - SIZES.scroll_bar * always_bar, SIZES.gap)
        self.column = fill(QVBoxLayout(self.rows), *rows, None, gap=0, margins=margins)
        self.setObjectName("settingsArea")
        self.setMinimumHeight(SIZES.row)  # so that a dialog fits a very low screen
        if always_bar:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(self.rows)

    def add(self, *rows: QWidget) -> None:
        """Append rows, above the space that is left over."""
        for row in rows:
            self.column.insertWidget(self.column.count() - 1, row)

    def scroll_to(self, widget: QWidget) -> None:
        """Scroll the widget to the top, as far as the rows below it allow."""
        self.column.activate()
        self.verticalScrollBar().setValue(widget.y())


class Section(Live, QWidget):
    """Section of the settings dialog whose rows are not settings."""

    def search(self, words: str, section: str) -> bool:
        """Show the rows that contain all of `words`; return whether there is one."""
        raise NotImplementedError


class PlanLine(QWidget):
    """Two lines below settings: whether the model fits with these settings, and what takes how much memory."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.verdict, self.parts = label("verdict", self), label("settingHelp", self)
        self.model = ""  # name of the model that the lines are about
        fill(QVBoxLayout(self), self.verdict, self.parts, gap=SIZES.gap_s)
        self.show_verdict(None)

    def show_verdict(self, verdict: Verdict | None, name: str = "") -> None:
        """Show the verdict; None while the planner works.

        `name` is the model's; leave it out if the dialog already shows the name.
        """
        self.model = name
        self.verdict.say(lambda: f"{name}: {verdict_words(verdict)}" if name else verdict_words(verdict))
        restyle_by(self.verdict, "tone", tone_of(verdict))
        self.parts.say(lambda: parts_words(verdict) if verdict else "")


def heading(parent: QWidget) -> QLabel:
    """Return a heading for the rows of a section."""
    title = label("settingsSection", parent)
    title.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap)
    return title
