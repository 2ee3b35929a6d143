"""The API's requests to the engine, with an engine that says what the test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from starlette.types import Message, Scope

from common.sentences import Sentence
from engine.api.activity import Activity
from engine.api.app import Api, application
from engine.api.jobs import Jobs, Run
from engine.api.security import Access
from engine.protocol.events import Event, Finished, ModelInfo, Statistics, Text
from engine.protocol.requests import Generate, StopReason
from engine.protocol.requests import Request as EngineRequest

NUMBERS = Statistics(
    prompt_tokens=1, reused_tokens=0, prompt_seconds=1, decode_tokens=1, decode_seconds=1, steps=1, stop_reason="end",
    context_tokens=2, n_ctx=64,
)  # fmt: skip


class ScriptedLink:
    """An engine that begins each answer, and ends it for a given reason; `loading` holds up what is sent to it."""

    model: ModelInfo | None = None

    def __init__(self, reason: StopReason = "end") -> None:
        self.received: Callable[[Event], None] = lambda _event: None
        self.ended: Callable[[Sentence], None] = lambda _reason: None
        self.sent: list[EngineRequest] = []
        self.loading: asyncio.Event | None = None
        self._end = replace(NUMBERS, stop_reason=reason)

    async def prepare(self) -> None:
        if self.loading:
            await self.loading.wait()

    def send(self, request: EngineRequest) -> None:
        self.sent.append(request)
        if isinstance(request, Generate):
            self.received(Text(request.id, "A bi"))
            self.received(Finished(request.id, self._end, (1,)))

    async def close(self) -> None: ...


def asked(path: str, body: bytes, reason: StopReason) -> tuple[int, str]:
    """Return status and body of the response to a request whose answer ends for this reason."""

    async def ask() -> tuple[int, str]:
        jobs = Jobs(ScriptedLink(reason))
        await jobs.start()
        app = application(Api(jobs, Activity(), lambda: Generate(0, ()), lambda: False), Access)
        scope: Scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-length", b"%d" % len(body))], "client": None,
            "server": ("localhost", 1), "http_version": "1.1", "scheme": "http", "root_path": "",
        }  # fmt: skip
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        found: list[Message] = []

        async def receive() -> Message:
            return messages.pop() if messages else await asyncio.Event().wait()  # type: ignore[return-value]

        async def send(message: Message) -> None:
            found.append(message)

        await app(scope, receive, send)
        await jobs.close()
        return found[0]["status"], b"".join(message.get("body", b"") for message in found).decode()

    return asyncio.run(ask())


CHAT = b'{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9'
FORMS = {
    "/v1/chat/completions": CHAT,
    "/v1/messages": CHAT,
    "/v1/responses": b'{"input": "Hi"',
    "/v1/completions": b'{"prompt": "Hi"',
    "/completion": b'{"prompt": "Hi"',
}


@pytest.mark.parametrize("path", FORMS)
def test_an_answer_that_somebody_else_stopped_is_no_complete_one(path: str) -> None:
    """Its model may have been unloaded meanwhile; a client that stops its own answer reads no end of it."""
    assert asked(path, FORMS[path] + b"}", "end")[0] == 200
    status, text = asked(path, FORMS[path] + b"}", "cancelled")
    assert status == 503
    assert "stopped before its end" in text
    status, text = asked(path, FORMS[path] + b', "stream": true}', "cancelled")
    assert status == 200
    assert "A bi" in text
    assert "stopped before its end" in text.splitlines()[-2]


def test_a_request_that_is_cancelled_while_its_model_is_loaded_is_not_computed() -> None:
    async def ask() -> list[EngineRequest]:
        link = ScriptedLink()
        jobs = Jobs(link)
        await jobs.start()
        link.loading = asyncio.Event()
        first = Run(jobs, [Generate(0, ())], "a")
        await asyncio.sleep(0)
        first.close()
        assert await first.first_error()
        link.loading.set()
        second = Run(jobs, [Generate(0, (), max_tokens=1)], "a")
        assert await second.first_error() is None
        await jobs.close()
        return link.sent

    [sent] = asyncio.run(ask())
    assert isinstance(sent, Generate)
    assert sent.max_tokens == 1
