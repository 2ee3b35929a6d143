"""The API's requests to the engine, with an engine that says what the test wants."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from starlette.types import Message, Scope

from engine.api.activity import Activity
from engine.api.app import Api, application
from engine.api.jobs import Jobs
from engine.api.security import Access
from engine.client import Heard
from engine.protocol.events import Finished, ModelInfo, Statistics, Text
from engine.protocol.requests import Generate, StopReason
from engine.protocol.requests import Request as EngineRequest

NUMBERS = Statistics(
    prompt_tokens=1, reused_tokens=0, prompt_seconds=1, decode_tokens=1, decode_seconds=1, steps=1, stop_reason="end",
    context_tokens=2, n_ctx=64,
)  # fmt: skip


class ScriptedLink:
    """An engine that begins each answer, and ends it for a given reason."""

    model: ModelInfo | None = None

    def __init__(self, reason: StopReason = "end") -> None:
        self.heard: Heard = lambda _event: None
        self._end = replace(NUMBERS, stop_reason=reason)

    async def ready(self) -> None: ...

    def submit(self, request: EngineRequest, heard: Heard) -> int:
        if isinstance(request, Generate):
            heard(Text(1, "A bi"))
            heard(Finished(1, self._end, (1,)))
        return 1

    def cancel(self, id: int) -> None: ...

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
