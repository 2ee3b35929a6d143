"""An answer: its thoughts, each folded under a line, and its text between and below them."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.look.theme import SIZES
from app.markdown.block_stack import BlockStack, Part
from app.transcript.thought_view import ThoughtView
from common.reasoning import Kind, Piece, Section, Sections, open_sections, sections_of


class AnswerView(QWidget):
    """`resized` says that the height for the present width has changed; `link` carries a clicked address; `unfolded`
    the number of a thought that the user opened or folded, and which of both."""

    resized = Signal()
    link = Signal(str)
    unfolded = Signal(int, bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sections: list[ThoughtView | BlockStack] = []
        self._sections = Sections()
        self._shown: list[int] = []  # how many of each section's characters its view has
        self._ended: list[bool] = []
        self._seconds: float | None = None
        self._live = self._ahead = False

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

    def unfold(self, numbers: Collection[int]) -> None:
        """Open these of the thoughts, as far as they are there."""
        for number, thought in enumerate(self.thoughts):
            if number in numbers:
                thought.line.setChecked(True)

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
        for section in self.sections:
            section.restyle()
        self.resized.emit()

    def retranslate(self) -> None:
        for section in self.sections:
            section.retranslate()

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
        view.link.connect(self.link)
        if isinstance(view, ThoughtView):
            number = len(self.thoughts)
            view.line.toggled.connect(lambda unfolded: self.unfolded.emit(number, unfolded))
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
