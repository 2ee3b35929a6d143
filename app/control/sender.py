"""Sends messages: has their files counted, and the user choose what does not fit; searches files and collections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from PySide6.QtCore import QObject

from app.attachments.attachment import Attachment
from app.control.draft_files import FILES
from app.control.retriever import Retriever
from app.events import Event
from app.notice import NoticeArea
from app.services.background import Background
from app.state.conversation import Conversation
from app.state.draft import Unsent
from app.state.draft_fit import DraftFit, selected_files
from app.words import mark, tr
from common.failures import Failure

SEARCH_FAILED = mark("The files could not be searched, so nothing was sent.")
Phase = Literal["editing", "counting", "choosing", "searching"]


@dataclass(eq=False)
class _Sending:
    """One try to send a message. The outcome of an earlier try has no effect."""

    conversation: Conversation
    phase: Phase = "editing"


class Sender(QObject):
    """Sender of messages, each with a state of its own.

    editing → counting: files are read or counted → choosing: the user must say what is sent of too long files →
    searching → sent. A message that is not on its way is being edited. `changed` is emitted when a message waits for
    something else, and `deliver` is called with the conversation, the message and the files to send.
    """

    def __init__(
        self,
        fit: DraftFit,
        retriever: Retriever,
        notice: NoticeArea,
        deliver: Callable[[Conversation, Unsent, tuple[Attachment, ...]], object],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.changed: Event[Conversation, Unsent] = Event()
        self._fit, self._retriever, self._notice, self._deliver = fit, retriever, notice, deliver
        self._under_way: dict[Unsent, _Sending] = {}
        self._background = Background(self)

    def close(self) -> None:
        self._background.wait()

    def phase(self, message: Unsent) -> Phase:
        """Return what the message waits for."""
        sending = self._under_way.get(message)
        return sending.phase if sending else "editing"

    def send(self, conversation: Conversation, message: Unsent) -> None:
        """Send the message as soon as its files are read and counted; a second call does not wait for the counting."""
        phase = self.phase(message)
        if phase == "searching":
            return
        if phase == "editing":
            self._under_way[message] = _Sending(conversation)
            self._fit.count(conversation, message)
        self._advance(message, counts=phase != "counting")

    def leave(self, message: Unsent, *phases: Phase) -> None:
        """Return the message to the user, who does not want to send it yet, if it is in one of these phases."""
        if self.phase(message) in phases:
            self._enter(message, "editing")

    def go_on(self) -> None:
        """Send what has waited for files that were read or counted meanwhile, or for an engine that has ended."""
        for _conversation, message in self.counting():
            self._advance(message)

    def counting(self) -> list[tuple[Conversation, Unsent]]:
        """Return the messages that wait for their files to be counted, with their chats."""
        return [(each.conversation, message) for message, each in self._under_way.items() if each.phase == "counting"]

    def _advance(self, message: Unsent, counts: bool = True) -> None:
        if message.reading or (counts and self._fit.is_due(message)):
            self._enter(message, "counting")
        elif message.fit == "too_much":
            self._enter(message, "choosing")
        else:
            self._select(message)

    def _enter(self, message: Unsent, phase: Phase) -> None:
        sending = self._under_way[message]
        before, sending.phase = sending.phase, phase
        if phase == "editing":
            del self._under_way[message]
        if phase != before or phase == "choosing":  # the user pressed Send again, and must still choose
            self.changed.emit(sending.conversation, message)

    def _select(self, message: Unsent) -> None:
        """Select the parts of the files that are sent."""
        if message.fit not in ("best", "beginning"):
            self._search(message, message.attachments)
            return
        self._enter(message, "searching")
        sending = self._under_way[message]

        def failed(_failure: Failure) -> None:
            if self._under_way.get(message) is sending:
                self._enter(message, "editing")
                self._notice.post(
                    lambda: tr(SEARCH_FAILED), kind="problem", topic=FILES, chat=sending.conversation.chat.id
                )

        def selected(files: tuple[Attachment, ...]) -> None:
            if self._under_way.get(message) is sending:
                self._search(message, files)

        self._background.run(partial(selected_files, message), selected, failed)

    def _search(self, message: Unsent, files: tuple[Attachment, ...]) -> None:
        """Search the chat's collections, then deliver the message."""
        sending = self._under_way[message]
        conversation = sending.conversation

        def found(passages: tuple[Attachment, ...]) -> None:
            if self._under_way.get(message) is sending:
                self._enter(message, "editing")
                self._deliver(conversation, message, (*files, *passages))

        if conversation.busy or not self._retriever.is_wanted(conversation, message.text):
            found(())
        else:
            self._enter(message, "searching")
            self._retriever.find(conversation, message.text, files, found)
