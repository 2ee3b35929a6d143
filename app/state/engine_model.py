"""The model that answers: which one is wanted, with which options, and its way into the engine. Knows no Qt.

The engine's process belongs to `engine.client.EngineClient`; `EngineState` is what the window shows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.events import Event
from app.settings.resolve import PROMPT, Options, chat_options_from_json
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_state import EngineState, Problem
from app.state.prompt import as_seen, with_system
from app.tools.rounds import Offer
from common.failures import Failure
from common.paths import path_of, path_text
from common.planning import KVType
from common.sentences import Sentence
from engine.client import Changed, EngineClient, Target
from engine.protocol import events
from engine.protocol.requests import Load, Message, Server, Tool
from models.servers import RemoteModel, remote_model

Fallback = Callable[[Problem], Path | None]  # from why a model could not be loaded to the model to load instead


# Calls the first function with the key of the server at this address ("": it needs none), or the second one with why
# there is no connection; at once or later, because a keyring may ask.
FindKey = Callable[[str, Callable[[str], object], Callable[[Failure], object]], object]


class LoadOptions:
    """The options for loading the model, and those of the last request.

    `options` is a Load without a path. What the user chose for a chat overrides the options until another model is
    chosen.
    """

    def __init__(self, options: Load) -> None:
        self.options = options
        self._chosen: dict[str, object] = {}
        self._requested: Load | None = None

    def choose(self, **choices: int | KVType | None) -> None:
        """Set the user's choice for this model; None leaves a field to the settings."""
        self._chosen = {field: choice for field, choice in choices.items() if choice is not None}

    def use_options(self, options: Load) -> None:
        """Use changed settings; a setting that changed replaces what the user chose before."""
        same = {field for field in self._chosen if getattr(options, field) == getattr(self.options, field)}
        self._chosen = {field: choice for field, choice in self._chosen.items() if field in same}
        self.options = options

    def drop_choice(self) -> None:
        """Drop the user's choice, because loading with it failed; a model that is still loaded stays as it is."""
        if self._chosen:
            self._chosen = {}
            self.keep_loaded()

    def keep_loaded(self) -> None:
        """Keep the loaded model as it is, although other options were requested."""
        self._requested = self._current_options()

    @property
    def outdated(self) -> bool:
        """Whether the model was requested with other options than would be used now.

        The local API alone is no reason to load it again: the reserve of memory has room for that.
        """
        current = self._current_options()
        return self._requested is not None and self._requested != replace(current, api=self._requested.api)

    def request(self, path: Path) -> Load:
        """Return the request for the model at `path` and remember its options."""
        self._requested = self._current_options()
        return replace(self._requested, path=path_text(path))

    def _current_options(self) -> Load:
        return replace(self.options, **self._chosen)  # type: ignore[arg-type]


