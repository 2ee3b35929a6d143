"""One chat while it is open: how sending, pieces of an answer, its end or a failure change the messages and the store.

Knows neither windows nor the engine's process. A failed write never stops a chat: what cannot be stored stays in memory
and is written again with the next write, and `not_saved` gives the reason once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from app.attachments.attachment import Attachment, pictures_in
from app.events import Event
from app.state.answer_facts import continued, sources_of, statistics_from_json, statistics_to_json
from app.state.draft import MessageDraft
from app.state.prompt import drop_oldest_turns, prompt_of, turns_to_free, with_draft
from app.state.saving import ChatSaver
from app.store.chat import UNTITLED, Chat, ChatMessage, Ending, cleaned, new_id, title_of
from app.store.chat_store import ChatStore
from app.store.tree import Tree, chosen_from
from app.words import UiText, mark, tr, worded
from common.failures import Failure
from common.reasoning import PieceKind, open_sections, without_thoughts
from common.sentences import Sentence, encode_sentence
from engine.protocol.events import Remedy, Statistics
from engine.protocol.requests import Message

# The promise is that at most one second of an answer is lost: up to 0.25 s until the next tick (app.wiring) and the
# delays of a busy computer are added to this.
CHECKPOINT_SECONDS = 0.4
GOES_ON = mark("You can go on chatting, but what is not saved is lost when you close the window.")
Phase = Literal["idle", "waiting", "reading", "answering"]


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """Progress of prefill in tokens; `seconds_left` is None until there is a rate to estimate it from.

    `looking`: the fraction of all pictures that is encoded, while one is; else 0.
    """

    done: int
    total: int
    seconds_left: float | None
    looking: float = 0.0


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of `Conversation.delete`: the ids of the deleted messages, and the last message shown before."""

    ids: tuple[str, ...]
    leaf: str


class ThoughtTimer:
    """Timer of how long a model thinks before it answers, driven by the pieces of the answer; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.resume("", None)

    def resume(self, text: str, seconds: float | None) -> None:
        """Continue from the text of an answer's beginning and the seconds of thought measured so far."""
        sections = open_sections(text)
        self._thinking = sections.thinking
        self._thought = any(section.thought for section in sections.all)
        self._seconds = seconds or 0.0
        self._first: float | None = None
        self._last = 0.0

    def add_piece(self, kind: PieceKind) -> None:
        """Add the time since the last piece to the thought, if the model was thinking."""
        now = self._clock()
        if self._first is None:
            self._first = self._last = now
        if self._thinking:
            self._seconds += now - self._last
        if kind == "opened":
            self._thinking = self._thought = True
        elif kind == "closed":
            self._thinking = False
        elif kind == "unopened":  # only the end mark shows that all text so far was a thought
            self._seconds, self._thought = now - self._first, True
        self._last = now

    @property
    def seconds(self) -> float | None:
        """Seconds of thought; None if the model did not think."""
        return self._seconds if self._thought else None

    @property
    def thinking(self) -> bool:
        """Whether a thought is under way."""
        return self._thinking


class ConversationEvents:
    """The events of a conversation; `OpenChats` emits those of all open conversations.

    `branch_changed`: other messages are shown, or their siblings changed. `progress_changed`: more of the prompt was
    read. `entry_changed`: what the list of chats shows changed. `context_changed`: which turns the model reads changed.
    `not_saved` carries the text for the user.
    """

    def __init__(self) -> None:
        self.message_added: Event[Conversation, ChatMessage] = Event()
        self.answer_ended: Event[Conversation, ChatMessage] = Event()
        self.phase_changed: Event[Conversation] = Event()
        self.progress_changed: Event[Conversation] = Event()
        self.branch_changed: Event[Conversation] = Event()
        self.entry_changed: Event[Conversation] = Event()
        self.options_changed: Event[Conversation] = Event()
        self.context_changed: Event[Conversation] = Event()
        self.not_saved: Event[Conversation, UiText] = Event()


