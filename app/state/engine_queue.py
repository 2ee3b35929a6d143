"""Keeps the engine running with the chosen model and gives it one conversation after the other. Knows no Qt.

The engine's process is behind `Link`. Whatever it does (dies, refuses, says nonsense), conversations end with a
sentence and keep their text; the next message starts the engine again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.bugs import BUG, report
from app.events import Event
from app.services.process_end import EngineEnd
from app.settings.resolve import Options, unpacked
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_requests import Counting, Link, Loading, ReadAhead, Taker
from app.state.engine_state import Ahead, EngineState, Problem
from app.state.prompt import with_system, without_oldest
from common.paths import path_of
from engine import protocol

log = logging.getLogger(__name__)
PATIENCE_MS = 3_000  # with an engine that was asked to stop; an answer ends within 100


class LiveSpeed:
    """Tokens per second while an answer streams, until the engine's own statistics replace it.

    Counts pieces of text as tokens: one event is one decode step. Seconds are monotonic."""

    def __init__(self) -> None:
        self._count = 0
        self._first = self._last = 0.0

    def start(self) -> None:
        self._count = 0

    def count(self, now: float) -> None:
        if not self._count:
            self._first = now
        self._count += 1
        self._last = now

    @property
    def tokens(self) -> int:
        return self._count

    @property
    def tokens_per_second(self) -> float | None:
        """None until there are two tokens to tell it from; the first one only starts the clock."""
        seconds = self._last - self._first
        return (self._count - 1) / seconds if self._count > 1 and seconds > 0 else None


class EngineQueue:
    """One engine, one model, a queue of conversations.

    `active_changed`: another conversation is answered now, or none; `pulsed`: what the engine tells while it is
    watched. The rest is told by `state`."""

    def __init__(
        self,
        link: Link,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        patience_ms: int = PATIENCE_MS,
    ) -> None:
        self.state = EngineState()
        self.active_changed: Event[()] = Event()
        self.pulsed: Event[protocol.Pulse] = Event()
        self._watch = False
        self._link = link
        self._settings, self._options = settings, settings.options()
        self._loading = Loading(self._options.load)
        self._queue: list[Conversation] = []
        self._active: Conversation | None = None
        self._last_id = 0
        self._hello = self._load = self._generate = 0
        self._clock, self._patience = clock, patience_ms / 1000
        self._stopped_at: float | None = None
        self._restarting = self._resting = False
        self._outdone = False  # another library computes the model faster
        self._changing_over = False  # to it, of which the user notices nothing
        self._read_ahead = ReadAhead()
        self._counting = Counting()
        self._speed = LiveSpeed()
        self._prompt_tokens = 0

    @property
    def active(self) -> Conversation | None:
        """The conversation that is being answered."""
        return self._active

    # --- what the user does -----------------------------------------------------------------------------------------

    def use_model(self, path: Path, n_ctx: int | None = None, kv_type: protocol.KVType | None = None) -> None:
        """Load the model at `path` in place of the loaded one; an answer under way is stopped first.

        None leaves the context's size and how it is stored to the settings."""
        if self._active:
            self.stop(self._active)
        self._outdone = self._changing_over = False
        self._adopt(path)
        self._loading.choose(n_ctx, kv_type)
        self.state.change(path=path, problem=None)
        if self._link.running and self.state.phase != "starting":
            self._send_load()
        else:
            self.start_engine()

    def use_settings(self) -> None:
        """They are others now: answer with them from here on. `settle` loads the model again if it must be."""
        before = self._options.system_prompt
        self._adopt(self.state.path)
        if self._options.system_prompt != before:
            self._read_ahead.forget()
            self.state.change(ahead=None)

    def settle(self) -> None:
        """Nothing more is about to change: unless it is busy, load the model again if its options are others now."""
        if self.state.phase == "failed" and self._link.running and self._loading.outdated():
            self._send_load()
        self._pump()

    def start_engine(self) -> None:
        """Start the engine, if it does not run, and load the chosen model."""
        if self._link.running:
            if self.state.phase == "failed" and self.state.path:
                self._send_load()
            return
        self._restarting = self._resting = False
        self._show_loading(phase="starting", model=None, fraction=0.0, problem=None)
        self._link.start((self.state.path, self._loading.options.draft_model))
        self._hello = self._send(protocol.Hello)

    def unload(self) -> None:
        """Give all of the model's memory back: the engine ends, and the next message starts it again."""
        if self._link.running:
            self._resting = True
            self._send(protocol.Shutdown)

    def submit(self, conversation: Conversation) -> None:
        """Answer the conversation's last message as soon as model and engine are ready."""
        if conversation not in self._queue:
            self._queue.append(conversation)
        if not self._link.running and self.state.path:
            self.start_engine()
        self._pump()

    def stop(self, conversation: Conversation) -> None:
        """Stop the conversation's answer, or take it off the queue."""
        if conversation is self._active:
            self._send(protocol.Cancel, request=self._generate)
            if self._stopped_at is None:
                self._stopped_at = self._clock()
            return
        if conversation in self._queue:
            self._queue.remove(conversation)
        conversation.withdraw()

    def forget(self, chat_id: str) -> None:
        """The chat was deleted: nothing of it stays in the engine's cache. Undo costs reading it once more."""
        self._read_ahead.forget()
        if self._link.running:
            self._send(protocol.Forget, chat=chat_id)

    def opened(self, conversation: Conversation) -> None:
        """The user looks at this chat and may go on with it: have it read while there is nothing else to do."""
        if self._active or self._queue or self.state.phase != "ready" or self._changing_over:
            return
        if messages := self._read_ahead.wanted(conversation):
            messages = with_system(self._options_for(conversation).system_prompt, messages)
            self._read_ahead.id = self._send(protocol.Prepare, messages=messages, chat=conversation.chat.id)
            self.state.change(ahead=Ahead(conversation.chat.id, 0, 0, 0))

    def count(self, texts: tuple[str, ...], conversation: Conversation, done: Taker) -> None:
        """Have the loaded model's tokens counted, and those of the chat; without a model `done` is never called."""
        if self.state.phase == "ready" and self._link.running:
            messages = without_oldest(conversation.prompt(), conversation.chat.forget_turns)
            messages = with_system(self._options_for(conversation).system_prompt, messages)
            self._counting.expect(self._send(protocol.Count, texts=texts, messages=messages), done)

    def instructions(self, conversation: Conversation) -> str:
        """What the model reads before everything else in this chat."""
        return self._options_for(conversation).system_prompt

    def watch(self, on: bool) -> None:
        """Have the engine tell by `pulsed` what it does, from now on or no longer."""
        self._watch = on
        if self._link.running:
            self._send(protocol.Watch, on=on)

    def dismiss_problem(self) -> None:
        self.state.change(problem=None)

    def tick(self) -> None:
        """To be called some times a second: stores what is written, tells the speed, ends an engine that hangs."""
        if self._active is None:
            return
        self._active.checkpoint()
        if self._speed.tokens:
            used = self._prompt_tokens + self._speed.tokens
            chat = self._active.chat.id
            self.state.change(live_speed=self._speed.tokens_per_second, context_tokens=used, context_chat=chat)
        if self._stopped_at is not None and self._clock() - self._stopped_at >= self._patience:
            self._stopped_at = None
            self._link.kill()

    # --- what the engine does ---------------------------------------------------------------------------------------

    def handle(self, event: protocol.Event) -> None:
        """One event from the engine. Events of requests that are no longer ours are ignored."""
        match event:
            case protocol.Welcome():
                self.state.change(limits=event.limits)
                self._send_load()
                if self._watch:
                    self.watch(True)
            case protocol.Pulse():
                self.pulsed.emit(event)
            case protocol.Notice() | protocol.Faster():
                self._take_news(event)
            case protocol.Counted():
                self._counting.take(event)
            case protocol.StatusReport():
                self._take_status(event)
            case protocol.LoadProgress() | protocol.Loaded() | protocol.Restart() if event.id == self._load:
                self._take_loading(event)
            case protocol.Failed():
                self._take_failure(event)
            case protocol.PrefillProgress() | protocol.Prepared() if event.id == self._read_ahead.id:
                self._take_ahead(event)
            case _ if self._active and event.id == self._generate:
                conversation = self._active
                try:
                    self._take_answer(conversation, event)
                except Exception as error:  # noqa: BLE001 - it is reported, and the chat must end
                    self._give_up(conversation, error)
            case _:
                log.info("event without a use: %s", type(event).__name__)

    def _take_news(self, event: protocol.Notice | protocol.Faster) -> None:
        if isinstance(event, protocol.Notice):
            self.state.change(problem=Problem(event.sentence, "none"))
        else:
            self._outdone = True
            self._pump()

    def _take_loading(self, event: protocol.LoadProgress | protocol.Loaded | protocol.Restart) -> None:
        match event:
            case protocol.LoadProgress():
                self._show_loading(phase="loading", fraction=event.fraction)
            case protocol.Loaded():
                self._changing_over = False
                self._read_ahead.forget()
                self.state.change(phase="ready", model=event.model, problem=None, context_tokens=0, statistics=None)
                self._send(protocol.Status)
                self._pump()
            case protocol.Restart():
                # The process holds the wrong library for this model, or may not read it. It is asked to end, and
                # `engine_ended` goes on.
                self._restarting = True
                self._send(protocol.Shutdown)

    def engine_ended(self, end: EngineEnd) -> None:
        """The process is gone: keep the partial answer, say why, wait for the next message."""
        if self._restarting:
            self.start_engine()
            return
        self._outdone = self._changing_over = False
        wanted = end.killed and (self._queue or self.state.phase == "loading")
        self._read_ahead.forget()
        self._counting.forget()
        if self._active:
            self._release().fail(end.sentence, end.output, reason="engine")
        problem = None if self._resting else Problem(end.sentence, "restart", end.output)
        self.state.change(phase="off", model=None, problem=problem, context_tokens=0, rss_bytes=0, ahead=None)
        if wanted:
            self.start_engine()

    def _take_answer(self, conversation: Conversation, event: protocol.Event) -> None:
        match event:
            case protocol.PrefillProgress():
                self._prompt_tokens = event.total
                conversation.read(event.done, event.total, event.reused)
            case protocol.Text() | protocol.Thinking():
                self._speed.count(self._clock())
                conversation.grow(event.text, "text" if isinstance(event, protocol.Text) else "thought")
            case protocol.ThinkingStarted():
                conversation.grow(event.text, "opened")
            case protocol.ThinkingEnded():
                conversation.grow(event.text, "closed" if event.opened else "unopened")
            case protocol.Finished():
                self._release()
                self.state.change(
                    context_tokens=event.statistics.context_tokens,
                    context_chat=conversation.chat.id,
                    statistics=event.statistics,
                )
                conversation.finish(event.statistics)
                self._next()

    def _take_ahead(self, event: protocol.PrefillProgress | protocol.Prepared) -> None:
        if isinstance(event, protocol.Prepared):
            chat = self.state.ahead.chat if self.state.ahead else ""
            self.state.change(ahead=None, context_tokens=event.cached_tokens, context_chat=chat)
        elif self.state.ahead:
            self.state.change(ahead=replace(self.state.ahead, done=event.done, total=event.total, reused=event.reused))

    def _take_failure(self, event: protocol.Failed) -> None:
        log.warning("request %d failed: %s %s %s", event.id, event.code, event.sentence, event.detail)
        if event.id == self._generate and self._active:
            conversation = self._release()
            if event.code == "cancelled":  # stopped before there was anything of the answer
                conversation.fail(None, reason="cancelled")
            else:
                conversation.fail(event.sentence, event.detail, remedies=event.remedies)
            self._next()
        elif event.id == self._read_ahead.id:
            self.state.change(ahead=None)  # nobody asked for it; the next message tells what is wrong
        elif event.id == self._hello:
            self._changing_over = False
            self.state.change(phase="failed", problem=Problem(event.sentence, "restart", event.detail))
        elif event.id == self._load:
            self._changing_over = False
            self._loading.failed()
            self.state.change(phase="failed", problem=Problem(event.sentence, "choose", event.detail))
            self._send(protocol.Status)  # the model that was loaded before may still be there

    def _take_status(self, event: protocol.StatusReport) -> None:
        self.state.change(rss_bytes=event.rss_bytes)
        if self.state.phase == "failed" and event.model:
            self.state.change(phase="ready", model=event.model, path=path_of(event.model.path))
            self._adopt(self.state.path)
            self._loading.stays()
            self._pump()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _adopt(self, path: Path | None) -> None:
        """From now on with the options of this model."""
        self._options = self._settings.options(path)
        self._loading.use(self._options.load)

    def _release(self) -> Conversation:
        """The active conversation, which is no longer active."""
        active, self._active, self._stopped_at = self._active, None, None
        assert active
        self.state.change(live_speed=None)
        self.active_changed.emit()
        return active

    def _options_for(self, conversation: Conversation) -> Options:
        return self._settings.options(self.state.path, unpacked(conversation.chat.options).values)

    def _next(self) -> None:
        self._send(protocol.Status)
        self._pump()

    def _pump(self) -> None:
        if self._active or self.state.phase != "ready" or self._changing_over:
            return
        if self._loading.outdated():
            self._send_load()
            return
        if not self._queue:
            self._change_over()
            return
        conversation = self._active = self._queue.pop(0)
        self.active_changed.emit()
        try:
            self._ask(conversation)
        except Exception as error:  # noqa: BLE001 - it is reported, and the chat must end
            self._give_up(conversation, error)

    def _change_over(self) -> None:
        """To the faster library, where there is one, while nobody waits: the engine asks for a new process, and the
        chat is read again in it. What is sent meanwhile waits for that."""
        if self._outdone:
            self._outdone, self._changing_over = False, True
            self._send_load()

    def _show_loading(self, **values: object) -> None:
        """Of a change to a faster library the user notices nothing."""
        if not self._changing_over:
            self.state.change(**values)

    def _ask(self, conversation: Conversation) -> None:
        messages, continued = conversation.prompt(), conversation.continuing
        conversation.begin(self.state.model.name if self.state.model else "")
        self._speed.start()
        self._read_ahead.forget()
        self.state.change(ahead=None)
        options = self._options_for(conversation)
        self._generate = self._post(
            replace(
                options.generate,
                messages=with_system(options.system_prompt, messages),
                chat=conversation.chat.id,
                forget_turns=conversation.chat.forget_turns,
                continue_last=continued,
            )
        )

    def _give_up(self, conversation: Conversation, error: Exception) -> None:
        """A bug of ours: the chat keeps what it has and waits for nothing, and the next one has its turn."""
        report(error)
        if conversation is self._active:
            self._send(protocol.Cancel, request=self._generate)
            self._release()
        conversation.withdraw()
        conversation.fail(BUG, repr(error))
        self._next()

    def _send_load(self) -> None:
        if self.state.path is None:
            self.state.change(phase="failed")
            return
        self.state.change(ahead=None)
        self._show_loading(phase="loading", fraction=0.0, model=None)
        self._load = self._post(self._loading.request(self.state.path))

    def _send(self, kind: type[protocol.Request], **fields: object) -> int:
        return self._post(kind(id=0, **fields))  # type: ignore[arg-type]

    def _post(self, request: protocol.Request) -> int:
        self._last_id += 1
        self._link.send(replace(request, id=self._last_id))
        return self._last_id
