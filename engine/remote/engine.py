"""The remote engine: answers the requests by asking a server. It holds no model and keeps nothing of a chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from common.failures import Failure
from common.sentences import Sentence
from engine.base import BaseEngine
from engine.protocol.events import (
    Counted,
    Event,
    Loaded,
    ModelInfo,
    ModelsListed,
    PageRead,
    SpeedExpected,
    StatusReport,
)
from engine.protocol.requests import Count, Generate, ListModels, Load, ReadPage, Server
from engine.remote.answer import RemoteAnswer, estimated_tokens, prompt_tokens
from engine.remote.body import ignored_fields, needs_own_model
from engine.remote.http import Patience
from engine.remote.page import read_page
from engine.remote.probe import Probed, probe
from models.servers import RemoteModel
from models.titles import title_of

PROCESS_BYTES = 33 << 20  # private memory of this process, once it has asked a server


class RemoteEngine(BaseEngine):
    """An engine whose model is on a server. What the user has not sent yet never leaves this computer.

    `forbidden`: why connections are turned off; None if they are allowed. `patience`: how long an answer may let wait.
    """

    def __init__(self, forbidden: Sentence | None = None, patience: Patience | None = None) -> None:
        super().__init__()
        self._forbidden, self._patience = forbidden, patience or Patience()
        self._probed: Probed | None = None
        self._info: ModelInfo | None = None
        self._model = ""

    def list_models(self, request: ListModels) -> ModelsListed:
        probed = self._probe(request.server)
        return ModelsListed(request.id, probed.server.url, probed.software, probed.models)

    def read_page(self, request: ReadPage) -> PageRead:
        self._check_allowed()
        return read_page(request, self.stop.is_set)

    def load(
        self,
        request: Load,
        progress: Callable[[float], None] = lambda _fraction: None,  # noqa: ARG002 - a server has loaded it
        expect: Callable[[SpeedExpected], None] = lambda _expected: None,  # noqa: ARG002 - servers do not tell
    ) -> Loaded:
        """Look whether the server has the model, and use it from now on. Raises Failure, and Stopped."""
        if request.server is None:
            raise Failure("local_only.request")
        started = time.perf_counter()
        self.unload()
        try:
            probed = self._probe(request.server)
        except Failure as failure:  # the log gets the details of a load, which here are the server's own words
            raise Failure(failure.sentence) from failure
        served = probed.model(request.path)
        remote = RemoteModel(probed.server.url, served.name)
        self._probed, self._model = probed, served.name
        self._info = ModelInfo(
            path=str(remote.path), name=title_of(remote.path), architecture="", parameters=0, file_bytes=0,
            n_ctx=served.n_ctx, n_ctx_train=served.n_ctx, threads=0, template="model",
            thinking=probed.thinking_of(served.name), host=remote.host, software=probed.software,
            ignored=ignored_fields(probed.software), plan={"runtime": PROCESS_BYTES},
        )  # fmt: skip
        return Loaded(request.id, self._info, time.perf_counter() - started)

    def unload(self) -> None:
        self._probed = self._info = None

    def generate(self, request: Generate) -> Iterator[Event]:
        """Yield the events of one answer, the last one Finished, also of a stopped one.

        Raises Failure where the server fails, after the events of what has arrived; and for what no server is asked.
        """
        if needs_own_model(request):
            raise Failure("local_only.request")
        last = request.messages[-1] if request.messages else None
        if last is None or not (last.content.strip() or last.role == "tool"):
            raise Failure("empty_prompt.message")
        self._check_allowed()
        probed, info = self._loaded()
        request = replace(request, sampling=request.sampling_for(info.thinking.thinks))
        answer = RemoteAnswer(request, probed, self._model, info.n_ctx, self.stop, self._patience)
        yield from answer.events()

    def count(self, request: Count) -> Counted:
        """Estimate tokens from lengths: what the user has not sent yet is not sent to be counted either."""
        texts = tuple(estimated_tokens(text) for text in request.texts)
        return Counted(request.id, texts, prompt_tokens(request.messages))

    def status(self, id: int) -> StatusReport:
        """Return what is in use. The memory is that of this process, which is no model's: it is reported as 0."""
        return StatusReport(id, self._info, 0, 0)

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
