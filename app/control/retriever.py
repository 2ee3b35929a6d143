"""Finds what helps to answer a question in the collections that are switched on in its chat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.attachments.attachment import Attachment, estimated_tokens
from app.attachments.fitting import room_beside_question, room_for_files
from app.collections.attached import attachments_of
from app.collections.clients import SearchProcess
from app.collections.messages import DAMAGED, Answer
from app.collections.words import question_words
from app.notice import NoticeArea
from app.state.collections import Collections
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.words import mark, tr

ASSUMED_CONTEXT = 4_096  # tokens, until a model is loaded
MARGIN = 1.2  # estimated tokens of the chat may be too few
MOST_TOKENS = 6_000  # of passages; more take minutes to read
FEW_WORDS = 3  # a shorter question is about what was asked before
TOPIC = "collections"  # of notices
FAILED = mark("Your collections could not be searched. The message was sent without them.")
NOT_YET = mark("Your collections are not indexed yet. The message was sent without them.")


class Retriever(QObject):
    """The searching process, asked for the open chat's collections. `damaged`: it found the index damaged."""

    damaged = Signal()

    def __init__(
        self, collections: Collections, engine: EngineQueue, notice: NoticeArea, folder: Path, parent: QObject
    ) -> None:
        super().__init__(parent)
        self.search = SearchProcess(folder, self)
        self._collections, self._engine, self._notice = collections, engine, notice

    def close(self) -> None:
        self.search.close()

    def warm_up(self, conversation: Conversation) -> None:
        """Start the searching process when the user begins a message, so that Send does not wait for the start."""
        if self._collections.used_by(conversation):
            self.search.warm_up()

    def is_wanted(self, conversation: Conversation, text: str) -> bool:
        """Return whether a question is searched for: a text, in a chat with collections."""
        return bool(text.strip() and self._collections.used_by(conversation))

    def find(
        self,
        conversation: Conversation,
        text: str,
        attached: tuple[Attachment, ...],
        done: Callable[[tuple[Attachment, ...]], object],
    ) -> None:
        """Call `done` with what was found for the question and fits beside it and its attached files."""
        used = self._collections.used_by(conversation)

        def answered(answer: Answer | None) -> None:
            if answer is not None and answer.problem == DAMAGED:
                self.damaged.emit()
                done(())
                return
            problem = FAILED if answer is None or answer.problem else "" if answer.searched else NOT_YET
            if answer is None or problem:
                self._notice.post(lambda: tr(problem), kind="problem", topic=TOPIC, chat=conversation.chat.id)
                done(())
            else:
                self._notice.solve(TOPIC)
                read = [message.content for message in conversation.certain_prompt() if message.role == "user"]
                done(attachments_of(answer, [each.name for each in used], read))

        folders = self._collections.folders_of(used)
        self.search.find(_query(conversation, text), folders, self._room(conversation, text, attached), answered)

    def _room(self, conversation: Conversation, text: str, attached: tuple[Attachment, ...]) -> int:
        """Estimate the tokens that the chat, the question and its attached files leave."""
        model = self._engine.state.model
        texts = [message.content for message in conversation.certain_prompt()]
        texts += [each.text for each in attached if each.sent is None]
        texts += [each.part(index) for each in attached if each.sent for index in each.sent]
        before = round(sum(map(estimated_tokens, texts)) * MARGIN)
        room = room_for_files((model.n_ctx if model else 0) or ASSUMED_CONTEXT, before)
        return min(MOST_TOKENS, room_beside_question(room, text))


def _query(conversation: Conversation, text: str) -> str:
    """Return what is searched for: the question, with the one before it if it has few words of its own."""
    before = [message.content for message in conversation.messages if message.role == "user"]
    return f"{text}\n{before[-1]}" if before and len(question_words(text)) < FEW_WORDS else text
