"""An answer: its thoughts, each folded under a line, and its text between and below them."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from app.look.live import Live
from app.look.theme import SIZES, icon, theme
from app.markdown.block_stack import BlockStack, Part, delete_slowly
from app.words import tr, tr_n
from common.reasoning import Kind, Piece, Section, Sections, open_sections, sections_of

TICK_MS = 500


def line_of(seconds: float | None, under_way: bool) -> str:
    """The line above a thought that has taken so many seconds, None if nobody measured it."""
    if seconds is None or (under_way and seconds < 1):
        return tr("Thinking…") if under_way else tr("Thought")
    if under_way:
        return tr("Thinking… {time}", time=_time(seconds))
    return tr("Thought for {time}", time=_time(seconds))


def _time(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 60:
        return tr("{seconds} s", seconds=whole)
    return tr_n("{n} min", "{n} min", whole // 60) + (tr(" {seconds} s", seconds=whole % 60) if whole % 60 else "")


class AnswerView(Live, QWidget):
    """`resized` says that the height for the present width has changed."""

    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._unfolded: tuple[set[tuple[str, int]], str] = set(), ""
        self.sections: list[ThoughtView | BlockStack] = []
        self._sections = Sections()
        self._shown: list[int] = []  # how many of each section's characters its view has
        self._ended: list[bool] = []
        self._seconds: float | None = None
        self._live = self._ahead = False
        self.apply_look()

    @property
    def filled(self) -> bool:
        """Is all of the text laid out?"""
        return all(section.filled for section in self.sections)

    def lay_out(self) -> None:
        """The next block of what is not laid out yet, now."""
        for section in self.stacks:
            if not section.filled:
                section.lay_out()
                return

    @property
    def parts(self) -> list[Part]:
        """What the answer's text consists of, thoughts left out."""
        return [part for section in self.sections if isinstance(section, BlockStack) for part in section.parts]

    @property
    def stacks(self) -> list[BlockStack]:
        """What the text and the unfolded thoughts are laid out in."""
        bodies = (section.body if isinstance(section, ThoughtView) else section for section in self.sections)
        return [body for body in bodies if body is not None]

    @property
    def thoughts(self) -> list[ThoughtView]:
        return [section for section in self.sections if isinstance(section, ThoughtView)]

    def set_text(self, text: str, seconds: float | None = None, ahead: bool = False) -> None:
        """Show a finished text; its thoughts took so many seconds. `ahead`: nobody sees it yet, so there is time."""
        self._begin(Sections(sections_of(text)), seconds, live=False)
        self._ahead = ahead
        self._draw()

    def start(self, text: str, seconds: float | None = None) -> None:
        """Show a text that `grow` will add to."""
        self._begin(open_sections(text), seconds, live=True)
        self._draw()

    def grow(self, text: str, part: Kind = "text") -> None:
        if self._live:
            self._sections.add(Piece(part, text))
            self._draw()

    def finish(self, seconds: float | None = None) -> None:
        """The text is complete; its thoughts took so many seconds, None where nobody has measured it."""
        if not self._live:
            return
        self._live = False
        for section in self.sections:
            section.finish()
        if seconds is not None:
            self.set_seconds(seconds)

    def unfold(self, unfolded: set[tuple[str, int]], id: str) -> None:
        """Open the thoughts whose numbers stand beside `id` there; what the user opens and folds is noted there too."""
        self._unfolded = unfolded, id
        for number, thought in enumerate(self.thoughts):
            thought.line.setChecked((id, number) in unfolded)

    def _note(self, number: int, is_open: bool) -> None:
        unfolded, id = self._unfolded
        (unfolded.add if is_open else unfolded.discard)((id, number))

    def set_seconds(self, seconds: float) -> None:
        for thought in self.thoughts[:1]:
            thought.set_seconds(seconds)

    def text_to_copy(self) -> str:
        """The answer as it was written, without the thoughts that are folded."""
        if not self.thoughts:
            return "".join(section.text for section in self._sections.all)
        kept = [
            section.text.strip()
            for section, view in zip(self._sections.all, self.sections, strict=True)
            if not isinstance(view, ThoughtView) or view.open
        ]
        return "\n\n".join(filter(None, kept))

    def restyle(self) -> None:
        self.resized.emit()

    def heightForWidth(self, width: int) -> int:
        heights = [section.heightForWidth(width) for section in self._visible()]
        return sum(heights) + SIZES.gap * max(0, len(heights) - 1)

    def resizeEvent(self, _event: object) -> None:
        self._place()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _begin(self, sections: Sections, seconds: float | None, live: bool) -> None:
        self._clear(0)
        self._live, self._seconds = live, seconds
        self._sections = sections

    def _draw(self) -> None:
        changed = False
        for number, section in enumerate(self._sections.all):
            if number == len(self.sections) or isinstance(self.sections[number], ThoughtView) != section.thought:
                self._clear(number)
                self._add(section)
                changed = True
            else:
                self._feed(number, section)
            if section.closed and self._live and not self._ended[number]:
                self._ended[number] = True
                self.sections[number].finish()
        if self._live and not self.sections:
            self._add(Section(False))  # an empty line for the caret: the answer is on its way
            changed = True
        if changed or not self._live:
            self._place()
            self.resized.emit()

    def _feed(self, number: int, section: Section) -> None:
        shown = self._shown[number]
        if len(section.text) > shown:
            self._shown[number] = len(section.text)
            self.sections[number].grow(section.text[shown:])

    def _add(self, section: Section) -> None:
        view = ThoughtView(self) if section.thought else BlockStack(self)
        view.resized.connect(self._resized)
        if isinstance(view, ThoughtView):
            number = len(self.thoughts)
            view.line.toggled.connect(lambda is_open: self._note(number, is_open))
        self.sections.append(view)
        self._shown.append(len(section.text))
        self._ended.append(False)
        if not self._live:
            view.set_text(section.text, self._ahead)
        elif isinstance(view, ThoughtView):
            view.start(section.text, self._seconds)
        else:
            view.start(section.text)
        if isinstance(view, ThoughtView) and len(self.thoughts) == 1 and not self._live:
            view.set_seconds(self._seconds)
        view.setVisible(self._is_shown(view))

    def _is_shown(self, view: ThoughtView | BlockStack) -> bool:
        """Some models write an empty thought when they are told not to think."""
        return not isinstance(view, ThoughtView) or self._live or bool(view.text.strip())

    def _visible(self) -> list[ThoughtView | BlockStack]:
        return [view for view in self.sections if self._is_shown(view)]

    def _resized(self) -> None:
        self._place()
        self.resized.emit()

    def _clear(self, first: int) -> None:
        for view in self.sections[first:]:
            view.hide()
            view.deleteLater()
        for each in (self.sections, self._shown, self._ended):
            del each[first:]

    def _place(self) -> None:
        if not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            return
        top = 0
        for view in self.sections:
            view.setVisible(self._is_shown(view))
        for view in self._visible():
            height = view.heightForWidth(self.width())
            view.setGeometry(0, top, self.width(), height)
            top += height + SIZES.gap


