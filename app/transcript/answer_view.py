"""Shows an answer: its thoughts, each folded under a line, and the text between and below them."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.commands.commands import with_keys
from app.look.live import Live
from app.look.sheet import Button, discard
from app.look.theme import SIZES, icon, theme
from app.markdown.block_stack import BlockStack, delete_in_slices
from app.words import mark, tr, tr_n, worded
from common.reasoning import Piece, PieceKind, Section, Sections, open_sections, sections_of
from common.tool_marks import without_tool_marks
from common.units import exact_duration

TICK_MS = 500


def thought_line(seconds: float | None, under_way: bool, tokens: int = 0) -> str:
    """Return the line above a thought that has taken `seconds`; None if nobody measured the time.

    `tokens`: length of a finished thought, 0 if nobody counted.
    """
    if seconds is None or (under_way and seconds < 1):
        line = tr("Thinking…") if under_way else tr("Thought")
    elif under_way:
        line = tr("Thinking… {time}", time=worded(exact_duration(seconds)))
    else:
        line = tr("Thought for {time}", time=worded(exact_duration(seconds)))
    if under_way or not tokens:
        return line
    return tr("{line} · {tokens}", line=line, tokens=tr_n("{n} token", "{n} tokens", tokens))


class AnswerView(Live, QWidget):
    """An answer's thoughts and texts.

    `height_changed`: the height for the present width is another one. `answer_requested`: the user wants the thought to
    end and the answer to follow.
    """

    height_changed = Signal()
    answer_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ""  # as it was written, so far
        self._unfolded: tuple[set[tuple[str, int]], str] = set(), ""
        self.sections: list[ThoughtView | BlockStack] = []
        self._sections = Sections()
        self._shown_lengths: list[int] = []  # characters of each section that its view has
        self._seconds: float | None = None
        self._streaming = self._made_ahead = False
        self.apply_look()

    @property
    def filled(self) -> bool:
        """Whether all of the text is laid out."""
        return all(section.filled for section in self.sections)

    def lay_out(self) -> None:
        """Lay out the next block that is not laid out yet, now instead of in a later slice."""
        for section in self.stacks:
            if not section.filled:
                section.lay_out()
                return

    @property
    def stacks(self) -> list[BlockStack]:
        """The block stacks of the text and of the unfolded thoughts."""
        bodies = (section.body if isinstance(section, ThoughtView) else section for section in self.sections)
        return [body for body in bodies if body is not None]

    @property
    def thoughts(self) -> list[ThoughtView]:
        return [section for section in self.sections if isinstance(section, ThoughtView)]

    def set_text(self, text: str, seconds: float | None = None, ahead: bool = False) -> None:
        """Show a finished text whose thoughts took `seconds`.

        A text that is made `ahead` of being seen is laid out in slices.
        """
        self._made_ahead = ahead
        self._show_sections(text, Sections(sections_of(text)), seconds, streaming=False)

    def start(self, text: str, seconds: float | None = None) -> None:
        """Show the beginning of a text that `grow` will extend."""
        self._show_sections(text, open_sections(text), seconds, streaming=True)

    def grow(self, text: str, kind: PieceKind = "text") -> None:
        if not self._streaming:
            return
        self.text += text
        self._sections.add(Piece(kind, text))
        self._update_sections()

    def finish(self, seconds: float | None = None) -> None:
        """Complete the streamed text; its thoughts took `seconds`, None if nobody measured the time."""
        if not self._streaming:
            return
        self._streaming = False
        for section in self.sections:
            section.finish()
        if seconds is not None:
            self.set_seconds(seconds)

    def unfold(self, unfolded: set[tuple[str, int]], id: str) -> None:
        """Open the thoughts that `unfolded` lists as (`id`, number); what the user opens or folds updates that set."""
        self._unfolded = unfolded, id
        for number, thought in enumerate(self.thoughts):
            thought.line.setChecked((id, number) in unfolded)

    def _record_unfolded(self, number: int, is_open: bool) -> None:
        unfolded, id = self._unfolded
        (unfolded.add if is_open else unfolded.discard)((id, number))

    def set_seconds(self, seconds: float) -> None:
        for thought in self.thoughts[:1]:
            thought.set_seconds(seconds)

    def set_tokens(self, tokens: int) -> None:
        """Show how many tokens the thoughts have."""
        for thought in self.thoughts[:1]:
            thought.set_tokens(tokens)

    def text_to_copy(self) -> str:
        """Return the answer as it was written, without folded thoughts and references to other programs' tools."""
        if not self.thoughts:
            return without_tool_marks("".join(section.text for section in self._sections.all))
        copied = [
            section.text.strip()
            for section, view in zip(self._sections.all, self.sections, strict=True)
            if not isinstance(view, ThoughtView) or view.open
        ]
        return without_tool_marks("\n\n".join(filter(None, copied)))

    def restyle(self) -> None:
        self.height_changed.emit()

    def heightForWidth(self, width: int) -> int:
        heights = [section.heightForWidth(width) for section in self._visible()]
        return sum(heights) + SIZES.gap * max(0, len(heights) - 1)

    def resizeEvent(self, _event: object) -> None:
        self._place_parts()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _show_sections(self, text: str, sections: Sections, seconds: float | None, streaming: bool) -> None:
        self._clear(0)
        self.text, self._sections = text, sections
        self._streaming, self._seconds = streaming, seconds
        self._update_sections()

    def _update_sections(self) -> None:
        changed = False
        for number, section in enumerate(self._sections.all):
            if number == len(self.sections) or isinstance(self.sections[number], ThoughtView) != section.thought:
                self._clear(number)
                self._add_section(section)
                changed = True
            elif piece := section.text[self._shown_lengths[number] :]:
                self._shown_lengths[number] += len(piece)
                self.sections[number].grow(piece)
            if section.closed and self._streaming:
                self.sections[number].finish()
        if self._streaming and not self.sections:
            self._add_section(Section(False))  # an empty line for the caret, because the answer is on its way
            changed = True
        if changed or not self._streaming:
            self._place_parts()
            self.height_changed.emit()

    def _add_section(self, section: Section) -> None:
        view = self._make_thought() if section.thought else BlockStack(self)
        view.height_changed.connect(self._section_height_changed)
        if isinstance(view, ThoughtView):
            number = len(self.thoughts)
            view.line.toggled.connect(lambda is_open: self._record_unfolded(number, is_open))
            view.answer_now.clicked.connect(self.answer_requested)
        self.sections.append(view)
        self._shown_lengths.append(len(section.text))
        if not self._streaming:
            view.set_text(section.text, self._made_ahead)
        elif isinstance(view, ThoughtView):
            view.start(section.text, self._seconds)
        else:
            view.start(section.text)
        if isinstance(view, ThoughtView) and len(self.thoughts) == 1 and not self._streaming:
            view.set_seconds(self._seconds)
        view.setVisible(self._is_shown(view))

    def _make_thought(self) -> ThoughtView:
        """Return the view of a part that is folded under a line."""
        return ThoughtView(self)

    def _is_shown(self, view: ThoughtView | BlockStack) -> bool:
        """Return whether the section is shown; some models write an empty thought when they are told not to think."""
        return not isinstance(view, ThoughtView) or self._streaming or bool(view.text.strip())

    def _visible(self) -> list[ThoughtView | BlockStack]:
        return [view for view in self.sections if self._is_shown(view)]

    def _section_height_changed(self) -> None:
        self._place_parts()
        self.height_changed.emit()

    def _clear(self, first: int) -> None:
        for view in self.sections[first:]:
            discard(view)
        del self.sections[first:], self._shown_lengths[first:]

    def _place_parts(self) -> None:
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
    """A model's thought before its answer, folded under one quiet line that says how long the thought took.

    While the model thinks, a button beside the line, `answer_now`, lets the user end the thought. A folded thought is
    not laid out. `height_changed`: the height for the present width is another one.
    """

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ""
        self.open = False
        self._seconds: float | None = None
        self._started: float | None = None
        self._tokens = 0
        self.line = Button(self, kind="quiet")
        self.line.setCheckable(True)
        self.line.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the words
        self.line.toggled.connect(self._toggled)
        self.answer_now = Button(self, mark("Answer now"), kind="small")
        self.answer_now.clicked.connect(lambda: self.answer_now.setEnabled(False))  # the thought ends with this token
        self.answer_now.hide()
        self._frame = QFrame(self)
        self._frame.setObjectName("thoughtBody")
        self._frame.hide()
        self.body: BlockStack | None = None  # shows the thought while it is unfolded
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._update_line)
        self.apply_look()

    @property
    def filled(self) -> bool:
        """Whether everything that is visible is laid out."""
        return self.body is None or self.body.filled

    def set_text(self, text: str, ahead: bool = False) -> None:
        self.text = text
        if self.body is not None:
            self._fill(self.body, ahead)

    def start(self, text: str, seconds: float | None = None) -> None:
        """Show a thought that is under way and has taken `seconds` so far."""
        self.text = text
        self._seconds, self._started = None, time.monotonic() - (seconds or 0.0)
        self._timer.start()
        self.answer_now.setEnabled(True)
        self.answer_now.show()
        self._update_line()
        if self.body is not None:
            self.body.start(text)

    def grow(self, piece: str) -> None:
        self.text += piece
        if self.body is not None:
            self.body.grow(piece)

    def finish(self) -> None:
        """End the thought and keep the time that it took."""
        if self._started is None:
            return
        self._seconds, self._started = time.monotonic() - self._started, None
        self._timer.stop()
        if self.answer_now.hasFocus():
            self.line.setFocus()
        self.answer_now.hide()
        if self.body is not None:
            self.body.finish()
        self._update_line()

    def set_seconds(self, seconds: float | None) -> None:
        """Set how long the thought took; ignored while the thought is still being written.

        The time is measured where the text arrives.
        """
        if self._started is None:
            self._seconds = seconds
            self._update_line()

    def set_tokens(self, tokens: int) -> None:
        """Set how many tokens the thought has; shown once it has ended."""
        if tokens != self._tokens:
            self._tokens = tokens
            self._update_line()

    def restyle(self) -> None:
        self.line.setIcon(icon("chevron" if self.open else "chevron-right", theme().soft))
        self._resize_line()

    def retranslate(self) -> None:
        self.answer_now.setToolTip(with_keys(tr("End the thought; the answer follows at once"), "answer_now"))
        self.answer_now.setAccessibleDescription(tr("End the thought; the answer follows at once"))
        self._update_line()

    def heightForWidth(self, width: int) -> int:
        height = SIZES.row
        if self.body is not None:
            height += self.body.heightForWidth(width - SIZES.gap_l) + SIZES.gap
        return height

    def resizeEvent(self, _event: object) -> None:
        self._place_parts()

    def _toggled(self, unfolded: bool) -> None:
        self.open = unfolded
        if unfolded:
            self._unfold()
        elif self.body is not None:
            delete_in_slices(self.body, [self.body])
            self.body = None
        self._frame.setVisible(unfolded)
        self._update_line()
        self.restyle()
        self._place_parts()
        self.height_changed.emit()

    def _unfold(self) -> None:
        body = self.body = BlockStack(self._frame, soft=True)
        body.height_changed.connect(self._body_height_changed)
        if self._started is None:
            self._fill(body)
        else:
            body.start(self.text)
        body.show()

    def _fill(self, body: BlockStack, ahead: bool = False) -> None:
        """Show the finished text in the unfolded part."""
        body.set_text(self.text, ahead)

    def _body_height_changed(self) -> None:
        self._place_parts()
        self.height_changed.emit()

    def _place_parts(self) -> None:
        self._resize_line()
        if self.body is not None:
            inner = self.width() - SIZES.gap_l
            height = self.body.heightForWidth(inner)
            self._frame.setGeometry(0, SIZES.row, self.width(), height)
            self.body.setGeometry(SIZES.gap_l, 0, inner, height)

    def _update_line(self) -> None:
        under_way = self._started is not None
        seconds = time.monotonic() - self._started if self._started is not None else self._seconds
        text = thought_line(seconds, under_way, self._tokens)
        self.line.setText(text)
        self.line.setAccessibleName(text)
        self.line.setToolTip(tr("Hide reasoning") if self.open else tr("Show reasoning"))
        self.line.setAccessibleDescription(self.line.toolTip())
        self._resize_line()

    def _resize_line(self) -> None:
        left = 0
        for button in (self.line, self.answer_now):
            size = button.sizeHint()
            button.setGeometry(left, (SIZES.row - size.height()) // 2, size.width(), size.height())
            left += size.width() + SIZES.gap
