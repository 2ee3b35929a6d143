"""One chat while it is open: what a send, a piece of text, an end or a failure does to its messages and the store.

Knows neither windows nor the engine's process. Storing never stops a chat: what cannot be stored stays in memory, is
tried again with the next write, and `not_saved` tells the reason once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.attachments.attachment import Attachment
from app.events import Event
from app.state.answer_facts import continued, packed, sources_of, unpacked
from app.state.draft import MessageDraft
from app.state.prompt import prompt_of, turns_to_free, with_draft, without_oldest
from app.state.saving import ChatSaver
from app.store.chat import UNTITLED, Chat, ChatMessage, Ending, cleaned, title_of
from app.store.chat_store import ChatStore
from app.store.tree import Tree, chosen_from
from app.words import Saying, mark, tr, worded
from common.failures import Failure
from common.reasoning import Kind, open_sections
from common.sentences import Sentence, stored
from engine.protocol import Message, Remedy, Statistics

# A second is promised: to it come the quarter until somebody looks again (app.wiring), and a busy computer's delays.
CHECKPOINT_SECONDS = 0.4
GOES_ON = mark("You can go on chatting, but what is not saved is lost when you close the window.")
Phase = Literal["idle", "waiting", "reading", "answering"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How far the prompt is read, in tokens; `seconds_left` is None until there is a rate to tell it from."""

    done: int
    total: int
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Deleted:
    """What `Conversation.delete` took away: the messages' ids, and the last message shown before."""

    ids: tuple[str, ...]
    leaf: str


class ThoughtTimer:
    """How long a model thinks before it answers, by a `clock` that gives seconds and the pieces of the answer."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.resume("", None)

    def resume(self, text: str, seconds: float | None) -> None:
        """Go on with what was measured of an answer's beginning."""
        sections = open_sections(text)
        self._thinking = sections.thinking
        self._thought = any(section.thought for section in sections.all)
        self._seconds = seconds or 0.0
        self._first: float | None = None
        self._last = 0.0

    def take(self, kind: Kind) -> None:
        """A piece of the answer has come."""
        now = self._clock()
        if self._first is None:
            self._first = self._last = now
        if self._thinking:
            self._seconds += now - self._last
        if kind == "opened":
            self._thinking = self._thought = True
        elif kind == "closed":
            self._thinking = False
        elif kind == "unopened":  # only its end shows that all of it was one
            self._seconds, self._thought = now - self._first, True
        self._last = now

    @property
    def seconds(self) -> float | None:
        """None where nothing was thought."""
        return self._seconds if self._thought else None


class ConversationEvents:
    """What a conversation tells of itself, and `OpenChats` of all of them.

    `branch_changed`: other messages are shown now, or have other siblings; `phase_changed`: of the phase, or how far
    the prompt is read; `entry_changed`: what the list of chats shows; `context_changed`: which turns the model reads;
    `not_saved` carries the words for the user."""

    def __init__(self) -> None:
        self.message_added: Event[Conversation, ChatMessage] = Event()
        self.answer_ended: Event[Conversation, ChatMessage] = Event()
        self.phase_changed: Event[Conversation] = Event()
        self.branch_changed: Event[Conversation] = Event()
        self.entry_changed: Event[Conversation] = Event()
        self.options_changed: Event[Conversation] = Event()
        self.context_changed: Event[Conversation] = Event()
        self.not_saved: Event[Conversation, Saying] = Event()


