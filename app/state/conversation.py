"""One chat while it is open: how sending, pieces of an answer, its end or a failure change the messages and the store.

Knows neither windows nor the engine's process. A failed write never stops a chat: what cannot be stored stays in memory
and is written again with the next write, and `not_saved` gives the reason once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from app.attachments.attachment import Attachment
from app.events import Event
from app.state.answer import Answer, Waiting
from app.state.answer_facts import read_for, sources_of
from app.state.conversation_events import ConversationEvents
from app.state.draft import MessageDraft
from app.state.projects import NO_PROJECT, Project
from app.state.prompt import drop_oldest_turns, prompt_of, turns_to_free, with_draft
from app.state.saving import ChatSaver
from app.state.summary import turns_of
from app.store.calls import calls_of, encode_calls
from app.store.chat import UNTITLED, Chat, ChatMessage, Ending, storable, title_of
from app.store.chat_store import ChatRow, ChatStore
from app.store.tree import Deleted, Tree, chosen_from
from app.tools.rounds import Offer, Outcome, Round
from common.reasoning import PieceKind
from common.sentences import Sentence
from engine.protocol.events import Remedy, Statistics
from engine.protocol.requests import Message

TOO_LONG = "prompt_too_long"
Phase = Literal["idle", "waiting", "reading", "answering", "calling"]
State = Literal["new", "listed", "deleted", "gone"]


class Conversation(ConversationEvents):
    """The state machine of one chat, which `OpenChats` makes once; its phases: idle → waiting → answer → idle.

    An answer that calls tools is followed by the phase `calling`, with the `round` of its calls, then by waiting again.

    `state` is what became of the chat: `new` until its first message, then `listed`, `deleted` while it can be
    restored, and `gone` once it was deleted permanently. A `temporary` chat has the same states but is never stored.

    `tree` has all messages and `messages` is the shown branch. While `answer` is written, its last entry is the answer
    as last stored. `edits` holds the unsent text of messages that the user is editing, by message id. `unfolded` holds
    the thoughts that the user has opened, as (message id, number of the thought). `draft` is the content of the
    composer; None until it was loaded. `project_of` finds what a chat begins with. `clock` gives monotonic seconds.
    `answer_resumed` is emitted when the last answer is continued, `thoughts_counted` with the number of tokens of the
    answer's thoughts when one of them ends.
    """

    def __init__(
        self,
        store: ChatStore,
        chat: Chat | None = None,
        messages: Iterable[ChatMessage] = (),
        clock: Callable[[], float] = time.monotonic,
        temporary: bool = False,
        edits: Mapping[str, str] | None = None,
    ) -> None:
        """Open the chat, or a new one; `edits` are those in the store, None for a chat that is not stored yet."""
        super().__init__()
        self.project_of: Callable[[Chat, bool], Project] = lambda _chat, _with_facts: NO_PROJECT
        self.store, self.temporary = store, temporary
        self.chat = chat or Chat()
        # Id under which the engine may keep what it has read of this chat on the disk; "" for a temporary chat.
        self.cache_id = "" if temporary else self.chat.id
        self.state: State = "listed" if chat else "new"
        self.tree = Tree(messages, self.chat.leaf_id, chosen_from(self.chat.chosen))
        self.messages = self.tree.branch()
        self.edits = dict(edits or {})
        self.unfolded: set[tuple[str, int]] = set()
        self.draft: MessageDraft | None = None
        self.waiting: Waiting | None = None
        self.answer: Answer | None = None
        self.round: Round | None = None
        self.remedies: tuple[Remedy, ...] = ()  # offered to the user when the context is full
        self.text_appended: Event[str, PieceKind] = Event()
        self.thoughts_counted: Event[int] = Event()
        self.answer_resumed: Event[Conversation] = Event()
        self._refused = ""  # id of an answer that never began, because the chat is too long: no version, never stored
        self._clock = clock
        self.saver = ChatSaver(store, self._row, lambda words: self.not_saved.emit(self, words), edits is not None)

    # --- what it is doing -------------------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        if self.answer is not None:
            return self.answer.phase
        if self.round is not None:
            return "calling"
        return "waiting" if self.waiting is not None else "idle"

    @property
    def busy(self) -> bool:
        return self.phase != "idle"

    @property
    def continuing(self) -> bool:
        """Whether the answer under way continues the last one, instead of being a new one."""
        under_way = self.answer or self.waiting
        return under_way is not None and under_way.continues

    @property
    def answer_text(self) -> str:
        """Text of the answer under way."""
        return self.answer.text if self.answer is not None else ""

    @property
    def project(self) -> Project:
        """Project that the chat begins with; a temporary chat is told no facts about the user."""
        return self.project_of(self.chat, not self.temporary)

    @property
    def beginning_id(self) -> str:
        """Id under which the engine may keep the beginning that other chats have too; "" if there is none."""
        return self.project.id if self.project.beginning else ""

    def may_leave_for(self, host: str) -> bool:
        """Return whether the user lets this server read the chat with what the chat begins with now."""
        return f"{host} {self.project.digest}".strip() in self.chat.agreed.split("\n")

    @property
    def asked_host(self) -> str:
        """Host of a server that the user must let read this chat before it is answered; "" where nothing is asked."""
        return self.waiting.asked_host if self.waiting is not None else ""

    # --- what the user does -----------------------------------------------------------------------------------------

    def send(self, text: str, attachments: tuple[Attachment, ...] = ()) -> bool:
        """Append and store the user's message; return False if it is empty, an answer is under way or the chat gone."""
        text = storable(text).strip()
        if self.busy or self.state == "gone" or not (text or attachments):
            return False
        self._drop_refused()
        message = ChatMessage(self.chat.id, self.tree.leaf, "user", text, stop_reason="end", attachments=attachments)
        if not self.messages and self.chat.title == UNTITLED:
            self.chat = replace(self.chat, title=title_of(text or attachments[0].name))
        self._append(message)
        self._wait(Waiting())
        return True

    def edit(self, id: str, text: str) -> bool:
        """Add the user's wording of a message as its sibling; return False for an empty text or while busy.

        A question is to be answered then, the same wording of it again. An answer loses its thoughts.
        """
        message, text = self.tree[id], storable(text).strip()
        if self.busy or not text:
            return False
        self.edits.pop(id, None)
        is_question = message.role == "user"
        if text == message.text_to_copy.strip():
            return self.answer_again(id) if is_question else True
        edited = ChatMessage(self.chat.id, message.parent_id, message.role, text, stop_reason="end")
        if is_question:
            self._append(replace(edited, attachments=message.attachments))
            self._wait(Waiting())
        else:
            self._append(replace(edited, model=message.model, sources=message.sources, edited_at=time.time()))
        return True

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
        self._drop_refused()
        waiting = Waiting(leaf_before=self.tree.leaf)
        self.tree.stop_at(question)
        self._update_branch()
        self._wait(waiting)
        return True

    def continue_answer(self) -> bool:
        """Prepare for continuing the last answer; return False if there is none that stopped before its end."""
        last = self.messages[-1] if self.messages else None
        if self.busy or last is None or last.role != "assistant" or not last.unfinished:
            return False
        self._wait(Waiting(continues=True))
        return True

    def ask_about(self, host: str) -> None:
        """Wait for the user, who must let the server `host` read the chat first; "" waits for nothing."""
        if self.waiting is not None and host != self.waiting.asked_host:
            self.waiting.asked_host = host
            self.phase_changed.emit(self)

    def agree(self) -> None:
        """Let the server that was asked about read this chat from now on, until it begins with something else."""
        host = self.asked_host
        others = [line for line in self.chat.agreed.split("\n") if line and line.split()[0] != host]
        lines = dict.fromkeys([*others, host, f"{host} {self.project.digest}".strip()])
        self.chat = replace(self.chat, agreed="\n".join(lines))
        self.save()
        self.ask_about("")

    def withdraw(self) -> None:
        """Return to idle, if the answer has not begun or calls tools: the user does not want it any more."""
        if self.round is not None:
            self.round.stop()
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            if waiting.leaf_before:
                self.tree.show(waiting.leaf_before)
                self._update_branch(store=True)  # an import may have added messages below
            self.phase_changed.emit(self)

    def show(self, id: str | None) -> bool:
        """Show the branch that goes through message `id`."""
        if self.busy or id is None or id not in self.tree:
            return False
        self._drop_refused()
        self.tree.show(id)
        self._update_branch(store=True)
        return True

    def delete(self, id: str) -> Deleted | None:
        """Delete the message and all messages below it from the chat; `restore` brings them back."""
        if self.busy:
            return None
        self._drop_refused()  # it is not to come back with the messages above it
        if id not in self.tree or not self.tree.leaf:
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

    def update_entry(self, **values: Any) -> None:
        """Change values of the chat's entry; that of an empty chat is stored with its first message."""
        before, self.chat = self.chat, replace(self.chat, **values)
        self.save()
        self._tell_entry(before)

    def forget_oldest(self, turns: int) -> None:
        """Leave out this many more of the oldest turns from now on; a negative number includes some again."""
        self.remedies = ()
        self.update_entry(forget_turns=max(0, self.chat.forget_turns + turns))

    def sum_up(self, id: str, summary: str, forget_turns: int | None = None) -> None:
        """Have the model read `summary` from now on in place of message `id` and all above it; "" takes that back.

        `forget_turns`: how many turns are then still left out; None: as many as now.
        """
        if id in self.tree:
            message = replace(self.tree[id], summary=storable(summary).strip())
            self.tree.put(message)
            self.messages, self.remedies = self.tree.branch(), ()
            self.save(message)
            if forget_turns is not None:
                self.update_entry(forget_turns=max(0, forget_turns))
            self.branch_changed.emit(self)
            self.context_changed.emit(self)

    def offer(self, remedy: Remedy) -> None:
        """Offer one more remedy for a chat that is too long."""
        if self._refused and not self.busy:
            self.remedies = (*self.remedies, remedy)
            self.context_changed.emit(self)

    # --- what the engine does ---------------------------------------------------------------------------------------

    def prompt(self) -> tuple[Message, ...]:
        """Return the shown branch as the model sees it, including the turns that the engine will leave out."""
        return prompt_of(self.messages, self.continuing)

    def certain_prompt(self) -> tuple[Message, ...]:
        """Return the messages that the model will certainly read with the next question, including attached files."""
        files = self.draft.certain_attachments() if self.draft else ()
        return drop_oldest_turns(with_draft(self.messages, files), self.chat.forget_turns)

    def begin_answer(self, model: str, model_path: str = "", offer: Offer | None = None) -> None:
        """Open the answer: the engine has accepted the request. From now on `model` is the chat's model.

        `offer`: the tools that the answer may call.
        """
        continues, self.waiting = self.continuing, None
        self.chat = replace(self.chat, model=model, model_path=model_path)
        question = next((message for message in reversed(self.messages) if message.role == "user"), None)
        if continues:
            message = replace(self.messages[-1], stop_reason=None, problem="", detail="", model=model)
        else:
            sources = sources_of(read_for(self.messages))
            message = ChatMessage(self.chat.id, self.tree.leaf, "assistant", "", model=model, sources=sources)
        self.answer = Answer(message, question, read_for(self.messages), continues, self._clock, offer)
        if continues:
            self._update(message)
            self.answer_resumed.emit(self)
        else:
            self._append(message, store=False)  # with its first words, or when it ends
        self.phase_changed.emit(self)

    def update_prompt_progress(self, done: int, total: int, reused: int, looking: float = 0.0) -> None:
        if self.answer is not None:
            self.answer.update_progress(done, total, reused, looking)
            self.progress_changed.emit(self)

    def append_text(self, text: str, kind: PieceKind = "text", thinking_tokens: int = 0) -> None:
        """Append a piece of the answer's text and store a checkpoint if one is due.

        The piece that ends a thought comes with the thought's number of tokens.
        """
        if self.answer is None:
            return
        was_reading = self.answer.phase == "reading"
        self.answer.append(text, kind, thinking_tokens)
        if was_reading:
            self.phase_changed.emit(self)
        self.text_appended.emit(text, kind)
        self.checkpoint()
        if kind in ("closed", "unopened"):
            self.thoughts_counted.emit(self.answer.thinking_tokens)

    def add_call(self, id: str, name: str) -> None:
        """Add a call of a tool to the answer; `add_arguments` appends to the arguments of call `index`."""
        if self.answer is not None:
            was_reading = self.answer.phase == "reading"
            self.answer.add_call(id, name)
            if was_reading:
                self.phase_changed.emit(self)

    def add_arguments(self, index: int, text: str) -> None:
        if self.answer is not None:
            self.answer.add_arguments(index, text)

    def finish_answer(self, statistics: Statistics) -> None:
        """End the answer, or do the calls of tools with which it has ended."""
        if self.answer is not None:
            message, offer = self.answer.finished(statistics), self.answer.offer
            if message.calls and offer is not None:
                self._begin_round(message, offer)
            else:
                self._end(message)

    def fail_answer(
        self, sentence: Sentence | None, detail: str = "", reason: Ending = "failed", remedies: tuple[Remedy, ...] = ()
    ) -> None:
        """End the answer with a problem; the text written so far is kept."""
        if self.answer is not None:
            self.remedies = remedies
            if sentence and sentence.code == TOO_LONG:
                self.remedies = self._with_summary(remedies)
                if not (self.answer.text or self.answer.continues):
                    self._refused = self.answer.message.id
            self._end(self.answer.failed(reason, sentence, detail))

    def checkpoint(self) -> None:
        """Store the answer written so far if a checkpoint is due."""
        message = self.answer.checkpoint() if self.answer is not None else None
        if message is not None:
            self._update(message)

    # --- the store --------------------------------------------------------------------------------------------------

    def reload(self, chat: Chat, messages: Iterable[ChatMessage]) -> None:
        """Take over what an import has changed in the store.

        What is not stored yet stays, and so does an answer under way; the entry then stays too, and is stored with it.
        """
        self._drop_refused()
        kept = dict(self.saver.unsaved)
        if self.answer is not None:
            kept[self.answer.message.id] = self.answer.message
        by_id = {message.id: message for message in messages} | kept
        before, leaf, chosen = self.chat, self.tree.leaf, self.tree.chosen
        if not (self.busy or self.saver.failure):
            self.chat, leaf, chosen = chat, chat.leaf_id, chosen_from(chat.chosen)
        self.save()
        self.tree = Tree(by_id.values(), leaf, chosen)
        self._update_branch()
        self._tell_entry(before)

    def save(self, *messages: ChatMessage, branch: bool = False) -> None:
        """Store the entry, these messages and the edits of messages, and which branch is shown if `branch`.

        An answer that never began is not stored, whatever happens to it.
        """
        if branch:
            self.chat = replace(self.chat, leaf_id=self.tree.leaf, chosen=self.tree.chosen_text())
        self.saver.save(message for message in messages if message.id != self._refused)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _drop_refused(self) -> None:
        """Remove an answer that never began from the chat."""
        if self._refused:
            self.tree.remove(self._refused)
            self._refused = ""
            self._update_branch(store=True)

    def _append(self, message: ChatMessage, store: bool = True) -> None:
        """Add the message below its parent, where the shown branch is cut, in one write."""
        path = self.tree.path(message.parent_id)
        if len(path) < len(self.messages):
            self.messages = [each for each in self.messages if each.id in path]
            self.branch_changed.emit(self)
        self.tree.put(message)
        self.tree.stop_at(message.id)
        self.messages.append(message)
        if self.state == "new":
            self.state = "listed"
        self.chat = replace(self.chat, updated_at=message.created_at)
        if store:
            self.save(message, branch=True)
        self.message_added.emit(self, message)
        self.entry_changed.emit(self)

    def _update(self, message: ChatMessage) -> None:
        """Replace a message by its new state, and store it unless the answer never began."""
        self.tree.put(message)
        self.messages = [message if each.id == message.id else each for each in self.messages]
        if message.id != self._refused:
            self.save(message, branch=True)

    def _update_branch(self, store: bool = False, changed: Iterable[ChatMessage] = ()) -> None:
        """Take over the tree's shown branch or its new siblings, and emit `branch_changed`."""
        self.messages = self.tree.branch()
        self.remedies = ()
        if store:
            self.save(*changed, branch=True)
        self.branch_changed.emit(self)

    def _tell_entry(self, before: Chat) -> None:
        """Emit the events for how the entry differs from `before`."""
        self.entry_changed.emit(self)
        moved = self.chat.folder_id != before.folder_id
        if moved or self.chat.options != before.options:
            self.options_changed.emit(self)
        if moved or self.chat.forget_turns != before.forget_turns:
            self.context_changed.emit(self)

    def _wait(self, waiting: Waiting) -> None:
        self.waiting, self.remedies = waiting, ()
        self.phase_changed.emit(self)

    def _begin_round(self, message: ChatMessage, offer: Offer) -> None:
        """Append a message for the result of each call, store all in one write, and start with the first call."""
        calls, results = calls_of(message), list[ChatMessage]()
        for call in calls:
            parent = results[-1].id if results else message.id
            titled = encode_calls([offer.titled(call)])
            results.append(ChatMessage(self.chat.id, parent, "tool", "", calls=titled))
        round_ = self.round = Round(calls, offer, self._clock)
        self.answer = None
        for each in (message, *results):
            self.tree.put(each)
        self.tree.stop_at(results[-1].id)
        self.messages = [*self.messages[:-1], message, *results]
        self.save(message, *results, branch=True)
        self.calls_made.emit(self, message)
        for result in results:
            self.message_added.emit(self, result)
        round_.told.connect(lambda number, outcome: self._keep_outcome(results[number].id, outcome))
        round_.changed.connect(lambda: self.phase_changed.emit(self))
        round_.ended.connect(self._end_round)
        self.phase_changed.emit(self)
        round_.start()

    def _keep_outcome(self, id: str, outcome: Outcome) -> None:
        """Store how a call has ended."""
        (call,), result = calls_of(self.tree[id]), outcome.result
        call = replace(call, summary=result.summary, seconds=outcome.seconds, failed=result.failed, cut=outcome.cut)
        reason: Ending = "cancelled" if outcome.stopped else "end"
        message = replace(
            self.tree[id], content=result.text, calls=encode_calls([call]), stop_reason=reason, attachments=result.found
        )
        self._update(message)
        self.message_changed.emit(self, message)

    def _end_round(self, stopped: bool) -> None:
        """Have the model go on with the results; after a stop, nothing follows."""
        self.round = None
        if stopped:
            self.phase_changed.emit(self)
            self.answer_ended.emit(self, self.messages[-1])
        else:
            self._wait(Waiting())
            self.answer_wanted.emit(self)

    def _end(self, message: ChatMessage) -> None:
        """End the answer with its last state; offer to leave out turns if it has filled the context."""
        self._update(message)
        if message.stop_reason == "context":
            turns = turns_to_free(self.prompt(), self.chat.forget_turns)
            self.remedies = self._with_summary((Remedy("forget_turns", turns=turns),) if turns else ())
        self.answer = None
        self.phase_changed.emit(self)
        self.answer_ended.emit(self, message)

    def _with_summary(self, remedies: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
        """Return the remedies, that of summing up the oldest turns first if there is more than one turn."""
        return (Remedy("sum_up"), *remedies) if len(turns_of(self.messages)) > 1 else remedies

    def _row(self) -> ChatRow | None:
        """Return the chat as it is to be stored; None while nothing of it is."""
        if self.temporary or self.state not in ("listed", "deleted"):
            return None
        return ChatRow(self.chat, tuple(self.edits.items()), self.state == "deleted")
