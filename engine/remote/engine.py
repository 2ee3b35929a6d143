"""The remote engine: answers the requests by asking a server. It holds no model and keeps nothing of a chat."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from common.confinement import limits
from common.failures import Failure
from common.reasoning import Piece
from common.sentences import Sentence
from engine.protocol.events import (
    Counted,
    Event,
    Finished,
    Loaded,
    ModelInfo,
    ModelsListed,
    PrefillProgress,
    Prepared,
    Pulse,
    Remedy,
    Statistics,
    StatusReport,
    Text,
    Thinking,
    ThinkingEnded,
    ThinkingStarted,
    Welcome,
)
from engine.protocol.requests import (
    BackendName,
    Count,
    Generate,
    ListModels,
    Load,
    Message,
    Prepare,
    Server,
    StopReason,
)
from engine.remote.body import body_of, ignored_fields, without_refused
from engine.remote.failures import cut, is_too_long, nonsense, status_failure, words_of
from engine.remote.http import Patience, Request, Response, send
from engine.remote.probe import Probed, not_there, probe
from engine.remote.stream import DONE, AnswerReader, messages_of
from engine.stop import StopFlag, Stopped
from engine.tokenization.turns import ChatTooLong, drop_oldest_turns, turns_to_forget
from models.servers import RemoteModel, host_of
from models.titles import title_of

log = logging.getLogger("engine.remote")
VERSION = "0.1.0"
MOST_ANSWER = 64 << 20  # bytes of a whole answer as it is sent; a token takes about 300
MOST_TEXT = 4_000_000  # characters of an answer; a million tokens
NUMBERS_SECONDS = 5  # that a server may take for the numbers after the answer's end
MOST_ATTEMPTS = 4  # requests for one answer, each without another option that the server refused
BYTES_PER_TOKEN = 3  # of UTF-8: English has 4 to 5, Chinese 3 to 5, code 3; a guess that is rather too many tokens
PER_MESSAGE = 8  # tokens of a template around a message
FULL = 0.97  # share of the context from which an answer that ends by its length has filled the context


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

    def load(self, request: Load, progress: Callable[[float], None] = lambda _fraction: None) -> Loaded:
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
            ignored=ignored_fields(probed.software),
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


class RemoteAnswer:
    """One answer of a server, for a single use."""

    def __init__(
        self, request: Generate, probed: Probed, model: str, n_ctx: int, stop: StopFlag, patience: Patience
    ) -> None:
        self._request, self._probed, self._model, self._n_ctx = request, probed, model, n_ctx
        self._stop, self._patience = stop, patience
        self._server = probed.server
        self._url = f"{probed.server.url}/chat/completions"
        self._host = host_of(self._url)
        begun = request.messages[-1].content if request.continue_last else ""
        self._reader = AnswerReader(self._url, self._server.key, begun)
        self._started = self._first = self._last = time.perf_counter()
        self._length = 0
        self._thought_from: float | None = None
        self._thinking_seconds = 0.0

    def events(self) -> Iterator[Event]:
        """Yield the answer's events. Raises Failure."""
        id = self._request.id
        reason: StopReason = "cancelled"
        self._started = time.perf_counter()
        estimate = prompt_tokens(drop_oldest_turns(self._request.messages, self._request.forget_turns))
        yield PrefillProgress(id, estimate, estimate, 0)  # how far the server is, only some of them tell
        try:
            response = self._ask()
            try:
                for data in self._messages(response):
                    if data == DONE:
                        break
                    yield from self._read(data)
                    if self._reader.finish:  # what may follow are only numbers
                        response.gap = min(response.gap, NUMBERS_SECONDS)
            except Failure:
                if not self._reader.finish:
                    raise
            finally:
                response.close()
            if not self._reader.finish:
                raise cut(self._url)
            reason = self._reason()
        except Stopped:
            pass
        yield from self._events(self._reader.close())
        if self._reader.finish == "content_filter":
            raise Failure("refused.server_filter", host=self._host)
        yield Finished(id, self._statistics(reason), ())

    def _ask(self) -> Response:
        """Send the request, again without an option that the server refuses. Raises Failure, and Stopped."""
        body = body_of(self._request, self._model, self._probed.software)
        for _ in range(MOST_ATTEMPTS):
            response = send(
                Request(self._url, self._server.key, msgspec.json.encode(body), MOST_ANSWER, self._patience),
                self._stop.is_set,
            )
            if response.head.status == 200:
                return response
            refusal = _beginning(response)
            reason = words_of(refusal, self._server.key)
            if is_too_long(response.head.status, refusal):
                raise self._too_long(reason)
            fewer = without_refused(body, reason) if response.head.status in (400, 422) else None
            if fewer is None:
                break
            log.info("%d: asked again without an option", response.head.status)
            body = fewer
        raise status_failure(
            self._url, response.head.status, refusal, self._server.key, self._model,
            response.head.headers.get("retry-after", ""),
        )  # fmt: skip

    def _messages(self, response: Response) -> Iterator[bytes]:
        """Yield the messages of a stream, or the one JSON object of a server that does not stream."""
        kind = response.head.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if kind == "text/event-stream":
            return messages_of(response.chunks(), self._url)
        if kind.endswith("json"):
            return iter((response.read(),))
        raise nonsense(self._url, kind)

    def _read(self, data: bytes) -> Iterator[Event]:
        pieces = self._reader.read(data)
        progress, self._reader.progress = self._reader.progress, None
        if progress:
            yield PrefillProgress(self._request.id, progress.done, progress.total, progress.reused)
        self._length += sum(len(piece.text) for piece in pieces)
        if self._length > MOST_TEXT:
            raise Failure("refused.server_too_much", host=self._host)
        if pieces:
            self._last = time.perf_counter()
            if self._first == self._started or self._reader.tokens <= 1:
                self._first = self._last
        yield from self._events(pieces)

    def _events(self, pieces: list[Piece]) -> Iterator[Event]:
        id = self._request.id
        for piece in pieces:
            match piece.kind:
                case "opened":
                    self._thought_from = time.perf_counter()
                    yield ThinkingStarted(id, piece.text)
                case "thought":
                    yield Thinking(id, piece.text)
                case "closed" | "unopened":
                    begun = self._started if self._thought_from is None else self._thought_from
                    self._thinking_seconds = time.perf_counter() - begun
                    yield ThinkingEnded(
                        id, piece.text, piece.kind == "closed", self._reader.thought_tokens, self._thinking_seconds
                    )
                case "text":
                    yield Text(id, piece.text)

    def _reason(self) -> StopReason:
        """Return why the answer ended: servers say "length" both for a full context and for the longest answer."""
        if self._reader.finish != "length":
            return "end"
        used = self._reader.number("total_tokens")
        return "context" if self._n_ctx and used >= FULL * self._n_ctx else "length"

    def _statistics(self, reason: StopReason) -> Statistics:
        read = self._reader
        answer = read.number("completion_tokens") or read.tokens
        prompt = read.number("prompt_tokens") or prompt_tokens(self._request.messages)
        first = self._first if read.tokens else time.perf_counter()
        return Statistics(
            prompt_tokens=prompt,
            reused_tokens=min(prompt, read.number("prompt_tokens_details", "cached_tokens")),
            prompt_seconds=first - self._started,
            decode_tokens=answer,
            decode_seconds=max(0.0, self._last - first),
            steps=read.tokens,
            stop_reason=reason,
            context_tokens=prompt + answer,
            n_ctx=self._n_ctx,
            thinking_tokens=read.number("completion_tokens_details", "reasoning_tokens") or read.thought_tokens,
            thinking_seconds=self._thinking_seconds,
        )

    def _too_long(self, reason: str) -> Failure:
        """Return the failure of a chat that is longer than the server's context, with how many turns to leave out."""
        kept = drop_oldest_turns(self._request.messages, self._request.forget_turns)
        n_ctx = self._n_ctx or prompt_tokens(kept) * 3 // 4
        turns = turns_to_forget(kept, n_ctx, prompt_tokens)
        if not turns:
            return Failure("prompt_too_long.server", model=self._model, reason=reason.rstrip("."))
        sentence = Sentence.of("prompt_too_long.server_turns", model=self._model, n=turns)
        return ChatTooLong(sentence, (Remedy("forget_turns", turns=turns),))


def estimated_tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def prompt_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the messages have as a prompt."""
    return sum(estimated_tokens(message.content) + PER_MESSAGE for message in messages)


def _beginning(response: Response, most: int = 1 << 16) -> bytes:
    """Return the beginning of a refusal's body, and close the response."""
    found = b""
    try:
        for chunk in response.chunks():
            found += chunk
            if len(found) >= most:
                break
    except Failure:
        pass  # what has arrived says enough
    finally:
        response.close()
    return found[:most]