class Conversation(ConversationEvents):
    """The state machine of one chat: idle → waiting → reading → answering → idle.

    `tree` has all messages and `messages` is the shown branch; while an answer is written its last entry is the answer
    as last checkpointed, and `answer_text` the whole of it. `edits`: what the user has begun to make of a message;
    `unfolded`: which thoughts he looks at, a message's id and the number of its thought.
    `draft` is what stands in the composer, None until somebody has looked. `clock` gives monotonic seconds.

    `answer_resumed`: the last answer goes on.
    """

    def __init__(
        self,
        store: ChatStore,
        chat: Chat | None = None,
        messages: Iterable[ChatMessage] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.store = store
        self.chat = chat or Chat()
        self.tree = Tree(messages, self.chat.leaf_id, chosen_from(self.chat.chosen))
        self.messages = self.tree.branch()
        self.edits: dict[str, str] = {}
        self.unfolded: set[tuple[str, int]] = set()
        self.draft: MessageDraft | None = None
        self.phase: Phase = "idle"
        self.reading: Reading | None = None
        self.remedies: tuple[Remedy, ...] = ()  # what the user may choose from, now that the context is full
        self.text_appended: Event[str, Kind] = Event()
        self.answer_resumed: Event[Conversation] = Event()
        self._clock = clock
        self._thinking = ThoughtTimer(clock)
        self._pieces: list[str] = []
        self._storing = ChatSaver(store, chat is not None, self._cannot_store)
        self._continuing = False
        self._before: str | None = None  # the end of the branch that is shown again if the next answer never begins
        self._saved_at = 0.0
        self._read_from: tuple[float, int] | None = None

    # --- what the user does -----------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self.phase != "idle"

    @property
    def stored(self) -> bool:
        return self._storing.stored

    @property
    def continuing(self) -> bool:
        """Is the last answer going on, rather than a new one being written?"""
        return self._continuing

    @property
    def can_continue(self) -> bool:
        """Is the last message an answer that stopped before its end?"""
        last = self.messages[-1] if self.messages else None
        return not self.busy and last is not None and last.role == "assistant" and last.unfinished

    def send(self, text: str, attachments: tuple[Attachment, ...] = ()) -> bool:
        """Append and store the user's message; False when there is nothing to send or an answer is under way."""
        text = cleaned(text)
        if self.busy or not (text or attachments):
            return False
        message = ChatMessage(self.chat.id, self.tree.leaf, "user", text, stop_reason="end", attachments=attachments)
        if not self.messages and self.chat.title == UNTITLED:
            self.chat = replace(self.chat, title=title_of(text or attachments[0].name))
        self._append(message)
        self._enter("waiting")
        return True

    def edit(self, id: str, text: str) -> bool:
        """Put another wording of a user's message beside it, to be answered; the same wording is answered again."""
        message, text = self.tree[id], cleaned(text)
        if self.busy or not text or message.role != "user":
            return False
        self.edits.pop(id, None)
        if text == message.content:
            return self.answer_again(id)
        edited = ChatMessage(
            self.chat.id, message.parent_id, "user", text, stop_reason="end", attachments=message.attachments
        )
        self._put_below(message.parent_id, edited)
        self._enter("waiting")
        return True

    def answer_again(self, id: str | None = None) -> bool:
        """Make ready for another answer: beside the answer `id`, or to the user's message `id`; None: at the end."""
        if self.busy or not self.messages:
            return False
        message = self.tree[id] if id else self.messages[-1]
        question = message.parent_id if message.role == "assistant" else message.id
        if question is None:
            return False
        self._before = self.tree.leaf
        self.tree.stop_at(question)
        self._show()
        self._enter("waiting")
        return True

    def go_on(self) -> bool:
        """Make ready for the last answer to be continued."""
        if not self.can_continue:
            return False
        self._continuing = True
        self._enter("waiting")
        return True

    def withdraw(self) -> None:
        """The user no longer wants the answer that has not begun."""
        if self.phase == "waiting":
            self._continuing = False
            if self._before:
                self.tree.show(self._before)
                self._before = None
                self._show()
            self._enter("idle")

    def show(self, id: str) -> bool:
        """Show the branch that goes through `id`."""
        if self.busy or id not in self.tree:
            return False
        self.tree.show(id)
        self._show(store=True)
        return True

    def step(self, id: str, by: int) -> bool:
        """Show the sibling of `id` that is `by` places further; False where there is none."""
        siblings = self.tree.siblings(id)
        at = siblings.index(id) + by
        return 0 <= at < len(siblings) and self.show(siblings[at])

    def delete(self, id: str) -> Deleted | None:
        """Take the message, and what hangs below it, off the chat; `restore` brings them back."""
        if self.busy or id not in self.tree or not self.tree.leaf:
            return None
        leaf = self.tree.leaf
        gone = self.tree.delete(id, time.time())
        self._show(store=True, changed=gone)
        return Deleted(tuple(message.id for message in gone), leaf)

    def restore(self, deleted: Deleted) -> None:
        """Undo `delete`. While an answer is written the messages come back, but what is shown stays."""
        back = self.tree.restore(deleted.ids)
        if not self.busy and deleted.leaf in self.tree:
            self.tree.show(deleted.leaf)
        self._show(store=True, changed=back)

    def rename(self, title: str) -> None:
        title = " ".join(title.split())
        if title and title != self.chat.title:
            self.amend(title=title)

    def amend(self, **values: Any) -> None:
        """Another title, pin or folder for the chat's entry."""
        self.chat = replace(self.chat, **values)
        self._save()
        self.entry_changed.emit(self)

    def use_options(self, options: str) -> None:
        """From the next message on answer with these, JSON of app.settings.resolve.ChatOptions."""
        if options != self.chat.options:
            self.chat = replace(self.chat, options=options)
            if self.stored:
                self._save()
            self.options_changed.emit(self)

    def forget_oldest(self, turns: int) -> None:
        """From now on leave out so many more of the oldest turns."""
        self.chat = replace(self.chat, forget_turns=self.chat.forget_turns + turns)
        self.remedies = ()
        self._save()
        self.context_changed.emit(self)

    # --- what the engine does ---------------------------------------------------------------------------------------

    def prompt(self) -> tuple[Message, ...]:
        """The branch as the model sees it, the turns to forget included."""
        return prompt_of(self.messages, self._continuing)

    def history(self) -> tuple[Message, ...]:
        """What the model is certain to read with the next message, the files in the composer included."""
        files = self.draft.certain() if self.draft else ()
        return without_oldest(with_draft(self.messages, files), self.chat.forget_turns)

    def begin(self, model: str) -> None:
        """The engine has taken the request: open the answer."""
        self._read_from = None
        self._before = None
        if self._continuing:
            self._reopen(model)
        else:
            self._pieces = []
            self._thinking.resume("", None)
            sources = sources_of(self.messages[-1].attachments if self.messages else ())
            self._append(ChatMessage(self.chat.id, self.tree.leaf, "assistant", "", model=model, sources=sources))
        self._enter("reading")

    def read(self, done: int, total: int, reused: int) -> None:
        now = self._clock()
        if self._read_from is None:
            self._read_from = (now, reused)
        since, first = self._read_from
        rate = (done - first) / (now - since) if now > since and done > first else 0.0
        self.reading = Reading(done, total, (total - done) / rate if rate else None)
        self.phase_changed.emit(self)

    def grow(self, text: str, kind: Kind = "text") -> None:
        """A piece of the answer."""
        self._pieces.append(text)
        self._thinking.take(kind)
        if self.phase == "reading":
            self._enter("answering")
        self.text_appended.emit(text, kind)
        self.checkpoint()

    def finish(self, statistics: Statistics) -> None:
        whole = continued(unpacked(self.messages[-1].statistics), statistics)
        answer = replace(self._answer(), stop_reason=statistics.stop_reason, statistics=packed(whole))
        self._update(answer)
        if statistics.stop_reason == "context":
            turns = turns_to_free(self.prompt(), self.chat.forget_turns)
            self.remedies = (Remedy("forget_turns", turns=turns),) if turns else ()
        self._end(answer)

    def fail(
        self, sentence: Sentence | None, detail: str = "", reason: Ending = "failed", remedies: tuple[Remedy, ...] = ()
    ) -> None:
        """The answer cannot go on; what was written of it is kept."""
        if self.phase in ("reading", "answering"):
            self.remedies = remedies
            self._end(
                replace(self._answer(), stop_reason=reason, problem=stored(sentence) if sentence else "", detail=detail)
            )

    def checkpoint(self, at_once: bool = False) -> None:
        """Store the answer written so far if the last time is CHECKPOINT_SECONDS ago, or in any case."""
        if self.phase != "answering" and not (at_once and self.busy):
            return
        if at_once or self._clock() - self._saved_at >= CHECKPOINT_SECONDS:
            answer = self.messages[-1]
            if answer.role == "assistant" and self._pieces:
                self._update(self._answer())
                self._save(self.messages[-1])

    @property
    def answer_text(self) -> str:
        """The text of the answer under way."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    # --- inside -----------------------------------------------------------------------------------------------------

    def _answer(self) -> ChatMessage:
        return replace(self.messages[-1], content=self.answer_text, thought_seconds=self._thinking.seconds)

    def _append(self, message: ChatMessage) -> None:
        self.tree.put(message)
        self.tree.stop_at(message.id)
        self.messages.append(message)
        self.chat = replace(self._chat_now(), updated_at=message.created_at)
        self._save(message)
        self.message_added.emit(self, message)
        self.entry_changed.emit(self)

    def _put_below(self, parent: str | None, message: ChatMessage) -> None:
        """Cut the shown branch behind `parent` and add the message there, in one write."""
        path = self.tree.path(parent)
        self.messages = [each for each in self.messages if each.id in path]
        self.branch_changed.emit(self)
        self._append(message)

    def _reopen(self, model: str) -> None:
        """The last answer goes on: it is unfinished again, and what it was stopped by is no longer true."""
        answer = replace(self.messages[-1], stop_reason=None, problem="", detail="", model=model)
        self._pieces = [answer.content]
        self._thinking.resume(answer.content, answer.thought_seconds)
        self._update(answer)
        self._save(answer)
        self.answer_resumed.emit(self)

    def _update(self, message: ChatMessage) -> None:
        self.messages[-1] = message
        self.tree.put(message)

    def _show(self, store: bool = False, changed: Iterable[ChatMessage] = ()) -> None:
        """The tree shows another branch, or the same one with other siblings."""
        self.messages = self.tree.branch()
        self.remedies = ()
        if store:
            self.chat = self._chat_now()
            self._save(*changed)
        self.branch_changed.emit(self)

    def _chat_now(self) -> Chat:
        return replace(self.chat, leaf_id=self.tree.leaf, chosen=self.tree.chosen_text())

    def _end(self, answer: ChatMessage) -> None:
        self._update(answer)
        self._save(answer)
        self._pieces = []
        self._continuing = False
        self._enter("idle")
        self.answer_ended.emit(self, answer)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.reading = None
        if phase == "waiting":
            self.remedies = ()
        self.phase_changed.emit(self)

    def unstored(self) -> Failure | None:
        """Why the last words of this chat cannot be stored, when that was tried once more; None: they are."""
        return self._storing.unstored()

    def let_go(self) -> None:
        """It was deleted for good: what may still come of an answer is not stored."""
        self._storing.end()

    def _save(self, *messages: ChatMessage) -> None:
        self._saved_at = self._clock()
        self._storing.save(self.chat, messages)

    def _cannot_store(self, failure: Failure) -> None:
        self.not_saved.emit(self, lambda: f"{worded(failure.sentence)} {tr(GOES_ON)}")
