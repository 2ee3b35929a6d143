"""Has the engine load the chosen model and gives it one conversation after the other. Knows no Qt.

The engine's process and everybody who waits for it belong to `engine.client.EngineClient`. Whether the process dies,
refuses or sends nonsense, conversations end with a sentence and keep their text; the next message starts it again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.bugs import BUG, report
from app.events import Event
from app.settings.resolve import Options, chat_options_from_json
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_requests import CountCallback, Loading, NoServers, ReadAhead, Servers
from app.state.engine_state import EngineState, Problem, ReadAheadProgress
from app.state.guests import Guests
from app.state.live_speed import LiveSpeed
from app.state.prompt import as_seen, drop_oldest_turns, with_system
from common.failures import Failure
from common.paths import path_of, path_text
from common.sentences import Sentence
from engine.client import Changed, EngineClient, Heard, Target
from engine.protocol import events, requests
from models.servers import RemoteModel, remote_model

log = logging.getLogger(__name__)
Fallback = Callable[[Problem], Path | None]  # from why a model could not be loaded to the model to load instead
TitleCallback = Callable[[str], object]


class EngineQueue:
    """One engine, one model, and a queue of conversations to answer.

    `active_changed` is emitted when another conversation, or none, is answered; `pulsed` carries the engine's reports
    while it is watched; `speed_expected` what to expect of a model that is larger than the memory, before it is loaded.
    All other changes are events of `state`.
    """

    def __init__(
        self,
        client: EngineClient,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        servers: Servers | None = None,
    ) -> None:
        self.state = EngineState()
        self.active_changed: Event[()] = Event()
        self.pulsed: Event[events.Pulse] = Event()
        self.speed_expected: Event[events.SpeedExpected] = Event()
        self.guests = Guests(client, self._continue_queue)
        self._client, self._clock, self._servers = client, clock, servers or NoServers()
        client.news = self._hear
        self._settings, self._options = settings, settings.options()
        self._loading = Loading(self._options.load)
        self._queue: list[Conversation] = []
        self._active: Conversation | None = None
        self._generate = 0  # id of the request that answers the active conversation
        self._fallback: Fallback | None = None
        self._read_ahead = ReadAhead()
        self._title = 0  # id of the last Title
        self._watch = False
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
        self._fallback = fallback
        self._use_options_for_model(path)
        self._loading.choose(n_ctx, kv_type)
        phase = "starting" if self.state.phase in ("off", "starting") else "loading"
        self.state.change(path=path, phase=phase, model=None, fraction=0.0, problem=None)
        self._load()

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
        if self.state.phase == "failed" and self._client.phase == "failed" and self._outdated():
            self._load()
        self._start_next()

    def start_engine(self) -> None:
        """Start the engine if it does not run, and load the chosen model."""
        if self.state.phase in ("off", "failed"):
            phase = "starting" if self.state.phase == "off" else "loading"
            self.state.change(phase=phase, model=None, fraction=0.0, problem=None)
            self._load()

    def unload(self) -> None:
        """End the engine, which frees all of the model's memory; the next message starts it again."""
        if self.state.phase != "off":
            self._client.unload()
            # A message that is sent before the process has ended must not go to that process.
            self.state.change(phase="off", model=None, problem=None, context_tokens=0, read_ahead=None)

    def submit(self, conversation: Conversation) -> None:
        """Queue the conversation; its last message is answered as soon as model and engine are ready."""
        if conversation not in self._queue:
            self._queue.append(conversation)
        if self.state.path and (self.state.phase == "off" or self._may_be_back()):
            self.start_engine()
        self.guests.give_way()
        self._start_next()

    def submit_guest(self, request: requests.Request) -> None:
        """Take a request of another program, which is answered while no conversation waits."""
        if self.state.host:
            self.guests.heard(events.Failed(request.id, Sentence.of("api.on_server", host=self.state.host)))
            return
        self.guests.take(request)
        if self.guests.waiting and self.state.path and self.state.phase == "off":
            self.start_engine()
        elif self.state.path is None or self.state.phase == "failed":
            self.guests.fail_waiting(Sentence.of("no_model.loaded"))
        self._start_next()

    def stop(self, conversation: Conversation) -> None:
        """Stop the conversation's answer, or remove the conversation from the queue."""
        if conversation is self._active:
            self._client.cancel(self._generate)
            return
        if conversation in self._queue:
            self._queue.remove(conversation)
        conversation.withdraw()

    def answer_now(self, conversation: Conversation) -> bool:
        """End the thought of the conversation's answer, so that the answer follows; return False if there is none."""
        if conversation is not self._active or not conversation.thinking:
            return False
        self._send(requests.AnswerNow(0, self._generate))
        return True

    def forget(self, chat_id: str) -> None:
        """Remove a deleted chat from the engine's cache; undoing the deletion costs one more prefill."""
        self._read_ahead.forget()
        self._send(requests.Forget(0, chat_id))

    def read_ahead(self, conversation: Conversation) -> None:
        """Let an idle engine read this chat ahead, because the user opened the chat and may continue it.

        On battery only a chat with new files is read ahead, because the user will surely ask about those.
        """
        others = self._active or self._queue or self.guests.busy
        if self.state.power.postpones_idle_work and not conversation.has_new_files:
            return
        if others or not self._ready or self.state.host:
            return
        if messages := self._read_ahead.messages_to_read(conversation):
            options = self._options_for(conversation)
            request = requests.Prepare(
                0,
                messages=self._prompt(options.system_prompt, messages),
                chat=conversation.cache_id,
                thinking=options.generate.thinking,
                power=options.generate.power,
            )
            self._read_ahead.id = self._send(request, self._handle_read_ahead)
            self.state.change(read_ahead=ReadAheadProgress(conversation.chat.id, 0, 0, 0))

    def ask_title(self, conversation: Conversation, question: str, most: int, done: TitleCallback) -> bool:
        """Have an idle engine answer `question` about the chat in at most `most` tokens; return False if it is busy.

        `done` gets the answer's first line, "" if the engine wrote none. Any other request cuts the answer short; then
        `done` is not called.
        """
        others = self._active or self._queue or self.guests.busy or self.guests.waiting or self.state.read_ahead
        if others or not self._ready or self.state.host:
            return False
        if self.state.power.postpones_idle_work:
            return False
        options = self._options_for(conversation)
        messages = drop_oldest_turns(conversation.prompt(), conversation.chat.forget_turns)
        messages = (*self._prompt(options.system_prompt, messages), requests.Message("user", question))
        thinking = replace(options.generate.thinking, mode="off")
        request = requests.Title(0, messages, conversation.cache_id, most, thinking)

        def heard(event: events.Event) -> None:
            if isinstance(event, events.Titled) and event.id == self._title:
                done(event.text)

        self._title = self._send(request, heard)
        return True

    def count(self, texts: tuple[str, ...], conversation: Conversation, done: CountCallback) -> None:
        """Count the tokens of `texts` and of the chat with the loaded model; without a model `done` is never called."""
        options = self._options_for(conversation)
        messages = drop_oldest_turns(conversation.prompt(), conversation.chat.forget_turns)
        messages, thinking = self._prompt(options.system_prompt, messages), options.generate.thinking
        self._send(
            requests.Count(0, texts, messages, thinking),
            lambda event: done(event) if isinstance(event, events.Counted) else None,
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
        self._send(requests.Watch(0, on))

    def dismiss_problem(self) -> None:
        self.state.change(problem=None)

    def tick(self) -> None:
        """Store the text written so far, and update the speed. Call this a few times a second."""
        if self._active is None:
            return
        self._active.checkpoint()
        if self._speed.tokens:
            used = self._prompt_tokens + self._speed.tokens
            chat = self._active.chat.id
            self.state.change(live_speed=self._speed.tokens_per_second, context_tokens=used, context_chat=chat)

    # --- what the engine does ---------------------------------------------------------------------------------------

    def _hear(self, news: events.Event | Changed) -> None:
        """Take what answers no request: changes of the engine's phase, and its own reports."""
        match news:
            case Changed():
                self._follow(news)
            case events.Welcome():
                self.state.change(limits=news.limits)
            case events.LoadProgress() if not self._client.switching:
                self.state.change(fraction=news.fraction)
            case events.SpeedExpected():
                self.speed_expected.emit(news)
            case events.Pulse():
                self.pulsed.emit(news)
            case events.Notice():
                self.state.change(problem=Problem(news.sentence, "none"))

    def _follow(self, changed: Changed) -> None:
        """Show the engine's phase. A switch to a faster library, which the user does not notice, looks ready."""
        if changed.phase == "ready":
            self._become_ready(changed.failed)
        elif changed.failed and changed.phase == "failed":
            self._cannot_load(changed.failed.sentence, changed.failed.detail)
        elif changed.failed:  # the process refused its first request, and ends
            self._fail(Problem(changed.failed.sentence, "restart", changed.failed.detail))
        elif changed.phase in ("starting", "loading") and not self._client.switching:
            self.state.change(phase=changed.phase, model=None, fraction=0.0, read_ahead=None)
        elif changed.phase == "absent":
            self._engine_ended(changed)

    def _become_ready(self, refusal: events.Failed | None) -> None:
        """Work with the model that is loaded; after a refusal, the one that was loaded before."""
        model = self._client.model
        assert model
        path = self.state.path
        if refusal is None:
            self._fallback = None
            self.state.change(problem=None)
        elif self._cannot_load(refusal.sentence, refusal.detail):
            path = path_of(model.path)
            self._use_options_for_model(path)
            self._loading.keep_loaded()
        else:
            return
        self._read_ahead.forget()
        self.state.change(phase="ready", path=path, model=model, context_tokens=0, statistics=None, read_ahead=None)
        self._ask_status()
        if self._watch:
            self.watch(True)
        self._start_next()

    def _engine_ended(self, changed: Changed) -> None:
        """Show why the process ended; the next message starts it again.

        It is started at once if it was killed because it did not react while another chat waited.
        """
        end = changed.end
        problem = Problem(end.sentence, "restart", end.output) if end else None
        if problem and end and self.state.phase in ("starting", "loading"):
            if not end.killed and self._falls_back(problem):
                return
            self.guests.fail_waiting(problem.sentence)
        self._read_ahead.forget()
        values = {"problem": problem} if problem else {}
        self.state.change(phase="off", model=None, context_tokens=0, rss_bytes=0, read_ahead=None, **values)
        if self.guests.waiting or (self._queue and (end is None or end.killed)):
            self.start_engine()

    def _handle_answer(self, conversation: Conversation, event: events.Event) -> None:
        """Hand an event of the active conversation's answer on to it; outdated ones are ignored."""
        if conversation is not self._active:
            return
        try:
            self._apply(conversation, event)
        except Exception as error:  # noqa: BLE001 - it is reported, and the chat must end
            self._give_up(conversation, error)

    def _apply(self, conversation: Conversation, event: events.Event) -> None:
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

            case events.Failed():
                log.warning("request %d failed: %s", event.id, event.sentence.id)  # its texts may quote the chat
                self._release_active()
                self._fail_answer(conversation, event)
                self._continue_queue()

    def _fail_answer(self, conversation: Conversation, event: events.Failed) -> None:
        """End an answer with what it has, and say why."""
        if event.code == "cancelled":  # stopped before the first piece of the answer
            conversation.fail_answer(None, reason="cancelled")
        elif event.code == "engine_end":
            end = self._client.end
            at_picture = end is not None and end.crashed and conversation.reads_pictures
            sentence = Sentence.of("engine_end.picture") if at_picture else event.sentence
            conversation.fail_answer(sentence, event.detail, reason="engine")
        else:
            conversation.fail_answer(event.sentence, event.detail, remedies=event.remedies)

    def _handle_read_ahead(self, event: events.Event) -> None:
        if event.id != self._read_ahead.id:
            return
        if isinstance(event, events.Prepared):
            chat = self.state.read_ahead.chat if self.state.read_ahead else ""
            self.state.change(read_ahead=None, context_tokens=event.cached_tokens, context_chat=chat)
        elif isinstance(event, events.Failed):
            self.state.change(read_ahead=None)  # the user did not ask for it; the next message shows what is wrong
        elif isinstance(event, events.PrefillProgress) and self.state.read_ahead:
            self.state.change(
                read_ahead=replace(self.state.read_ahead, done=event.done, total=event.total, reused=event.reused)
            )

    def _ask_status(self) -> None:
        def heard(event: events.Event) -> None:
            if isinstance(event, events.StatusReport):
                self.state.change(rss_bytes=event.rss_bytes)

        self._send(requests.Status(0), heard)

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def _ready(self) -> bool:
        """Whether a request would be sent at once to the chosen model."""
        return self.state.phase == self._client.phase == "ready"

    def _may_be_back(self) -> bool:
        """Return whether a model that could not be used may be now: a server's."""
        return self.state.phase == "failed" and bool(self.state.host)

    def _cannot_load(self, sentence: Sentence, detail: str = "") -> bool:
        """Load the model that is to take its place; without one, show the problem and return True."""
        again = self.state.host and sentence.code == "no_connection"
        problem = Problem(sentence, "again" if again else "choose", detail)
        self._loading.drop_choice()
        if self._falls_back(problem):
            return False
        self._fail(problem)
        return True

    def _fail(self, problem: Problem) -> None:
        self.state.change(phase="failed", problem=problem)
        self.guests.fail_waiting(problem.sentence)

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
        active, self._active = self._active, None
        assert active
        self.state.change(live_speed=None)
        self.active_changed.emit()
        return active

    def _options_for(self, conversation: Conversation) -> Options:
        values = chat_options_from_json(conversation.chat.options).values
        return self._settings.options(self.state.path, values)

    def _continue_queue(self) -> None:
        self._ask_status()
        self._start_next()

    def _start_next(self) -> None:
        if self._active or self.guests.in_the_way or not self._ready:
            return
        if self.guests.busy and (self._outdated() or not self._queue):
            return
        if self._outdated():
            self._load()
            return
        if not self._queue:
            self._start_guest()
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

    def _start_guest(self) -> None:
        """Answer another program while no conversation waits."""
        if self.guests.waiting:
            self._read_ahead.forget()  # the engine's cache will hold something else
            self.state.change(read_ahead=None)
            self.guests.start_next()

    def _request_answer(self, conversation: Conversation) -> None:
        messages, continued = conversation.prompt(), conversation.continuing
        path = path_text(self.state.path) if self.state.path else ""
        conversation.begin_answer(self.state.model.name if self.state.model else "", path)
        self._speed.start()
        self._prompt_tokens = 0
        self._read_ahead.forget()
        self.state.change(read_ahead=None)
        options = self._options_for(conversation)
        request = replace(
            options.generate,
            messages=self._prompt(options.system_prompt, messages),
            chat=conversation.cache_id,
            forget_turns=conversation.chat.forget_turns,
            continue_last=continued,
        )
        self._generate = self._client.submit(request, partial(self._handle_answer, conversation))

    def _give_up(self, conversation: Conversation, error: Exception) -> None:
        """Report a bug of ours, end the conversation with what it has, and continue with the next one."""
        report(error)
        if conversation is self._active:
            self._client.cancel(self._generate)
            self._release_active()
        conversation.withdraw()
        conversation.fail_answer(BUG, repr(error))
        self._continue_queue()

    def _load(self) -> None:
        """Have the engine load the chosen model with the options of now."""
        path = self.state.path
        if path is None:
            self.state.change(phase="failed")
            return
        self.state.change(read_ahead=None)
        remote = remote_model(path)
        if remote is None:
            self._client.use(Target(self._loading.request(path)))
        else:
            self._connect(remote)

    def _connect(self, remote: RemoteModel) -> None:
        """Use the model on a server, unless connections are turned off; its key is looked up first."""

        def is_wanted() -> bool:
            return self.state.path == remote.path and self.state.phase in ("starting", "loading")

        def use(key: str) -> None:
            if is_wanted():
                server = requests.Server(remote.url, key)
                self._client.use(Target(requests.Load(0, remote.name, server=server)))

        def failed(failure: Failure) -> None:
            if is_wanted():
                self._cannot_load(failure.sentence, failure.detail)

        if (reason := self._servers.forbidden()) is not None:
            self._cannot_load(reason)
        else:
            self._servers.find_key(remote.url, use, failed)

    def _send(self, request: requests.Request, heard: Heard = lambda _event: None) -> int:
        """Send a request of which nobody needs the answer if no model is loaded; it is dropped then."""
        return self._client.submit(request, heard, hold=False) if self._ready else 0
