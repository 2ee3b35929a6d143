"""Summaries of long chats: the model sums up the oldest turns in idle time, so that a chat does not end at a wall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import QObject

from app.control.message_controller import MessageController
from app.notice import NoticeRow
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.prompt import split_pinned
from app.state.summary import FULL_SHARE, OldTurns, is_full, most_written, old_turns, texts_of, turns_of
from app.store.chat import ChatMessage
from app.window import Window
from app.words import UiText, mark, tr, tr_n
from common.sentences import Sentence
from engine.protocol.events import Counted

SETTING = "window.summaries"
TOPIC = "summary"
SHORT = mark("This chat is short: there is nothing to sum up yet.")
ONE_LONG = mark("The newest messages alone fill the context: summing up older ones does not help.")
EMPTY = mark("The model wrote no summary. Leave out the oldest messages instead, or use another model.")


@dataclass(eq=False, slots=True)
class Run:
    """The summing up of one chat, which may take several summaries; `then` follows when the chat has room again."""

    conversation: Conversation
    then: Callable[[], object]
    row: NoticeRow
    forget_turns: int
    done: list[OldTurns] = field(default_factory=list)


class SummaryController(QObject):
    """Controller of summaries: by a command, by a remedy of a chat that is too long, or after answers.

    One chat is summed up at a time. Whatever else the engine is asked cuts a summary short; after `pause_ms` without an
    answer under way it is asked for again.
    """

    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        messages: MessageController,
        settings: Settings,
        pause_ms: int,
    ) -> None:
        super().__init__(window)
        self._notice, self._open_chats, self._engine = window.notice, open_chats, engine
        self._messages, self._settings = messages, settings
        self._run: Run | None = None
        self._asked_about: set[str] = set()  # ids of chats: the user is asked once about each
        self._pause = Debounce(self._next, pause_ms, self)
        window.commands.bind("sum_up", lambda: self.start(open_chats.current))
        messages.summary_wanted.connect(self.start_and_answer)
        open_chats.answer_ended.connect(self._answer_ended)
        window.closing.connect(self.stop)

    def start(self, conversation: Conversation, then: Callable[[], object] = lambda: None) -> None:
        """Have the chat's oldest turns summed up, then call `then`."""
        if self._run is not None and self._run.conversation is conversation:
            return
        self.stop()
        words = mark("The oldest messages are being summed up…")
        row = self._notice.post(lambda: tr(words), lambda: tr("Stop"), self.stop, topic=TOPIC)
        self._run = Run(conversation, then, row, conversation.chat.forget_turns)
        self._next()

    def start_and_answer(self, conversation: Conversation) -> None:
        """Have a chat summed up that was too long to be answered, then answer it."""
        last = conversation.messages[-1]
        again = last.role == "assistant" and not last.content
        self.start(conversation, partial(self._messages.answer, conversation) if again else lambda: None)

    def stop(self) -> None:
        """Stop summing up; the summaries that are written stay."""
        run, self._run = self._run, None
        if run is not None:
            self._notice.dismiss(run.row)
            self._engine.idle.cut_short()

    # --- when ---------------------------------------------------------------------------------------------------------

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        """Have a chat summed up that has become long, or ask the user whether to."""
        state, wanted = self._engine.state, self._settings.values[SETTING]
        if state.model is None or state.host or wanted == "off":
            return
        if any(remedy.kind == "sum_up" for remedy in conversation.remedies):
            if wanted == "on":
                self.start_and_answer(conversation)
        elif answer.stop_reason != "failed" and (state.context_tokens or 0) > FULL_SHARE * state.model.n_ctx:
            if wanted == "on" and not state.power.postpones_idle_work:
                self.start(conversation)
            elif wanted == "ask" and conversation is self._open_chats.current:
                self._ask(conversation)

    def _ask(self, conversation: Conversation) -> None:
        if conversation.chat.id in self._asked_about or len(turns_of(conversation.messages)) < 2:
            return
        self._asked_about.add(conversation.chat.id)
        words = mark("This chat has nearly filled the context. Its oldest messages can be summed up for the model.")
        self._notice.post(
            lambda: tr(words),
            lambda: tr("Sum up"),
            lambda: self.start(conversation),
            topic=TOPIC,
            chat=conversation.chat.id,
        )

    # --- step by step -------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        """Count the turns, to know which of them to sum up."""
        run = self._run
        if run is None:
            return
        conversation = run.conversation
        if conversation.state in ("deleted", "gone"):
            self.stop()
            return
        if self._engine.state.path is None or self._engine.state.phase == "failed":
            self._fail(Sentence.of("no_model.loaded"))
            return
        self._engine.model.wake()
        pinned, _ = split_pinned(conversation.prompt())
        instructions = self._engine.model.options_for(conversation).system_prompt
        beginning = "\n\n".join((instructions, *(message.content for message in pinned)))
        texts = (beginning, *texts_of(turns_of(conversation.messages)))
        self._engine.idle.count(texts, conversation, partial(self._counted, run))

    def _counted(self, run: Run, counted: Counted | None) -> None:
        model = self._engine.state.model
        if run is not self._run:
            return
        if counted is None or model is None or run.conversation.busy:
            self._pause.request()
            return
        pinned, *tokens = counted.texts
        full = is_full(tokens, pinned, model.n_ctx)
        messages = run.conversation.messages
        same = len(tokens) == len(turns_of(messages))
        old = old_turns(messages, tokens, pinned, model.n_ctx) if same and (full or not run.done) else None
        if old is not None:
            most = most_written(model.n_ctx)
            self._engine.idle.ask(run.conversation, old.question(), most, partial(self._written, run, old))
        elif run.done:
            self._finish(run)
        else:
            words = ONE_LONG if full else SHORT
            self._fail(lambda: tr(words))

    def _written(self, run: Run, old: OldTurns, answer: str | Sentence | None) -> None:
        conversation = run.conversation
        if run is not self._run:
            return
        summary = old.summary(answer) if isinstance(answer, str) else ""
        if answer is None:
            self._pause.request()
        elif isinstance(answer, Sentence):
            self._fail(answer)
        elif not summary:
            self._fail(lambda: tr(EMPTY))
        else:
            if old.last in conversation.messages:  # else another branch is shown now
                run.done.append(old)
                self._asked_about.discard(conversation.chat.id)  # it may fill again
                conversation.sum_up(old.last.id, summary, conversation.chat.forget_turns - old.turns)
            self._next()

    def _finish(self, run: Run) -> None:
        self.stop()
        turns = sum(old.turns for old in run.done)

        def sentence() -> str:
            return tr_n("The oldest turn was summed up.", "The oldest {n} turns were summed up.", turns)

        def undo() -> None:
            for old in reversed(run.done):
                run.conversation.sum_up(old.last.id, old.last.summary, run.forget_turns)

        if run.conversation is self._open_chats.current:
            self._notice.post_undo(sentence, undo)
        run.then()

    def _fail(self, words: UiText) -> None:
        self.stop()
        self._notice.post(words, kind="problem", topic=TOPIC)
