"""Keeps the engine running with the chosen model and gives it one conversation after the other. Knows no Qt.

The engine's process is behind `Link`. Whether it dies, refuses or sends nonsense, conversations end with a sentence and
keep their text; the next message starts the engine again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from app.bugs import BUG, report
from app.events import Event
from app.settings.resolve import Options, chat_options_from_json
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_requests import CountCallback, Link, Loading, NoServers, PendingCounts, ReadAhead, Servers
from app.state.engine_state import EngineState, Problem, ReadAheadProgress
from app.state.guests import Guests
from app.state.prompt import as_seen, drop_oldest_turns, with_system
from common.failures import Failure
from common.paths import path_of, path_text
from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.protocol import events, requests
from models.servers import RemoteModel, remote_model

log = logging.getLogger(__name__)
Fallback = Callable[[Problem], Path | None]  # from why a model could not be loaded to the model to load instead
TitleCallback = Callable[[str], object]
PATIENCE_MS = 3_000  # then an engine that was asked to stop is killed; an answer normally ends within 100 ms


class LiveSpeed:
    """Decode speed while an answer streams, until the engine's own statistics replace it.

    One piece of text counts as one token, because one event is one decode step. Times are monotonic seconds.
    """

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
        """Decode speed in tokens/s; None before the second token, because the first only starts the clock."""
        seconds = self._last - self._first
        return (self._count - 1) / seconds if self._count > 1 and seconds > 0 else None


class EngineQueue:
    """One engine, one model, and a queue of conversations to answer.

    `active_changed` is emitted when another conversation, or none, is answered; `pulsed` carries the engine's reports
    while it is watched; `speed_expected` what to expect of a model that is larger than the memory, before it is loaded.
    All other changes are events of `state`.
    """

    def __init__(
        self,
        link: Link,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        patience_ms: int = PATIENCE_MS,
        servers: Servers | None = None,
    ) -> None:
        self.state = EngineState()
        self.active_changed: Event[()] = Event()
        self.pulsed: Event[events.Pulse] = Event()
        self.speed_expected: Event[events.SpeedExpected] = Event()
        self._watch = False
        self._link, self._servers = link, servers or NoServers()
        self._asks_servers = False  # whether the process is the one that asks servers
        self._settings, self._options = settings, settings.options()
        self._loading = Loading(self._options.load)
        self._queue: list[Conversation] = []
        self._active: Conversation | None = None
        self._last_id = 0
        self._hello = self._load = self._generate = 0
        self._clock, self._patience = clock, patience_ms / 1000
        self._stopped_at: float | None = None
        self._restarting = self._unloading = False
        self._fallback: Fallback | None = None
        self._faster_library_known = False  # another library was measured to be faster for this model
        self._switching_library = False  # a switch to the faster library is under way, unnoticed by the user
        self._maps_large_file = False  # until the library has read the whole file once, no request stops it
        self._retried_load = False  # a library crashed while it loaded this model, and the load went on with another
        self._read_ahead = ReadAhead()
        self._pending_counts = PendingCounts()
        self._asked_title: tuple[int, TitleCallback] = (0, lambda _text: None)  # the last Title's id and callback
        self.guests = Guests(self._post)
        self._speed = LiveSpeed()
        self._prompt_tokens = 0

    @property
    def active(self) -> Conversation | None:
        """Conversation that is being answered, or None."""
        return self._active

    # --- what the user does -----------------------------------------------------------------------------------------

    def use_model(
        self,
        path: Path,
        n_ctx: int | None = None,
        kv_type: requests.KVType | None = None,
        fallback: Fallback | None = None,
    ) -> None:
        """Load the model at `path` in place of the loaded one; an answer under way is stopped first.

        None leaves the size of the context and the KV cache's precision to the settings. If the model cannot be
        loaded, the model that `fallback` names is loaded; without one, the user reads the problem.
        """
        if self._active:
            self.stop(self._active)
        self.guests.stop()
        self._fallback = fallback
        self._faster_library_known = self._switching_library = self._retried_load = False
        self._use_options_for_model(path)
        self._loading.choose(n_ctx, kv_type)
        phase = "starting" if self.state.phase in ("off", "starting") else "loading"
        self.state.change(path=path, phase=phase, model=None, fraction=0.0, problem=None)
        if self._unloading and self._link.running:  # the process is ending; `engine_ended` starts another one
            self._restarting = True
        elif self._link.running and self._maps_large_file:
            self._restarting, self._load = True, 0
            self._link.kill()
        elif self._link.running and self._asks_servers != bool(self.state.host):
            self._restarting, self._load = True, 0
            self._send(requests.Shutdown)
        elif self._link.running and self.state.phase != "starting":
            self._send_load()
        else:
            self.start_engine()

    def apply_settings(self) -> None:
        """Answer with the changed settings from now on; `reload_if_outdated` loads the model again if needed."""
        before = self._options.system_prompt, self._options.generate.thinking
        self._use_options_for_model(self.state.path)
        if (self._options.system_prompt, self._options.generate.thinking) != before:
            self._read_ahead.forget()
            self.state.change(read_ahead=None)

    def reload_if_outdated(self) -> None:
        """Load the model again if its options have changed and no answer is under way.

        Call this when the user has finished changing settings.
        """
        if self.state.phase == "failed" and self._link.running and self._outdated():
            self._send_load()
        self._start_next()

    def start_engine(self) -> None:
        """Start the engine if it does not run, and load the chosen model."""
        if self._link.running:
            if self.state.phase == "failed" and self.state.path:
                self._send_load()
            return
        self._restarting = self._unloading = False
        self._show_loading(phase="starting", model=None, fraction=0.0, problem=None)
        self._asks_servers = bool(self.state.host)
        files = () if self._asks_servers else (self.state.path, self._loading.options.draft_model)
        self._link.start(files, remote=self._asks_servers)
        self._hello = self._send(requests.Hello)

    def unload(self) -> None:
        """End the engine, which frees all of the model's memory; the next message starts it again."""
        if self._link.running:
            self._unloading, self._load = True, 0
            self._send(requests.Shutdown)
            # A message that is sent before the process has ended must not go to that process.
            self.state.change(phase="off", model=None, problem=None, context_tokens=0, read_ahead=None)

    def submit(self, conversation: Conversation) -> None:
        """Queue the conversation; its last message is answered as soon as model and engine are ready."""
        if conversation not in self._queue:
            self._queue.append(conversation)
        if not self._link.running and self.state.path:
            self.start_engine()
        elif self.state.phase == "failed" and self.state.host:  # the server may be back
            self._send_load()
        self.guests.give_way()
        self._start_next()

    def submit_guest(self, request: requests.Request) -> None:
        """Take a request of another program, which is answered while no conversation waits."""
        if self.state.host:
            self.guests.heard(events.Failed(request.id, Sentence.of("api.on_server", host=self.state.host)))
            return
        self.guests.take(request, self.state.phase == "ready" and self._link.running)
        if self.guests.waiting and not self._link.running and self.state.path:
            self.start_engine()
        elif self.state.path is None or self.state.phase == "failed":
            self.guests.fail(Sentence.of("no_model.loaded"), waiting=True)
        self._start_next()

    def stop(self, conversation: Conversation) -> None:
        """Stop the conversation's answer, or remove the conversation from the queue."""
        if conversation is self._active:
            self._send(requests.Cancel, request=self._generate)
            if self._stopped_at is None:
                self._stopped_at = self._clock()
            return
        if conversation in self._queue:
            self._queue.remove(conversation)
        conversation.withdraw()

    def answer_now(self, conversation: Conversation) -> bool:
        """End the thought of the conversation's answer, so that the answer follows; return False if there is none."""
        if conversation is not self._active or not conversation.thinking:
            return False
        self._send(requests.AnswerNow, request=self._generate)
        return True

    def forget(self, chat_id: str) -> None:
        """Remove a deleted chat from the engine's cache; undoing the deletion costs one more prefill."""
        self._read_ahead.forget()
        if self._link.running:
            self._send(requests.Forget, chat=chat_id)

    def read_ahead(self, conversation: Conversation) -> None:
        """Let an idle engine read this chat ahead, because the user opened the chat and may continue it.

        On battery only a chat with new files is read ahead, because the user will surely ask about those.
        """
        others = self._active or self._queue or self.guests.busy
        if self.state.power.postpones_idle_work and not conversation.has_new_files:
            return
        if others or self.state.phase != "ready" or self._switching_library or self.state.host:
            return
        if messages := self._read_ahead.messages_to_read(conversation):
            options = self._options_for(conversation)
            messages, thinking = self._prompt(options.system_prompt, messages), options.generate.thinking
            self._read_ahead.id = self._send(
                requests.Prepare,
                messages=messages,
                chat=conversation.cache_id,
                thinking=thinking,
                power=options.generate.power,
            )
            self.state.change(read_ahead=ReadAheadProgress(conversation.chat.id, 0, 0, 0))

    def ask_title(self, conversation: Conversation, question: str, most: int, done: TitleCallback) -> bool:
        """Have an idle engine answer `question` about the chat in at most `most` tokens; return False if it is busy.

        `done` gets the answer's first line, "" if the engine wrote none. Any other request cuts the answer short; then
        `done` is not called.
        """
        others = self._active or self._queue or self.guests.busy or self.guests.waiting or self.state.read_ahead
        if others or self.state.phase != "ready" or self._switching_library or self.state.host:
            return False
        if self.state.power.postpones_idle_work:
            return False
        options = self._options_for(conversation)
        messages = drop_oldest_turns(conversation.prompt(), conversation.chat.forget_turns)
        messages = (*self._prompt(options.system_prompt, messages), requests.Message("user", question))
        thinking = replace(options.generate.thinking, mode="off")
        id = self._send(
            requests.Title, messages=messages, chat=conversation.cache_id, max_tokens=most, thinking=thinking
        )
        self._asked_title = id, done
        return True

    def count(self, texts: tuple[str, ...], conversation: Conversation, done: CountCallback) -> None:
        """Count the tokens of `texts` and of the chat with the loaded model; without a model `done` is never called."""
        if self.state.phase == "ready" and self._link.running:
            options = self._options_for(conversation)
            messages = drop_oldest_turns(conversation.prompt(), conversation.chat.forget_turns)
            messages, thinking = self._prompt(options.system_prompt, messages), options.generate.thinking
            self._pending_counts.add(
                self._send(requests.Count, texts=texts, messages=messages, thinking=thinking), done
            )

    def _prompt(self, instructions: str, messages: Sequence[requests.Message]) -> tuple[requests.Message, ...]:
        """Return the prompt with the user's instructions, for the loaded model."""
        return with_system(instructions, as_seen(messages, self.state.sees))

    def instructions(self, conversation: Conversation) -> str:
        """Return the instructions that the model reads before everything else in this chat."""
        return self._options_for(conversation).system_prompt

    def thinking(self, conversation: Conversation) -> requests.ThinkingOptions:
        """Return whether and how much the model is to think in this chat."""
        return self._options_for(conversation).generate.thinking

    def watch(self, on: bool) -> None:
        """Start or stop the engine's reports, which `pulsed` emits."""
        self._watch = on
        if self._link.running:
            self._send(requests.Watch, on=on)

    def dismiss_problem(self) -> None:
        self.state.change(problem=None)

    def tick(self) -> None:
        """Store the text written so far, update the speed, and kill an engine that hangs.

        Call this a few times a second.
        """
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

    def handle(self, event: events.Event) -> None:
        """Handle one event from the engine; events of outdated requests are ignored."""
        if not self.guests.takes(event):
            self._handle_own(event)
        elif not self.guests.busy:
            self._continue_queue()

    def _handle_own(self, event: events.Event) -> None:
        match event:
            case events.Welcome() if not (self._unloading or self._restarting):
                self.state.change(limits=event.limits)
                self._send_load()
                if self._watch:
                    self.watch(True)
            case events.Pulse():
                self.pulsed.emit(event)
            case events.Notice() | events.Faster():
                self._handle_news(event)
            case events.Counted() | events.Titled():
                self._deliver(event)
            case events.StatusReport():
                self._handle_status(event)
            case events.LoadProgress() | events.SpeedExpected() | events.Loaded() | events.Restart() if (
                event.id == self._load
            ):
                self._handle_loading(event)
            case events.Failed():
                self._handle_failure(event)
            case events.PrefillProgress() | events.Prepared() if event.id == self._read_ahead.id:
                self._handle_read_ahead(event)
            case _ if self._active and event.id == self._generate:
                conversation = self._active
                try:
                    self._handle_answer(conversation, event)
                except Exception as error:  # noqa: BLE001 - it is reported, and the chat must end
                    self._give_up(conversation, error)
            case _:
                log.info("event without a use: %s", type(event).__name__)

    def _deliver(self, event: events.Counted | events.Titled) -> None:
        """Hand on what was asked beside the answers."""
        if isinstance(event, events.Counted):
            self._pending_counts.deliver(event)
        elif event.id == self._asked_title[0]:
            self._asked_title[1](event.text)

    def _handle_news(self, event: events.Notice | events.Faster) -> None:
        if isinstance(event, events.Notice):
            self.state.change(problem=Problem(event.sentence, "none"))
        else:
            self._faster_library_known = True
            self._start_next()

    def _handle_loading(
        self, event: events.LoadProgress | events.SpeedExpected | events.Loaded | events.Restart
    ) -> None:
        match event:
            case events.SpeedExpected():
                self._maps_large_file = True
                self.speed_expected.emit(event)
            case events.LoadProgress():
                self._show_loading(phase="loading", fraction=event.fraction)
            case events.Loaded():
                self._switching_library = self._retried_load = self._maps_large_file = False
                self._fallback = None
                self._read_ahead.forget()
                self.state.change(phase="ready", model=event.model, problem=None, context_tokens=0, statistics=None)
                self._send(requests.Status)
                self._start_next()
            case events.Restart():
                # The process holds the wrong library for this model, or may not read its file. The process is asked
                # to end, and `engine_ended` starts a new one.
                self._restarting = True
                self._send(requests.Shutdown)

    def engine_ended(self, end: EngineEnd) -> None:
        """Keep the partial answer and show why the process ended; the next message starts the engine again.

        The engine is started at once if it was restarted on purpose, or killed while something waited for it, or if a
        library that nobody requested crashed while it loaded the model: the engine then takes the other one.
        """
        self._maps_large_file = False
        if self._active:
            conversation = self._release_active()
            at_picture = end.crashed and conversation.reads_pictures
            sentence = Sentence.of("engine_end.picture") if at_picture else end.sentence
            conversation.fail_answer(sentence, end.output, reason="engine")
        is_loading = self.state.phase in ("starting", "loading")
        self.guests.fail(end.sentence, waiting=is_loading and not self._restarting)
        if self._restarting or self._goes_on_after(end):
            self.start_engine()
            return
        problem = None if self._unloading else Problem(end.sentence, "restart", end.output)
        if problem and self.state.phase == "loading" and not end.killed and self._falls_back(problem):
            return
        self._faster_library_known = self._switching_library = False
        wanted = (end.killed and (self._queue or self.state.phase == "loading")) or (self._unloading and self._queue)
        wanted = wanted or self.guests.waiting
        self._read_ahead.forget()
        self._pending_counts.clear()
        self.state.change(phase="off", model=None, problem=problem, context_tokens=0, rss_bytes=0, read_ahead=None)
        if wanted:
            self.start_engine()

    def _goes_on_after(self, end: EngineEnd) -> bool:
        """Return whether the load that a crash ended goes on with another library; once for each load."""
        loading = self.state.phase == "loading" or self._switching_library
        any_library = not self._asks_servers and self._loading.options.backend in (None, "auto")
        goes_on = end.crashed and loading and any_library and not self._retried_load
        self._retried_load |= goes_on
        return goes_on

    def _handle_answer(self, conversation: Conversation, event: events.Event) -> None:
        match event:
            case events.PrefillProgress():
                self._prompt_tokens = event.total
                conversation.update_prompt_progress(event.done, event.total, event.reused, event.looking)
            case events.Text() | events.Thinking():
                self._speed.count(self._clock())
                conversation.append_text(event.text, "text" if isinstance(event, events.Text) else "thought")
            case events.ThinkingStarted():
                conversation.append_text(event.text, "opened")
            case events.ThinkingEnded():
                conversation.end_thought(event.text, "closed" if event.opened else "unopened", event.tokens)
            case events.Finished():
                self._release_active()
                self.state.change(
                    context_tokens=event.statistics.context_tokens,
                    context_chat=conversation.chat.id,
                    statistics=event.statistics,
                )
                conversation.finish_answer(event.statistics)
                self._continue_queue()

    def _handle_read_ahead(self, event: events.PrefillProgress | events.Prepared) -> None:
        if isinstance(event, events.Prepared):
            chat = self.state.read_ahead.chat if self.state.read_ahead else ""
            self.state.change(read_ahead=None, context_tokens=event.cached_tokens, context_chat=chat)
        elif self.state.read_ahead:
            self.state.change(
                read_ahead=replace(self.state.read_ahead, done=event.done, total=event.total, reused=event.reused)
            )

    def _handle_failure(self, event: events.Failed) -> None:
        log.warning("request %d failed: %s", event.id, event.sentence.id)  # its texts may quote the chat
        if event.id == self._generate and self._active:
            conversation = self._release_active()
            if event.code == "cancelled":  # stopped before the first piece of the answer
                conversation.fail_answer(None, reason="cancelled")
            else:
                conversation.fail_answer(event.sentence, event.detail, remedies=event.remedies)
            self._continue_queue()
        elif event.id == self._read_ahead.id:
            self.state.change(read_ahead=None)  # the user did not ask for it; the next message shows what is wrong
        elif event.id == self._hello:
            self._switching_library = False
            self.state.change(phase="failed", problem=Problem(event.sentence, "restart", event.detail))
        elif event.id == self._load:
            self._switching_library = self._maps_large_file = False
            self._loading.drop_choice()
            if self._cannot_load(event.sentence, event.detail):
                self._send(requests.Status)  # the model that was loaded before may still be there

    def _handle_status(self, event: events.StatusReport) -> None:
        self.state.change(rss_bytes=event.rss_bytes)
        if self.state.phase == "failed" and event.model:
            self.state.change(phase="ready", model=event.model, path=path_of(event.model.path))
            self._use_options_for_model(self.state.path)
            self._loading.keep_loaded()
            self._start_next()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _cannot_load(self, sentence: Sentence, detail: str = "") -> bool:
        """Load the model that is to take its place; without one, show the problem and return True."""
        again = self.state.host and sentence.code == "no_connection"
        problem = Problem(sentence, "again" if again else "choose", detail)
        if self._falls_back(problem):
            return False
        self.state.change(phase="failed", problem=problem)
        self.guests.fail(sentence, waiting=True)
        return True

    def _falls_back(self, problem: Problem) -> bool:
        """Load the model that is to be loaded instead of the one that could not be; return whether there is one."""
        fallback = self._fallback
        other = fallback(problem) if fallback else None
        if other is None:
            return False
        self.use_model(other, fallback=fallback)
        return True

    def _use_options_for_model(self, path: Path | None) -> None:
        """Use the options of the model at `path` from now on."""
        self._options = self._settings.options(path)
        self._loading.use_options(self._options.load)

    def _release_active(self) -> Conversation:
        """Make no conversation active, and return the one that was."""
        active, self._active, self._stopped_at = self._active, None, None
        assert active
        self.state.change(live_speed=None)
        self.active_changed.emit()
        return active

    def _options_for(self, conversation: Conversation) -> Options:
        values = chat_options_from_json(conversation.chat.options).values
        return self._settings.options(self.state.path, values)

    def _continue_queue(self) -> None:
        self._send(requests.Status)
        self._start_next()

    def _start_next(self) -> None:
        if self._active or self.guests.in_the_way or self.state.phase != "ready" or self._switching_library:
            return
        if self.guests.busy and (self._outdated() or not self._queue):
            return
        if self._outdated():
            self._send_load()
            return
        if not self._queue:
            self._start_guest_or_switch()
            return
        conversation = self._next_allowed()
        if conversation is None:
            return
        self._queue.remove(conversation)
        self._active = conversation
        self.active_changed.emit()
        try:
            self._request_answer(conversation)
        except Exception as error:  # noqa: BLE001 - it is reported, and the chat must end
            self._give_up(conversation, error)

    def _next_allowed(self) -> Conversation | None:
        """Return the first waiting conversation that may be answered.

        One that a server would read for the first time waits for the user's consent, and others go first.
        """
        host, allowed = self.state.host, None
        for conversation in self._queue:
            if host and not conversation.may_leave_for(host):
                conversation.ask_about(host)
            elif allowed is None:
                allowed = conversation
        return allowed

    def _outdated(self) -> bool:
        """Return whether the model must be loaded again; a server loads its models as it likes."""
        return not self.state.host and self._loading.outdated()

    def _start_guest_or_switch(self) -> None:
        """Answer another program while no conversation waits, else switch to a faster library."""
        if self.guests.waiting:
            self._read_ahead.forget()  # the engine's cache will hold something else
            self.state.change(read_ahead=None)
            self.guests.start_next()
        else:
            self._switch_library()

    def _switch_library(self) -> None:
        """Switch to the faster library, if one is known, while no chat waits.

        The engine asks for a new process, which reads the chat again. What is sent meanwhile waits for the switch.
        """
        if self._faster_library_known:
            self._faster_library_known, self._switching_library = False, True
            self._send_load()

    def _show_loading(self, **values: object) -> None:
        """Change the state, except during a switch to a faster library, which the user does not notice."""
        if not self._switching_library:
            self.state.change(**values)

    def _request_answer(self, conversation: Conversation) -> None:
        messages, continued = conversation.prompt(), conversation.continuing
        path = path_text(self.state.path) if self.state.path else ""
        conversation.begin_answer(self.state.model.name if self.state.model else "", path)
        self._speed.start()
        self._prompt_tokens = 0
        self._read_ahead.forget()
        self.state.change(read_ahead=None)
        options = self._options_for(conversation)
        self._generate = self._post(
            replace(
                options.generate,
                messages=self._prompt(options.system_prompt, messages),
                chat=conversation.cache_id,
                forget_turns=conversation.chat.forget_turns,
                continue_last=continued,
            )
        )

    def _give_up(self, conversation: Conversation, error: Exception) -> None:
        """Report a bug of ours, end the conversation with what it has, and continue with the next one."""
        report(error)
        if conversation is self._active:
            self._send(requests.Cancel, request=self._generate)
            self._release_active()
        conversation.withdraw()
        conversation.fail_answer(BUG, repr(error))
        self._continue_queue()

    def _send_load(self) -> None:
        if self.state.path is None:
            self.state.change(phase="failed")
            return
        self.state.change(read_ahead=None)
        self._show_loading(phase="loading", fraction=0.0, model=None)
        remote = remote_model(self.state.path)
        if remote is None:
            self._load = self._post(self._loading.request(self.state.path))
        else:
            self._connect(remote)

    def _connect(self, remote: RemoteModel) -> None:
        """Have the process use the model on a server, unless connections are turned off; its key is looked up first."""

        def is_wanted() -> bool:
            state = self.state
            return state.path == remote.path and state.phase == "loading" and self._asks_servers and self._link.running

        def found(key: str) -> None:
            if is_wanted():
                server = requests.Server(remote.url, key)
                self._load = self._post(requests.Load(0, remote.name, server=server))

        def failed(failure: Failure) -> None:
            if is_wanted():
                self._cannot_load(failure.sentence, failure.detail)

        if (reason := self._servers.forbidden()) is not None:
            self._cannot_load(reason)
        else:
            self._servers.find_key(remote.url, found, failed)

    def _send(self, kind: type[requests.Request], **fields: object) -> int:
        return self._post(kind(id=0, **fields))  # type: ignore[arg-type]

    def _post(self, request: requests.Request) -> int:
        self._last_id += 1
        self._link.send(replace(request, id=self._last_id))
        return self._last_id
