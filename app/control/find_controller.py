"""Finding words in the open chat: counts them in all messages of the shown branch and goes from hit to hit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator
from itertools import accumulate

from PySide6.QtCore import QObject

from app.look.theme import SIZES
from app.markdown.find import comparable, places, readable_pieces
from app.services.frames import slices
from app.services.timers import Debounce
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.store.calls import shown_text
from app.store.chat import ChatMessage
from app.transcript.highlights import Highlights, Hit
from app.window import Window
from common.reasoning import sections_of

PAUSE_MS = 80  # after a keystroke
LONGEST = 200  # characters of a selection that are taken over as the words to find
Pieces = list[list[str]]  # of one message: for each of its sections, the `comparable` texts of its blocks


class FindController(QObject):
    """Controller of the find bar. What was read of the chat is forgotten when the bar closes."""

    def __init__(self, window: Window, open_chats: OpenChats) -> None:
        super().__init__(window)
        self._window, self._open_chats = window, open_chats
        self._bar, self._transcript = window.find_bar, window.transcript
        self._highlights = Highlights(window.transcript)
        self._read: dict[str, tuple[str, Pieces]] = {}  # by message id: its content, and what is shown of it
        self._sections: list[tuple[str, int]] = []  # those with hits: message id and number of the section
        self._sums: list[int] = []  # hits up to the end of each of these sections
        self._current = -1
        self._steps: Iterator[None] | None = None
        self._pause = Debounce(lambda: self._search(scroll=True), PAUSE_MS, self)
        self._connect()

    def close(self) -> None:
        """Stop searching, because the window closes."""
        self._steps = None

    # --- what the user does -----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show the bar, with the selected words if there are any."""
        selected = self._transcript.column.selected_text()
        words = selected if selected and "\n" not in selected and len(selected) <= LONGEST else ""
        self._bar.open(words or self._bar.words)
        self._pause.request()

    def dismiss(self) -> None:
        """Hide the bar and all marks, and forget what was read."""
        had_focus = self._bar.isAncestorOf(self._window.focusWidget()) if self._window.focusWidget() else False
        self._bar.hide()
        self._pause.cancel()
        self._steps = None
        self._read.clear()
        self._set_counts([])
        self._highlights.show("")
        if had_focus:
            self._window.composer.setFocus()

    def step(self, by: int) -> None:
        """Go to the next (1) or previous (-1) hit, around the ends; open the bar if it is hidden."""
        if self._bar.isHidden():
            self.open()
            return
        if self._pause.waiting:  # Enter comes right after the last letter
            self._pause.flush()
        elif self._total:
            self._go_to((self._current + by) % self._total)

    # --- searching --------------------------------------------------------------------------------------------------

    @property
    def _total(self) -> int:
        return self._sums[-1] if self._sums else 0

    def _search(self, scroll: bool = False) -> None:
        """Count the words in the whole chat, in slices; then go to the hit nearest to what was in view."""
        words = comparable(self._bar.words) if self._bar.words.strip() else ""
        before = self._hit(self._current)
        self._highlights.show(words)
        if not scroll:
            self._highlights.go_to(before, scroll=False)
        self._bar.hide_count()
        self._steps = self._count(words, before, scroll) if words else None
        if words:
            slices().add(self, self._next_step)
        else:
            self._set_counts([])

    def _next_step(self) -> bool:
        if self._steps is None:
            return False
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        return self._steps is not None

    def _count(self, words: str, before: Hit | None, scroll: bool) -> Iterator[None]:
        """Count the words in each section of the branch; an answer that is being written is counted at its end."""
        conversation = self._open_chats.current
        counts: list[tuple[str, int, int]] = []
        for message in tuple(conversation.messages):
            if conversation.busy and message.role == "assistant" and message.id == conversation.messages[-1].id:
                continue
            pieces = yield from self._pieces(message)
            for number, section in enumerate(pieces):
                count = sum(len(places(piece, words)) for piece in section)
                if count:
                    counts.append((message.id, number, count))
            yield
        self._set_counts(counts)
        self._choose(before, scroll)

    def _pieces(self, message: ChatMessage) -> Generator[None, None, Pieces]:
        """Return what is shown of each section of the message; yield after each step of reading it."""
        known = self._read.get(message.id)
        if known is not None and known[0] == message.content:
            return known[1]
        is_plain = message.role != "assistant"
        texts = [shown_text(message)] if is_plain else [section.text for section in sections_of(message.content)]
        pieces: Pieces = []
        for text in texts:
            section = []
            for piece in readable_pieces(text, is_plain):
                section.append(comparable(piece))
                yield
            pieces.append(section)
        self._read[message.id] = message.content, pieces
        return pieces

    def _set_counts(self, counts: list[tuple[str, int, int]]) -> None:
        self._sections = [(id, number) for id, number, _ in counts]
        self._sums = list(accumulate(count for _, _, count in counts))
        self._current = -1
        self._bar.hide_count()

    def _hit(self, index: int) -> Hit | None:
        if not 0 <= index < self._total:
            return None
        at = bisect_right(self._sums, index)
        id, section = self._sections[at]
        return Hit(id, section, index - (self._sums[at - 1] if at else 0))

    def _choose(self, before: Hit | None, scroll: bool) -> None:
        """Make a hit the current one: the one before if it is still there, else the first from what is in view on."""
        column = self._transcript.column
        if not self._total:
            self._bar.show_count(0, 0)
            return
        row = column.row_of(before.message_id) if before is not None else None
        if row is None:
            row = column.row_at(self._transcript.view_top() + SIZES.gap_xl)
        rows = [column.row_of(id) or 0 for id, _ in self._sections]
        first = next((at for at, each in enumerate(rows) if each >= row), len(rows) - 1)
        index = self._sums[first - 1] if first else 0
        if before is not None and self._sections[first] == (before.message_id, before.section):
            index = min(index + before.number, self._sums[first] - 1)
        self._go_to(index, scroll)

    def _go_to(self, index: int, scroll: bool = True) -> None:
        self._current = index
        self._bar.show_count(index + 1, self._total)
        self._highlights.go_to(self._hit(index), scroll)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        bind = self._window.commands.bind
        bind("find_in_chat", self.open)
        bind("find_next", lambda: self.step(1))
        bind("find_previous", lambda: self.step(-1))
        self._bar.words_changed.connect(lambda _: self._pause.request())
        self._bar.closed.connect(self.dismiss)
        self._bar.restyled.connect(self._highlights.restyle)
        chats = self._open_chats
        chats.current_changed.connect(self._forget_chat)
        chats.follow_current(
            self._search_again, chats.branch_changed, chats.message_added, chats.message_changed, chats.answer_ended
        )

    def _forget_chat(self, _conversation: Conversation) -> None:
        self._read.clear()
        self._set_counts([])

    def _search_again(self) -> None:
        """Count again, without scrolling: the user did not ask for that."""
        if not self._bar.isHidden():
            self._search()
