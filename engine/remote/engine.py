"""The remote engine: answers the requests by asking a server. It holds no model and keeps nothing of a chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from common.confinement import limits
from common.failures import Failure
from common.sentences import Sentence
from common.version import VERSION
from engine.protocol.events import (
    Counted,
    Event,
    Loaded,
    ModelInfo,
    ModelsListed,
    PageRead,
    Prepared,
    Pulse,
    SpeedExpected,
    StatusReport,
    Welcome,
)
from engine.protocol.requests import BackendName, Count, Generate, ListModels, Load, Prepare, ReadPage, Server
from engine.remote.answer import RemoteAnswer, estimated_tokens, prompt_tokens
from engine.remote.body import ignored_fields
from engine.remote.http import Patience
from engine.remote.page import read_page
from engine.remote.probe import Probed, not_there, probe
from engine.stop import StopFlag
from models.servers import RemoteModel
from models.titles import title_of

PROCESS_BYTES = 25 << 20  # private memory of this process, once it has asked a server


class RemoteEngine:
    """A model on a server, with the methods of `engine.engine.Engine` that a process or a terminal needs.

    `forbidden`: why connections are turned off; None if they are allowed. Any thread may set `stop` and call `count`
    and `status`. `patience`: how long an answer may let wait.
    """

    def __init__(self, forbidden: Sentence | None = None, patience: Patience | None = None) -> None:
        self.stop = StopFlag()
        self._forbidden, self._patience = forbidden, patience or Patience()
        self._probed: Probed | None = None
        self._info: ModelInfo | None = None
        self._model = ""

    def welcome(self, id: int, pid: int) -> Welcome:
        """Return version, process id and limits for the window that started this process."""
        return Welcome(id, engine=f"chickadee {VERSION}", backend="", pid=pid, limits=limits())

    def list_models(self, request: ListModels) -> ModelsListed:
        """Return what the server is and which models it has. Raises Failure, and Stopped."""
        probed = self._probe(request.server)
        return ModelsListed(request.id, probed.server.url, probed.software, probed.models)

    def read_page(self, request: ReadPage) -> PageRead:
        """Return the web page at an address that the user gave. Raises Failure, and Stopped."""
        self._check_allowed()
        return read_page(request, self.stop.is_set)

    def load(
        self,
        request: Load,
        progress: Callable[[float], None] = lambda _fraction: None,
        expect: Callable[[SpeedExpected], None] = lambda _expected: None,  # noqa: ARG002 - servers do not tell
    ) -> Loaded:
        """Look whether the server has the model, and use it from now on. Raises Failure, and Stopped."""
        if request.server is None:
            raise Failure("local_only.request")
        started = time.perf_counter()
        self.unload()
        progress(0.0)
        probed = self._probe(request.server)
        found = probed.model(request.path)
        if found is None:
            raise not_there(probed, request.path)
        remote = RemoteModel(probed.server.url, found.name)
        self._probed, self._model = probed, found.name
        self._info = ModelInfo(
            path=str(remote.path), name=title_of(remote.path), architecture="", parameters=0, file_bytes=0,
            n_ctx=found.n_ctx, n_ctx_train=found.n_ctx, threads=0, template="model",
            thinking=probed.thinking_of(found.name), host=remote.host, software=probed.software,
            ignored=ignored_fields(probed.software), plan={"runtime": PROCESS_BYTES},
        )  # fmt: skip
        return Loaded(request.id, self._info, time.perf_counter() - started)

    def unload(self) -> None:
        """Forget the server."""
        self._probed = self._info = None

    def close(self) -> None:
        self.unload()

    def generate(self, request: Generate) -> Iterator[Event]:
        """Yield the events of one answer, the last one Finished, also of a stopped one.

        Raises Failure where the server fails; what has arrived before was yielded.
        """
        if not request.messages or not request.messages[-1].content.strip():
            raise Failure("empty_prompt.message")
        self._check_allowed()
        probed, info = self._loaded()
        request = replace(request, sampling=request.sampling_for(info.thinking.thinks))
        answer = RemoteAnswer(request, probed, self._model, info.n_ctx, self.stop, self._patience)
        yield from answer.events()

    def prepare(self, request: Prepare) -> Iterator[Event]:
        """Do nothing: what the user has not sent yet does not leave this computer."""
        yield Prepared(request.id, 0, 0)

    def count(self, request: Count) -> Counted:
        """Estimate tokens from lengths: what the user has not sent yet is not sent to be counted either."""
        texts = tuple(estimated_tokens(text) for text in request.texts)
        return Counted(request.id, texts, prompt_tokens(request.messages))

    def status(self, id: int) -> StatusReport:
        """Return what is in use. The memory is that of this process, which is no model's: it is reported as 0."""
        return StatusReport(id, self._info, 0, 0)

    def end_thought(self, _request: int) -> bool:
        """Return False: no server can end a thought early."""
        return False

    def forget_chat(self, _chat: str) -> None:
        """Do nothing: nothing is kept of a chat here."""

    def forget(self) -> None:
        """Do nothing: there is no state that a bug could have damaged."""

    def pulse(self) -> Pulse | None:
        """Return None: how a server works is not to be seen from here."""

    def last_pulse(self) -> Pulse:
        """Return zeros, for the same reason."""
        return Pulse(0, 0, 0, 0)

    def watch(self, _on: bool) -> None:
        """Do nothing, for the same reason."""

    def save_chat(self) -> None:
        """Do nothing: nothing is kept of a chat here."""

    def idle(self, _report: Callable[[Failure], None], /) -> bool:
        """Return False: there is no work for idle time."""
        return False

    def faster_library(self) -> BackendName | None:
        """Return None: the server chooses its library."""

    def _probe(self, server: Server) -> Probed:
        self._check_allowed()
        return probe(server, self.stop.is_set)

    def _check_allowed(self) -> None:
        if self._forbidden:
            raise Failure(self._forbidden)

    def _loaded(self) -> tuple[Probed, ModelInfo]:
        if self._probed is None or self._info is None:
            raise Failure("no_model.loaded")
        return self._probed, self._info