class Conversation(ConversationEvents):
    """The state machine of one chat: idle → waiting → reading → answering → idle.

    `tree` has all messages and `messages` is the shown branch. While an answer is written, the last entry of `messages`
    is the answer as last checkpointed, and `answer_text` the whole of it. `edits` holds the unsent text of messages
    that the user is editing, by message id. `unfolded` holds the thoughts that the user has opened, as (message id,
    number of the thought). `draft` is the content of the composer; None until it was loaded. `clock` gives monotonic
    seconds. A `temporary` chat is never stored. `answer_resumed` is emitted when the last answer is continued,
    `thoughts_counted` with the number of tokens of the answer's thoughts when one of them ends. `asked_host` is the
    host of a server that the user must let read this chat before it is answered; "" where nothing is asked.
    """

    def __init__(
        self,
        store: ChatStore,
        chat: Chat | None = None,
        messages: Iterable[ChatMessage] = (),
        clock: Callable[[], float] = time.monotonic,
        temporary: bool = False,
    ) -> None:
        super().__init__()
        self.store, self.temporary = store, temporary
        self.chat = chat or Chat()
        self.tree = Tree(messages, self.chat.leaf_id, chosen_from(self.chat.chosen))
        self.messages = self.tree.branch()
        self.edits: dict[str, str] = {}
        self.unfolded: set[tuple[str, int]] = set()
        self.draft: MessageDraft | None = None
        self.phase: Phase = "idle"
        self.asked_host = ""
        self.prompt_progress: PromptProgress | None = None
        self.remedies: tuple[Remedy, ...] = ()  # offered to the user when the context is full
        self.text_appended: Event[str, PieceKind] = Event()
        self.thoughts_counted: Event[int] = Event()
        self.answer_resumed: Event[Conversation] = Event()
        self._clock = clock
        self._thought_timer = ThoughtTimer(clock)
        self._pieces: list[str] = []
        self._thinking_tokens = 0
        self._saver = ChatSaver(store, chat is not None and not temporary, self._cannot_store)
        self._continuing = False
        self._leaf_before: str | None = None  # leaf of the branch to show again if the answer never begins
        self._saved_at = 0.0
        self._prefill_start: tuple[float, int] | None = None

    # --- what the user does -----------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self.phase != "idle"

    @property
    def thinking(self) -> bool:
        """Whether the model is thinking before it answers."""
        return self.phase == "answering" and self._thought_timer.thinking

    @property
    def stored(self) -> bool:
        return self._saver.stored

    @property
    def is_in_store(self) -> bool:
        """Whether the chat can be read from the store; one may be missing that is temporary or could not be written."""
        return self.stored and not self.temporary

    @property
    def discarded(self) -> bool:
        """Whether the chat was deleted permanently, so that neither its messages nor its draft may be stored."""
        return self._saver.stopped

    @property
    def cache_id(self) -> str:
        """Id under which the engine may keep what it has read of this chat on the disk; "" for a temporary chat."""
        return "" if self.temporary else self.chat.id

    @property
    def continuing(self) -> bool:
        """Whether the answer under way continues the last one, instead of being a new one."""
        return self._continuing

    @property
    def can_continue(self) -> bool:
        """Whether the last message is an answer that stopped before its end."""
        last = self.messages[-1] if self.messages else None
        return not self.busy and last is not None and last.role == "assistant" and last.unfinished

    def send(self, text: str, attachments: tuple[Attachment, ...] = ()) -> bool:
        """Append and store the user's message; return False if it is empty, an answer is under way or the chat gone."""
        text = cleaned(text)
        if self.busy or self.discarded or not (text or attachments):
            return False
        message = ChatMessage(self.chat.id, self.tree.leaf, "user", text, stop_reason="end", attachments=attachments)
        if not self.messages and self.chat.title == UNTITLED:
            self.chat = replace(self.chat, title=title_of(text or attachments[0].name))
        self._append(message)
        self._set_phase("waiting")
        return True

    def edit(self, id: str, text: str) -> bool:
        """Add a new wording of a user's message as its sibling, to be answered; the same wording is answered again."""
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
        self._set_phase("waiting")
        return True

    def edit_answer(self, id: str, text: str) -> bool:
        """Add the user's own wording of an answer as its sibling, without thoughts; nothing is answered."""
        message, text = self.tree[id], cleaned(text)
        if self.busy or not text or message.role != "assistant":
            return False
        self.edits.pop(id, None)
        if text == without_thoughts(message.content).strip():
            return True
        edited = ChatMessage(
            self.chat.id, message.parent_id, "assistant", text, stop_reason="end", model=message.model,
            sources=message.sources, edited_at=time.time(),
        )  # fmt: skip
        self._put_below(message.parent_id, edited)
        return True

    def branch_off(self, id: str) -> Conversation:
        """Return a new chat with copies of the shown messages up to `id`, with the same title, options and folder.

        A copy of a temporary chat is temporary too.
        """
        title = tr("{title} (branch)", title=self.chat.title)
        chat = replace(self.chat, title=title, id=new_id(), created_at=time.time(), updated_at=time.time())
        ids = {message_id: new_id() for message_id in self.tree.path(id)}
        copies = [
            replace(self.tree[old], id=new, chat_id=chat.id, parent_id=ids.get(self.tree[old].parent_id or ""))
            for old, new in ids.items()
        ]
        chat = replace(chat, leaf_id=ids[id], chosen="", pinned_at=None, unread_at=None, agreed="", title_from="")
        copy = Conversation(self.store, chat, copies, self._clock, self.temporary)
        copy._saver.stored = False  # not yet
        copy._save(*copies)
        return copy

    def answer_again(self, id: str | None = None) -> bool:
        """Prepare for another answer, as a sibling of the answer `id` or to the user's message `id`.

        None takes the last message of the branch.
        """
        if self.busy or not self.messages:
            return False
        message = self.tree[id] if id else self.messages[-1]
        question = message.parent_id if message.role == "assistant" else message.id
        if question is None:
            return False
        self._leaf_before = self.tree.leaf
        self.tree.stop_at(question)
        self._update_branch()
        self._set_phase("waiting")
        return True

    def continue_answer(self) -> bool:
        """Prepare for continuing the last answer; return False if it cannot be continued."""
        if not self.can_continue:
            return False
        self._continuing = True
        self._set_phase("waiting")
        return True

    def may_leave_for(self, host: str) -> bool:
        """Return whether the user lets this server read the chat."""
        return host in self.chat.agreed.split("\n")

    def ask_about(self, host: str) -> None:
        """Wait for the user, who must let the server `host` read the chat first; "" waits for nothing."""
        if host != self.asked_host:
            self.asked_host = host
            self.phase_changed.emit(self)

    def agree(self) -> None:
        """Let the server that was asked about read this chat from now on."""
        self.chat = replace(self.chat, agreed=f"{self.chat.agreed}\n{self.asked_host}".strip())
        if self.stored:
            self._save()
        self.ask_about("")

    def withdraw(self) -> None:
        """Return to idle, if the answer has not begun: the user does not want it any more."""
        if self.phase == "waiting":
            self._continuing = False
            self.asked_host = ""
            if self._leaf_before:
                self.tree.show(self._leaf_before)
                self._leaf_before = None
                self._update_branch()
            self._set_phase("idle")

    def show(self, id: str) -> bool:
        """Show the branch that goes through message `id`."""
        if self.busy or id not in self.tree:
            return False
        self.tree.show(id)
        self._update_branch(store=True)
        return True

    def show_sibling(self, id: str, by: int) -> bool:
        """Show the sibling `by` places after message `id`; return False if there is none."""
        siblings = self.tree.siblings(id)
        at = siblings.index(id) + by
        return 0 <= at < len(siblings) and self.show(siblings[at])

    def delete(self, id: str) -> Deleted | None:
        """Delete the message and all messages below it from the chat; `restore` brings them back."""
        if self.busy or id not in self.tree or not self.tree.leaf:
            return None
        leaf = self.tree.leaf
        gone = self.tree.delete(id, time.time())
        self._update_branch(store=True, changed=gone)
        return Deleted(tuple(message.id for message in gone), leaf)

    def restore(self, deleted: Deleted) -> None:
        """Undo `delete`; while an answer is written, the shown branch stays as it is."""
        back = self.tree.restore(deleted.ids)
        if not self.busy and deleted.leaf in self.tree:
            self.tree.show(deleted.leaf)
        self._update_branch(store=True, changed=back)

    @property
    def first_line_title(self) -> str:
        """The title that the chat has by itself, of its first question; "" for a chat without one."""
        first = self.messages[0] if self.messages else None
        if first is None or first.role != "user":
            return ""
        return title_of(first.content or first.attachments[0].name) if first.content or first.attachments else ""

    @property
    def has_first_line_title(self) -> bool:
        """Whether the title is the chat's first line, and not because the user wants it so."""
        return not self.chat.title_from and self.chat.title == self.first_line_title

    def rename(self, title: str) -> None:
        title = " ".join(title.split())
        if title and title != self.chat.title:
            self.update_entry(title=title, title_from="user")

    def update_entry(self, **values: Any) -> None:
        """Change the title, pin or folder of the chat's entry; an empty chat is stored with its first message."""
        self.chat = replace(self.chat, **values)
        if self.stored:
            self._save()
        self.entry_changed.emit(self)

    def use_options(self, options: str) -> None:
        """Use these options from the next message on; `options` is JSON of app.settings.resolve.ChatOptions."""
        if options != self.chat.options:
            self.chat = replace(self.chat, options=options)
            if self.stored:
                self._save()
            self.options_changed.emit(self)

    def forget_oldest(self, turns: int) -> None:
        """Leave out this many more of the oldest turns from now on."""
        self.chat = replace(self.chat, forget_turns=self.chat.forget_turns + turns)
        self.remedies = ()
        self._save()
        self.context_changed.emit(self)

    # --- what the engine does ---------------------------------------------------------------------------------------

    def prompt(self) -> tuple[Message, ...]:
        """Return the shown branch as the model sees it, including the turns that the engine will leave out."""
        return prompt_of(self.messages, self._continuing)

    def certain_prompt(self) -> tuple[Message, ...]:
        """Return the messages that the model will certainly read with the next question, including attached files."""
        files = self._new_files
        return drop_oldest_turns(with_draft(self.messages, files), self.chat.forget_turns)

    @property
    def has_new_files(self) -> bool:
        """Whether files are attached that will be sent with the next question."""
        return bool(self._new_files)

    @property
    def _new_files(self) -> tuple[Attachment, ...]:
        return self.draft.certain_attachments() if self.draft else ()

    def begin_answer(self, model: str, model_path: str = "") -> None:
        """Open the answer: the engine has accepted the request. From now on `model` is the chat's model."""
        self._prefill_start = None
        self._leaf_before = None
        self.asked_host = ""
        self.chat = replace(self.chat, model=model, model_path=model_path)
        self._thinking_tokens = 0
        if self._continuing:
            self._reopen(model)
        else:
            self._pieces = []
            self._thought_timer.resume("", None)
            sources = sources_of(self.messages[-1].attachments if self.messages else ())
            self._append(ChatMessage(self.chat.id, self.tree.leaf, "assistant", "", model=model, sources=sources))
        self._set_phase("reading")

    @property
    def reads_pictures(self) -> bool:
        """Whether the question that the model is still reading has pictures."""
        questions = [message for message in self.messages if message.role == "user"]
        return self.phase == "reading" and bool(questions) and bool(pictures_in(questions[-1].attachments))

    def update_prompt_progress(self, done: int, total: int, reused: int, looking: float = 0.0) -> None:
        now = self._clock()
        if self._prefill_start is None:
            self._prefill_start = (now, reused)
        since, first = self._prefill_start
        rate = (done - first) / (now - since) if now > since and done > first else 0.0
        self.prompt_progress = PromptProgress(done, total, (total - done) / rate if rate else None, looking)
        self.progress_changed.emit(self)

    def append_text(self, text: str, kind: PieceKind = "text") -> None:
        """Append a piece of the answer's text and store a checkpoint if one is due."""
        self._pieces.append(text)
        self._thought_timer.add_piece(kind)
        if self.phase == "reading":
            self._set_phase("answering")
        self.text_appended.emit(text, kind)
        self.checkpoint()

    def end_thought(self, text: str, kind: PieceKind, tokens: int) -> None:
        """Append the marker that ends a thought of `tokens` tokens."""
        self.append_text(text, kind)
        self._thinking_tokens += tokens
        self.thoughts_counted.emit(self._thinking_tokens)

    def finish_answer(self, statistics: Statistics) -> None:
        whole = continued(statistics_from_json(self.messages[-1].statistics), statistics)
        answer = replace(
            self._answer_so_far(), stop_reason=statistics.stop_reason, statistics=statistics_to_json(whole)
        )
        self._update(answer)
        if statistics.stop_reason == "context":
            turns = turns_to_free(self.prompt(), self.chat.forget_turns)
            self.remedies = (Remedy("forget_turns", turns=turns),) if turns else ()
        self._end(answer)

    def fail_answer(
        self, sentence: Sentence | None, detail: str = "", reason: Ending = "failed", remedies: tuple[Remedy, ...] = ()
    ) -> None:
        """End the answer with a problem; the text written so far is kept."""
        if self.phase in ("reading", "answering"):
            self.remedies = remedies
            self._end(
                replace(
                    self._answer_so_far(),
                    stop_reason=reason,
                    problem=encode_sentence(sentence) if sentence else "",
                    detail=detail,
                )
            )

    def checkpoint(self, at_once: bool = False) -> None:
        """Store the answer written so far if CHECKPOINT_SECONDS have passed; `at_once` stores it in any case."""
        if self.phase != "answering" and not (at_once and self.busy):
            return
        if at_once or self._clock() - self._saved_at >= CHECKPOINT_SECONDS:
            answer = self.messages[-1]
            if answer.role == "assistant" and self._pieces:
                self._update(self._answer_so_far())
                self._save(self.messages[-1])

    @property
    def answer_text(self) -> str:
        """Text of the answer under way."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    # --- inside -----------------------------------------------------------------------------------------------------

    def _answer_so_far(self) -> ChatMessage:
        return replace(self.messages[-1], content=self.answer_text, thought_seconds=self._thought_timer.seconds)

    def _append(self, message: ChatMessage) -> None:
        self.tree.put(message)
        self.tree.stop_at(message.id)
        self.messages.append(message)
        self.chat = replace(self._chat_now(), updated_at=message.created_at)
        self._save(message)
        self.message_added.emit(self, message)
        self.entry_changed.emit(self)

    def _put_below(self, parent: str | None, message: ChatMessage) -> None:
        """Cut the shown branch after `parent` and add the message there, in one write."""
        path = self.tree.path(parent)
        self.messages = [each for each in self.messages if each.id in path]
        self.branch_changed.emit(self)
        self._append(message)

    def _reopen(self, model: str) -> None:
        """Make the last answer unfinished again and clear its stop reason and problem, because it is continued."""
        answer = replace(self.messages[-1], stop_reason=None, problem="", detail="", model=model)
        self._pieces = [answer.content]
        self._thought_timer.resume(answer.content, answer.thought_seconds)
        self._update(answer)
        self._save(answer)
        self.answer_resumed.emit(self)

    def _update(self, message: ChatMessage) -> None:
        self.messages[-1] = message
        self.tree.put(message)

    def _update_branch(self, store: bool = False, changed: Iterable[ChatMessage] = ()) -> None:
        """Take over the tree's shown branch or its new siblings, and emit `branch_changed`."""
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
        self._set_phase("idle")
        self.answer_ended.emit(self, answer)

    def _set_phase(self, phase: Phase) -> None:
        self.phase = phase
        self.prompt_progress = None
        if phase == "waiting":
            self.remedies = ()
        self.phase_changed.emit(self)

    def retry_unstored(self) -> Failure | None:
        """Try once more to store what could not be stored; return why it still cannot, or None."""
        return self._saver.retry_unstored()

    def discard(self) -> None:
        """Store nothing of this chat any more, even if an answer still arrives: the chat was deleted permanently."""
        self._saver.stop()

    def _save(self, *messages: ChatMessage) -> None:
        self._saved_at = self._clock()
        if not self.temporary:
            self._saver.save(self.chat, messages)

    def _cannot_store(self, failure: Failure) -> None:
        self.not_saved.emit(self, lambda: f"{worded(failure.sentence)} {tr(GOES_ON)}")
