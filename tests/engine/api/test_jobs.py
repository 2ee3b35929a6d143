"""The API's requests to the engine, with an engine that says what the test wants."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest
from starlette.types import Message, Scope

from common.failures import Failure
from common.sentences import Sentence
from engine.api.activity import Activity
from engine.api.app import Api, application
from engine.api.jobs import Jobs
from engine.api.security import Access
from engine.client import Heard
from engine.generation import deep
from engine.generation.deep import DeepThread
from engine.protocol.events import DeviceUse, Failed, Finished, ModelInfo, Statistics, Text
from engine.protocol.requests import Generate, StopReason
from engine.protocol.requests import Request as EngineRequest

NUMBERS = Statistics(
    prompt_tokens=1, reused_tokens=0, prompt_seconds=1, decode_tokens=1, decode_seconds=1, steps=1, stop_reason="end",
    context_tokens=2, n_ctx=64,
)  # fmt: skip


class ScriptedLink:
    """An engine that begins each answer, and ends it for a given reason."""

    model: ModelInfo | None = None

    def __init__(self, reason: StopReason = "end", failure: Sentence | None = None, unread: int = 0) -> None:
        self.heard: Heard = lambda _event: None
        self._end = replace(
            NUMBERS, stop_reason=reason, prompt_tokens=NUMBERS.prompt_tokens + unread, unread_tokens=unread
        )
        self._failure = failure

    async def ready(self) -> None: ...

    def submit(self, request: EngineRequest, heard: Heard) -> int:
        if self._failure:
            heard(Failed(1, self._failure))
        elif isinstance(request, Generate):
            heard(Text(1, "A bi"))
            heard(Finished(1, self._end, (1,)))
        return 1

    def cancel(self, id: int) -> None: ...

    async def close(self) -> None: ...


def asked(path: str, body: bytes, link: ScriptedLink, activity: Activity | None = None) -> tuple[int, str]:
    """Return status and body of the response to a request that the engine behind `link` answers."""

    async def ask() -> tuple[int, str]:
        jobs = Jobs(link)
        await jobs.start()
        app = application(Api(jobs, activity or Activity(), lambda: Generate(0, ()), lambda: False), Access)
        scope: Scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-length", b"%d" % len(body))], "client": None,
            "server": ("localhost", 1), "http_version": "1.1", "scheme": "http", "root_path": "",
        }  # fmt: skip
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Message] = []

        async def receive() -> Message:
            return messages.pop() if messages else await asyncio.Event().wait()  # type: ignore[return-value]

        async def send(message: Message) -> None:
            sent.append(message)

        await app(scope, receive, send)
        await jobs.close()
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode()

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
    assert asked(path, FORMS[path] + b"}", ScriptedLink())[0] == 200
    status, text = asked(path, FORMS[path] + b"}", ScriptedLink("cancelled"))
    assert status == 503
    assert "stopped before its end" in text
    status, text = asked(path, FORMS[path] + b', "stream": true}', ScriptedLink("cancelled"))
    assert status == 200
    assert "A bi" in text
    assert "stopped before its end" in text.splitlines()[-2]


def test_of_a_prompt_that_was_not_read_to_its_end_the_read_tokens_are_counted() -> None:
    served: list[tuple[int, int]] = []
    activity = Activity(lambda each: served.append((each.status, each.prompt_tokens)))
    assert asked("/v1/messages", FORMS["/v1/messages"] + b"}", ScriptedLink("cancelled", unread=90), activity)[0] == 503
    assert served[-1] == (503, NUMBERS.prompt_tokens)
    assert f"chickadee_prompt_tokens_total {NUMBERS.prompt_tokens}" in activity.metrics(0, False).splitlines()


def test_the_metrics_tell_where_the_model_is_computed() -> None:
    reason = Sentence.plain('Prompts: a "fast" card')
    shown = Activity().metrics(0, False, DeviceUse(reason, ("card",), "card", "some_layers", 7))
    labels = r'device="card",way="some_layers",layers="7",reason="Prompts: a \"fast\" card"'
    assert f"chickadee_device_info{{{labels}}} 1" in shown.splitlines()


@pytest.mark.parametrize("path", FORMS)
def test_a_schema_that_waits_for_another_one_is_no_mistake_of_the_client(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deep, "LONGEST_SECONDS", 0.0)
    thread, done = DeepThread(), threading.Event()
    try:
        with pytest.raises(Failure) as slow:
            thread.run(done.wait, lambda: False)
        with pytest.raises(Failure) as busy:
            thread.run(done.wait, lambda: False)
    finally:
        done.set()
    assert asked(path, FORMS[path] + b"}", ScriptedLink(failure=slow.value.sentence))[0] == 400
    status, text = asked(path, FORMS[path] + b"}", ScriptedLink(failure=busy.value.sentence))
    assert (status, "Try again" in text) == (503, True), text


def test_a_chat_that_is_too_long_is_told_without_the_windows_remedies() -> None:
    remedy = Sentence.of("turns.no_memory")
    parts = {"needed": Sentence.of("turns.tokens", tokens=5000), "first": Sentence.of("turns.shorten"), "other": remedy}
    too_long = ScriptedLink(failure=Sentence.of("prompt_too_long.chat", **parts, n_ctx=4096))
    status, text = asked("/v1/chat/completions", CHAT + b"}", too_long)
    error = json.loads(text)["error"]
    assert (status, error["code"]) == (400, "context_length_exceeded")
    assert "5,000 tokens" in error["message"]
    assert "4,096" in error["message"]
    assert "new chat" not in error["message"]
    assert str(remedy) not in error["message"]
