"""The API as an ASGI application: its endpoints, and what all of them have in common."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable
from pathlib import PurePath
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.api import chat, completions
from engine.api.activity import Activity, Served
from engine.api.errors import ApiError
from engine.api.jobs import Job, Jobs, Long
from engine.api.respond import EventStream, error_response, json_response, read_body, while_connected
from engine.api.security import Access, Guard, given_key
from engine.api.written import gather
from engine.protocol.events import Event, Finished
from engine.protocol.requests import Generate

log = logging.getLogger("engine.api")
KEEP_ALIVE = 15.0  # seconds without an event, after which a stream tells that it still waits


class Api:
    """The endpoints. `default` returns a Generate with the options that clients leave open."""

    def __init__(self, jobs: Jobs, activity: Activity, default: Callable[[], Generate]) -> None:
        self.jobs, self.activity, self.default = jobs, activity, default
        self.started = int(time.time())

    # --- answers ------------------------------------------------------------------------------------------------------

    async def chat(self, request: Request) -> Response:
        """Answer a chat's last message."""
        body = await read_body(request, chat.ChatRequest)
        job = self._submit(request, chat.generate_of(body, self.default()), body.user)
        form = chat.ChatForm(body, await self.model_name())
        if body.stream:
            return EventStream(job, form.stream(self._events(request, job)), chat.error_chunk)
        return json_response(form.whole(await while_connected(request, gather(self._events(request, job)))))

    async def complete(self, request: Request) -> Response:
        """Continue one or more texts."""
        body = await read_body(request, completions.CompletionRequest)
        generates = completions.generates_of(body, self.default())
        first = self._submit(request, generates[0], body.user)
        form = completions.CompletionForm(body, await self.model_name())

        async def answers() -> AsyncIterator[tuple[int, Event | None]]:
            for index, generate in enumerate(generates):
                job = self._submit(request, generate, body.user) if index else first
                async for event in self._events(request, job):
                    yield index, event

        if body.stream:
            return EventStream(first, form.stream(answers()), chat.error_chunk)
        return json_response(await while_connected(request, form.whole(answers())))

    def _submit(self, request: Request, long: Long, user: str | None) -> Job:
        return self.jobs.submit(long, client_of(request, user))

    async def _events(self, request: Request, job: Job) -> AsyncIterator[Event | None]:
        """Yield a job's events and count the answer; the job is cancelled if nobody reads them to the end."""
        try:
            async for event in job.events(KEEP_ALIVE):
                if isinstance(event, Finished):
                    self.activity.count(request.scope.get("served"), event.statistics)
                yield event
        finally:
            self.jobs.cancel(job)

    # --- about the server ---------------------------------------------------------------------------------------------

    async def models(self, _request: Request) -> Response:
        """List the loaded model."""
        return json_response({"object": "list", "data": await self._models()})

    async def model(self, request: Request) -> Response:
        """Describe one model of the list."""
        wanted = request.path_params["model"]
        for model in await self._models():
            if model["id"] == wanted:
                return json_response(model)
        raise ApiError(404, f"There is no model {wanted!r:.80} here.", "model_not_found", "model")

    async def _models(self) -> list[dict[str, Any]]:
        info = (await self.jobs.status()).model
        if info is None:
            return []
        meta = {
            "n_ctx": info.n_ctx, "n_ctx_train": info.n_ctx_train, "n_params": info.parameters,
            "size": info.file_bytes, "architecture": info.architecture, "name": info.name,
        }  # fmt: skip
        id, owner = model_id(info.path), "chickadee"
        return [{"id": id, "object": "model", "created": self.started, "owned_by": owner, "meta": meta}]

    async def model_name(self) -> str:
        """Return the name under which answers are given."""
        info = (await self.jobs.status()).model
        return model_id(info.path) if info else ""

    async def health(self, _request: Request) -> Response:
        """Tell that the server runs."""
        return json_response({"status": "ok"})

    async def metrics(self, _request: Request) -> Response:
        """Tell the numbers of requests and tokens for Prometheus."""
        text = self.activity.metrics(len(self.jobs.waiting), self.jobs.running is not None)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    def routes(self) -> list[Route]:
        return [
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
            Route("/v1/completions", self.complete, methods=["POST"]),
            Route("/v1/models", self.models),
            Route("/v1/models/{model:path}", self.model),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
        ]


def application(api: Api, access: Callable[[], Access]) -> ASGIApp:
    """Return the application, with its guard and its error responses."""
    routes = api.routes()
    handlers: dict[Any, Any] = {ApiError: on_error, HTTPException: on_http_error, ClientDisconnect: on_disconnect}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(Recorder(app, api.activity, {route.path for route in routes}), access)


async def on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error_response(error, request.url.path)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    made = ApiError(error.status_code, sentences.get(error.status_code, str(error.detail)), "not_found")
    return error_response(made, request.url.path, error.headers)


async def on_disconnect(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


class Recorder:
    """ASGI middleware that records each request in `activity`, and reports bugs as an error of the API."""

    def __init__(self, app: ASGIApp, activity: Activity, paths: set[str]) -> None:
        self.app, self.activity, self.paths = app, activity, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        served = scope["served"] = self._begin(scope)
        status = 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception:
            log.exception("bug while %s was answered", served.path)
            if status:
                raise
            error = ApiError(500, "Something went wrong inside Chickadee; the log has the details.", "internal")
            status = error.status
            await error_response(error, scope["path"])(scope, receive, send)
        finally:
            self.activity.end(served, status or 499)

    def _begin(self, scope: Scope) -> Served:
        headers = dict(scope["headers"])
        agent = headers.get(b"user-agent", b"").decode("latin-1")[:80]
        path = scope["path"] if scope["path"] in self.paths else "other"
        return self.activity.begin(agent, scope["method"], path)


def client_of(request: Request, user: str | None) -> Hashable:
    """Return what tells this request's client from others, which take turns with it."""
    host = request.client.host if request.client else ""
    return host, given_key(dict(request.headers)), request.headers.get("user-agent", ""), user or ""


def model_id(path: str) -> str:
    """Return the name of a model for clients: its file's, without the ending."""
    return PurePath(path.replace("\\", "/")).name.removesuffix(".gguf")