class EngineModel:
    """The wanted model, and the loaded one; `state` shows both.

    Each attempt to have a model ends with one of three events. `ready`: a model is loaded, after a refusal the one
    before. `failed`: there is none, and nobody loads another one. `stopped`: the engine has ended, and may be started
    again for those who wait. `speed_expected` tells what to expect of a model that is larger than the memory before it
    is loaded; `pulsed` carries the engine's reports. `offer_tools` returns the tools that a
    chat's next answer may call.
    """

    def __init__(self, client: EngineClient, settings: Settings, find_key: FindKey) -> None:
        self.state = EngineState()
        self.ready: Event[()] = Event()
        self.failed: Event[Sentence] = Event()
        self.stopped: Event[()] = Event()
        self.pulsed: Event[events.Pulse] = Event()
        self.speed_expected: Event[events.SpeedExpected] = Event()
        self._client, self._settings, self._find_key = client, settings, find_key
        self.offer_tools: Callable[[Conversation], Offer | None] = lambda _conversation: None
        client.news = self._hear
        self._options = LoadOptions(settings.options().load)
        self._fallback: Fallback | None = None
        # The server that is wanted while the client has not been told of it: its key is looked up, or was not found.
        self._connecting: RemoteModel | None = None

    @property
    def usable(self) -> bool:
        """Whether a request would be sent at once to the wanted model."""
        return self.state.phase == self._client.phase == "ready"

    @property
    def outdated(self) -> bool:
        """Whether the model must be loaded again; a server loads its models as it likes."""
        return not self.state.host and self._options.outdated

    def options_for(self, conversation: Conversation) -> Options:
        """Return the options for answering this chat with the wanted model; its instructions are below its beginning.

        The instructions of a project take the place of those in the settings, and a chat's own are added to them.
        """
        own, project = chat_options_from_json(conversation.chat.options).values, conversation.project
        options = self._settings.options(self.state.path, {**project.options.values, **own})
        instructions = "" if project.instructions and PROMPT not in own else options.system_prompt
        return replace(options, system_prompt="\n\n".join(filter(None, (project.beginning, instructions))))

    def tools_of(self, conversation: Conversation) -> tuple[Tool, ...]:
        """Return the tools that the model is told of in this chat."""
        offer = self.offer_tools(conversation)
        return offer.tools if offer else ()

    def prompt(self, options: Options, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages as the loaded model reads them: below the user's instructions."""
        return with_system(options.system_prompt, as_seen(messages, self.state.sees))

    # --- what the user does -----------------------------------------------------------------------------------------

    def use(
        self, path: Path, n_ctx: int | None = None, kv_type: KVType | None = None, fallback: Fallback | None = None
    ) -> None:
        """Load the model at `path` in place of the loaded one; an answer under way is stopped first.

        None leaves the size of the context and the KV cache's precision to the settings. If the model cannot be
        loaded, the model that `fallback` names is loaded; without one, the user reads the problem.
        """
        self._fallback = fallback
        self._use_options(path)
        self._options.choose(n_ctx=n_ctx, kv_type=kv_type)
        self._load(path)

    def apply_settings(self) -> None:
        """Use the changed settings from now on; the model is `outdated` if it must be loaded again for them."""
        self._use_options(self.state.path)

    def start(self) -> None:
        """Start the engine if it does not run, and load the wanted model."""
        if self.state.phase in ("off", "failed"):
            self.load_again()

    def wake(self) -> None:
        """Start the engine for a new message, if it was unloaded or has ended; a server that failed may be back."""
        if self.state.phase == "off" or self.state.host:
            self.start()

    def load_again(self) -> None:
        """Load the wanted model, if there is one, with the options of now."""
        if self.state.path is not None:
            self._load(self.state.path)

    def unload(self) -> None:
        """End the engine, which frees all of the model's memory; the next message starts it again."""
        if self.state.phase != "off":
            self._connecting = None
            self._client.unload()
            # A message that is sent before the process has ended must not go to that process.
            self._change("off", problem=None, context_tokens=0, rss_bytes=0)
            if not self._client.running:
                self.stopped.emit()

    # --- what the engine does ---------------------------------------------------------------------------------------

    def _hear(self, news: events.Event | Changed) -> None:
        """Take what answers no request: changes of the engine's phase, and its own reports."""
        if self._connecting is not None:  # the news are about another model
            return
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
            self._change(changed.phase, fraction=0.0)
        elif changed.phase == "absent":
            self._engine_ended(changed)

    def _become_ready(self, refusal: events.Failed | None) -> None:
        """Work with the model that is loaded; after a refusal, the one that was loaded before."""
        model, path = self._client.model, self.state.path
        assert model
        if refusal is not None:
            problem = self._problem_of(refusal.sentence, refusal.detail)
            if self._falls_back(problem):
                return
            self.state.change(phase="failed", problem=problem)
            path = path_of(model.path)
            self._use_options(path)
            self._options.keep_loaded()
        else:
            self.state.change(problem=None)
        self._fallback = None
        self._change("ready", path=path, model=model, context_tokens=0, statistics=None)
        self.ready.emit()

    def _engine_ended(self, changed: Changed) -> None:
        """Show why the process ended; one that ended while it loaded a model is not started again by itself."""
        end, before = changed.end, self.state.phase
        problem = Problem(end.sentence, "restart", end.output) if end else None
        loaded = before not in ("starting", "loading")
        if end and problem and not loaded and not end.killed and self._falls_back(problem):
            return
        self._change("off", context_tokens=0, rss_bytes=0, problem=problem or self.state.problem)
        if problem and not loaded:
            self.failed.emit(problem.sentence)
        elif before != "failed":
            self.stopped.emit()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _use_options(self, path: Path | None) -> None:
        self._options.use_options(self._settings.options(path).load)

    def _load(self, path: Path) -> None:
        """Have the client load the model at `path`, for a server after its key is found."""
        phase = "starting" if self.state.phase in ("off", "starting") else "loading"
        remote = self._connecting = remote_model(path)
        self._change(phase, path=path, fraction=0.0, problem=None)
        if remote is None:
            self._client.use(Target(self._options.request(path)))
        else:
            self._find_key(remote.url, partial(self._connect, remote), partial(self._no_key, remote))

    def _connect(self, remote: RemoteModel, key: str) -> None:
        """Use the model on a server with this key, unless another model is wanted by now."""
        if self._connecting is remote and self.state.phase in ("starting", "loading"):
            self._connecting = None
            self._client.use(Target(Load(0, remote.name, server=Server(remote.url, key))))

    def _no_key(self, remote: RemoteModel, failure: Failure) -> None:
        if self._connecting is remote and self.state.phase in ("starting", "loading"):
            self._cannot_load(failure.sentence, failure.detail)

    def _problem_of(self, sentence: Sentence, detail: str) -> Problem:
        """Return the problem of a model that could not be loaded, and drop the choice it was to be loaded with."""
        self._options.drop_choice()
        again = self.state.host and sentence.code == "no_connection"
        return Problem(sentence, "again" if again else "choose", detail)

    def _cannot_load(self, sentence: Sentence, detail: str = "") -> None:
        """Load the model that is to take the place of the wanted one; without one, show the problem."""
        problem = self._problem_of(sentence, detail)
        if not self._falls_back(problem):
            self._fail(problem)

    def _fail(self, problem: Problem) -> None:
        self.state.change(phase="failed", problem=problem)
        self.failed.emit(problem.sentence)

    def _falls_back(self, problem: Problem) -> bool:
        """Load the model that is to be loaded instead of the one that could not be; return whether there is one."""
        other = self._fallback(problem) if self._fallback else None
        if other is None:
            return False
        self.use(other, fallback=self._fallback)
        return True

    def _change(self, phase: str, **values: object) -> None:
        """Show another phase; what the engine was reading ahead is lost, and so is the model unless it is named."""
        self.state.change(**{"phase": phase, "model": None, "read_ahead": None, **values})