class ThoughtView(Live, QWidget):
    """What a model thought before it answered, folded under one quiet line that tells how long it took.

    `resized`: the height for the present width has changed. What is folded is not laid out."""

    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ""
        self.open = False
        self._seconds: float | None = None
        self._since: float | None = None
        self.line = QPushButton(self)
        self.line.setProperty("kind", "quiet")
        self.line.setCheckable(True)
        self.line.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the words
        self.line.toggled.connect(self._toggled)
        self.line.setAutoDefault(True)  # Return presses it, as Space does
        self._frame = QFrame(self)
        self._frame.setObjectName("thoughtBody")
        self._frame.hide()
        self._body: BlockStack | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._say)
        self.apply_look()

    @property
    def body(self) -> BlockStack | None:
        """The thought itself while it is unfolded."""
        return self._body

    @property
    def filled(self) -> bool:
        """Is all that is to be seen laid out?"""
        return self._body is None or self._body.filled

    def set_text(self, text: str, ahead: bool = False) -> None:
        self.text = text
        if self._body is not None:
            self._body.set_text(text, ahead)

    def start(self, text: str, seconds: float | None = None) -> None:
        """The model is thinking, and has been for so many seconds."""
        self.text = text
        self._seconds, self._since = None, time.monotonic() - (seconds or 0.0)
        self._timer.start()
        self._say()
        if self._body is not None:
            self._body.start(text)

    def grow(self, piece: str) -> None:
        self.text += piece
        if self._body is not None:
            self._body.grow(piece)

    def finish(self) -> None:
        """The thought has ended."""
        if self._since is not None:
            self._seconds, self._since = time.monotonic() - self._since, None
        self._timer.stop()
        if self._body is not None:
            self._body.finish()
        self._say()

    def set_seconds(self, seconds: float | None) -> None:
        """What was measured where the text came in."""
        if self._since is None:
            self._seconds = seconds
            self._say()

    def restyle(self) -> None:
        self.line.setIcon(icon("chevron" if self.open else "chevron-right", theme().soft))
        self._fit()

    def retranslate(self) -> None:
        self._say()

    def heightForWidth(self, width: int) -> int:
        height = SIZES.row
        if self._body is not None:
            height += self._body.heightForWidth(width - SIZES.gap_l) + SIZES.gap
        return height

    def resizeEvent(self, _event: object) -> None:
        self._place()

    def _toggled(self, unfolded: bool) -> None:
        self.open = unfolded
        if unfolded:
            self._unfold()
        elif self._body is not None:
            delete_slowly(self._body, [self._body])
            self._body = None
        self._frame.setVisible(unfolded)
        self._say()
        self.restyle()
        self._place()
        self.resized.emit()

    def _unfold(self) -> None:
        body = self._body = BlockStack(self._frame, soft=True)
        body.resized.connect(self._body_resized)
        if self._since is None:
            body.set_text(self.text)
        else:
            body.start(self.text)
        body.show()

    def _body_resized(self) -> None:
        self._place()
        self.resized.emit()

    def _place(self) -> None:
        size = self.line.sizeHint()
        self.line.setGeometry(0, (SIZES.row - size.height()) // 2, size.width(), size.height())
        if self._body is not None:
            inner = self.width() - SIZES.gap_l
            height = self._body.heightForWidth(inner)
            self._frame.setGeometry(0, SIZES.row, self.width(), height)
            self._body.setGeometry(SIZES.gap_l, 0, inner, height)

    def _say(self) -> None:
        under_way = self._since is not None
        seconds = time.monotonic() - self._since if self._since is not None else self._seconds
        text = line_of(seconds, under_way)
        self.line.setText(text)
        self.line.setAccessibleName(text)
        self.line.setToolTip(tr("Hide reasoning") if self.open else tr("Show reasoning"))
        self.line.setAccessibleDescription(self.line.toolTip())
        self._fit()

    def _fit(self) -> None:
        size = self.line.sizeHint()
        self.line.resize(size.width(), size.height())
