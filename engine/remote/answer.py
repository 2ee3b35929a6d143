"""One answer of a server: asks for it, reads it, and counts what the server does not."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Iterator, Sequence

import msgspec

from common.failures import Failure
from common.reasoning import Piece
from common.sentences import Sentence
from engine.protocol.events import (
    Event,
    Finished,
    PrefillProgress,
    Remedy,
    Statistics,
    Text,
    Thinking,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallArguments,
    ToolCallStarted,
)
from engine.protocol.requests import Generate, Message, StopReason
from engine.remote.body import body_of, without_refused
from engine.remote.failures import cut, is_too_long, nonsense, parameter_of, status_failure, words_of
from engine.remote.http import Patience, Request, Response, send
from engine.remote.probe import Probed
from engine.remote.stream import DONE, AnswerReader, event_data
from engine.stop import StopFlag, Stopped
from engine.tokenization.turns import ChatTooLong, drop_oldest_turns, turns_to_forget
from models.servers import host_of

log = logging.getLogger("engine.remote")
MOST_ANSWER = 64 << 20  # bytes of a whole answer as it is sent; a token takes about 300
MOST_TEXT = 4_000_000  # characters of an answer; a million tokens
NUMBERS_SECONDS = 5  # that a server may take for the numbers after the answer's end
MOST_ATTEMPTS = 4  # requests for one answer, each without another option that the server refused
BYTES_PER_TOKEN = 3  # of UTF-8: English has 4 to 5, Chinese 3 to 5, code 3; a guess that is rather too many tokens
PER_MESSAGE = 8  # tokens of a template around a message
NO_TOOLS = r"(?i)\b(?:tools?|tool_choice|functions?)\b"  # in a refusal: the model or the server cannot use them
# Reasons of servers that did not write the answer to its end: vLLM and SGLang; others that were stopped; OpenRouter.
UNFINISHED = ("abort", "cancelled", "canceled", "error")
FULL = 0.97  # share of the context from which an answer that ends by its length has filled the context


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
        self._started = time.perf_counter()
        estimate = prompt_tokens(drop_oldest_turns(self._request.messages, self._request.forget_turns))
        yield PrefillProgress(id, estimate, estimate, 0)  # how far the server is, only some of them tell
        try:
            with self._ask() as response:
                yield from self._read_all(response)
        except Stopped:
            log.info("the answer was cancelled")
        yield from self._events(self._reader.close())
        if self._reader.finish == "content_filter":
            raise Failure("refused.server_filter", host=self._host)
        if self._reader.finish in UNFINISHED:
            raise Failure("no_connection.server_broke", self._reader.finish, host=self._host)
        yield Finished(id, self._statistics(self._reason()), ())

    def _read_all(self, response: Response) -> Iterator[Event]:
        """Yield the events of the response. What goes wrong after the answer's end is no failure of the answer."""
        try:
            for data in self._messages(response):
                if data == DONE:
                    break
                yield from self._read(data)
                if self._reader.finish:  # what may follow are only numbers
                    response.until = min(response.until, time.monotonic() + NUMBERS_SECONDS)
        except Failure:
            if not self._reader.finish:
                raise
        if not self._reader.finish:
            raise cut(self._url)

    def _ask(self) -> Response:
        """Send the request, again without an option that the server refuses. Raises Failure, and Stopped."""
        body = body_of(self._request, self._model, self._probed.software)
        for _ in range(MOST_ATTEMPTS):
            response = send(
                Request(self._url, self._server.key, msgspec.json.encode(body), MOST_ANSWER, self._patience),
                self._stop.is_set,
            )
            if response.status == 200:
                return response
            refusal = _beginning(response)
            reason = words_of(refusal, self._server.key)
            if is_too_long(response.status, refusal):
                raise self._too_long(reason)
            if "tools" in body and re.search(NO_TOOLS, reason):
                raise Failure("refused.server_tools", model=self._model, host=self._host)
            fewer = without_refused(body, reason, parameter_of(refusal)) if response.status in (400, 422) else None
            if fewer is None:
                break
            log.info("%d: asked again without an option", response.status)
            body = fewer
        retry_after = response.headers.get("retry-after", "")
        raise status_failure(self._url, response.status, refusal, self._server.key, self._model, retry_after)

    def _messages(self, response: Response) -> Iterator[str | bytes]:
        """Return the messages of a stream, or the one JSON object of a server that does not stream."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if response.headers.get("content-encoding", "identity").casefold() != "identity":
            raise nonsense(self._url, "packed")  # although no packing was accepted
        if kind == "text/event-stream":
            return event_data(response.chunks(), self._url)
        if kind.endswith("json"):
            return iter((response.read(),))
        raise nonsense(self._url, kind)

    def _read(self, data: str | bytes) -> Iterator[Event]:
        tokens, arrived = self._reader.tokens, self._reader.arrived
        pieces = self._reader.read(data)
        if self._reader.arrived > arrived:  # not only with `pieces`: the first tokens may be held back
            self._last = time.perf_counter()
            if not tokens or self._reader.tokens <= 1:
                self._first = self._last
        progress, self._reader.progress = self._reader.progress, None
        if progress:
            yield PrefillProgress(self._request.id, progress.done, progress.total, progress.reused)
        self._length += sum(len(piece.text) for piece in pieces)
        if self._length > MOST_TEXT:
            raise Failure("refused.server_too_much", host=self._host)
        yield from self._events(pieces)
        calls, self._reader.calls = self._reader.calls, []
        for call in calls:
            self._length += len(call.arguments)
            if call.name:
                yield ToolCallStarted(self._request.id, call.index, call.id, call.name)
            if call.arguments:
                yield ToolCallArguments(self._request.id, call.index, call.arguments)

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
        """Return why the answer ended: servers say "length" both for a full context and for the longest answer.

        Only a cancelled answer has no reason of the server's.
        """
        if not self._reader.finish:
            return "cancelled"
        if self._reader.finish != "length":
            return "tool_calls" if self._reader.has_called else "end"
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
    body = b""
    with response, contextlib.suppress(Failure):  # what has arrived says enough
        for chunk in response.chunks():
            body += chunk
            if len(body) >= most:
                break
    return body[:most]
