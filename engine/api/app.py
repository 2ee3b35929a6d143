"""The API as an ASGI application: its endpoints, and what all of them have in common."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePath
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.api import embeddings, tokens
from engine.api.activity import Activity
from engine.api.chat import ChatForm, ChatRequest
from engine.api.completions import CompletionForm, CompletionRequest
from engine.api.errors import ApiError, as_sentence
from engine.api.forms import AnswerForm
from engine.api.jobs import Jobs, Long, Run
from engine.api.llama import InfillRequest, LlamaForm, LlamaRequest, props
from engine.api.messages import CountRequest, MessagesForm, MessagesRequest, count_of
from engine.api.openapi import Endpoint, description
from engine.api.peers import client_of
from engine.api.respond import EventStream, error_response, json_response, read_body, whole_answer
from engine.api.responses import ResponsesForm, ResponsesRequest
from engine.api.security import Access, Guard
from engine.api.written import Events
from engine.protocol.events import Counted, Embedded, Finished, Tokenized
from engine.protocol.requests import Generate, InvalidValue

log = logging.getLogger("engine.api")
KEEP_ALIVE = 15.0  # seconds without an event, after which a stream tells that it still waits


class Api:
    """Handlers of the addresses in ENDPOINTS, which say what each method is for.

    `default` returns a Generate with the options that clients leave open. `store` returns whether chats are kept on
    disk unless a request says otherwise. `embedding_model`: path of the model for vectors; empty: the loaded one.
    """

    def __init__(
        self,
        jobs: Jobs,
        activity: Activity,
        default: Callable[[], Generate],
        store: Callable[[], bool],
        embedding_model: str = "",
    ) -> None:
        self.jobs, self.activity, self.embedding_model = jobs, activity, embedding_model
        self.default, self.store = default, store
        self.started = int(time.time())

    async def answer(self, request: Request, form: AnswerForm[Any]) -> Response:
        """Answer in the given form, streamed or whole."""
        form.requests = form.requests_of(self.default())
        await form.ask(self.jobs)
        run = await self._run(request, form.requests, getattr(form.body, "user", None))
        events = self._events(request, run)
        if form.body.stream:
            return EventStream(run, form.stream(events), form.error)
        return await whole_answer(request, run, form.gather(events))

    async def embed(self, request: Request, body: embeddings.EmbeddingRequest) -> Response:
        run = await self._run(request, [await embeddings.embed_of(body, self.jobs, self.embedding_model)], body.user)
        model = model_id(self.embedding_model) if self.embedding_model else self.model_name

        async def answer() -> dict[str, Any]:
            [embedded] = [event async for _, event in run.events() if isinstance(event, Embedded)]
            return embeddings.answer_of(body, model, embedded)

        return await whole_answer(request, run, answer())

    async def count_tokens(self, _request: Request, body: CountRequest) -> Response:
        counted = await self.jobs.ask(count_of(body), Counted)
        return json_response({"input_tokens": counted.prompt})

    async def tokenize(self, _request: Request, body: tokens.TokenizeRequest) -> Response:
        return json_response(tokens.tokens_of(body, await self.jobs.ask(tokens.tokenize_of(body), Tokenized)))

    async def detokenize(self, _request: Request, body: tokens.DetokenizeRequest) -> Response:
        return json_response({"content": await tokens.text_of(self.jobs, body.tokens)})

    async def _run(self, request: Request, requests: Sequence[Long], user: str | None = None) -> Run:
        return Run(self.jobs, requests, await client_of(request, user, self.jobs.busy))

    async def _events(self, request: Request, run: Run) -> Events:
        """Yield a run's events and count its answers. Raises ApiError for one that somebody else has stopped."""
        async for number, event in run.events(KEEP_ALIVE):
            if isinstance(event, Finished):
                self.activity.count(request.scope["served"], event.statistics)
                if event.statistics.stop_reason == "cancelled":
                    raise ApiError(503, "The answer was stopped before its end. Ask again.", "cancelled")
            yield number, event

    async def models(self, _request: Request, _body: None) -> Response:
        return json_response({"object": "list", "data": self._models()})

    async def model(self, request: Request, _body: None) -> Response:
        wanted = request.path_params["model"]
        for model in self._models():
            if model["id"] == wanted:
                return json_response(model)
        raise ApiError(404, f"There is no model {wanted!r:.80} here.", "model_not_found", "model")

    def _models(self) -> list[dict[str, Any]]:
        info = self.jobs.link.model
        if info is None:
            return []
        meta = {
            "n_ctx": info.n_ctx, "n_ctx_train": info.n_ctx_train, "n_params": info.parameters,
            "size": info.file_bytes, "architecture": info.architecture, "name": info.name,
        }  # fmt: skip
        id = model_id(info.path)
        return [{"id": id, "object": "model", "created": self.started, "owned_by": "chickadee", "meta": meta}]

    @property
    def model_name(self) -> str:
        """The name under which answers are given: the request's own does not matter, because one model is loaded."""
        info = self.jobs.link.model
        return model_id(info.path) if info else ""

    async def props(self, _request: Request, _body: None) -> Response:
        return json_response(props(self.jobs.link.model, self.default(), self.jobs.busy))

    async def health(self, _request: Request, _body: None) -> Response:
        return json_response({"status": "ok"})

    async def metrics(self, _request: Request, _body: None) -> Response:
        info = self.jobs.link.model
        devices = info.devices if info else None
        text = self.activity.metrics(len(self.jobs.waiting), self.jobs.running is not None, devices)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def openapi(self, _request: Request, _body: None) -> Response:
        return json_response(description(ENDPOINTS))

    def routes(self) -> list[Route]:
        """Return the routes of all addresses."""
        return [
            Route(path, self._answers_at(endpoint), methods=["POST" if endpoint.reads else "GET"])
            for endpoint in ENDPOINTS
            for path in (endpoint.path, *endpoint.others)
        ]

    def _answers_at(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            body = await read_body(request, endpoint.reads) if endpoint.reads else None
            if isinstance(endpoint.answer, type):
                return await self.answer(request, endpoint.answer(body, self.model_name, self.store()))
            return await endpoint.answer(self, request, body)

        return answer


# `others` are for clients whose base address lacks /v1, which llama.cpp's server takes.
ENDPOINTS = (
    Endpoint("/v1/chat/completions", "Answer a chat's last message", ChatForm, ChatRequest, ("/chat/completions",)),
    Endpoint("/v1/completions", "Continue a text", CompletionForm, CompletionRequest),
    Endpoint("/v1/responses", "Answer a chat's last message; nothing is kept", ResponsesForm, ResponsesRequest,
             ("/responses",)),
    Endpoint("/v1/messages", "Answer a chat's last message, in Anthropic's form", MessagesForm, MessagesRequest),
    Endpoint("/v1/messages/count_tokens", "Count a chat's tokens, in Anthropic's form", Api.count_tokens, CountRequest),
    Endpoint("/v1/embeddings", "Texts as vectors", Api.embed, embeddings.EmbeddingRequest),
    Endpoint("/completion", "Continue a text, in llama.cpp's form", LlamaForm, LlamaRequest, ("/completions",)),
    Endpoint("/infill", "Write the middle of a text, in llama.cpp's form", LlamaForm, InfillRequest),
    Endpoint("/tokenize", "A text's tokens", Api.tokenize, tokens.TokenizeRequest),
    Endpoint("/detokenize", "The text of tokens", Api.detokenize, tokens.DetokenizeRequest),
    Endpoint("/v1/models", "The loaded model", Api.models, others=("/models",)),
    Endpoint("/v1/models/{model:path}", "One model of the list", Api.model),
    Endpoint("/props", "The loaded model and the usual options, in llama.cpp's form", Api.props),
    Endpoint("/health", "Whether the server runs", Api.health),
    Endpoint("/metrics", "Numbers of requests and tokens, for Prometheus", Api.metrics, media="text/plain"),
    Endpoint("/openapi.json", "This file", Api.openapi),
)  # fmt: skip
NOWHERE = {404: "There is nothing at this address.", 405: "This address does not take this method."}


def application(api: Api, access: Callable[[], Access]) -> ASGIApp:
    """Return the application, with its guard and its error responses."""
    routes = api.routes()
    kinds = (ApiError, InvalidValue, HTTPException, ClientDisconnect, Exception)
    app = Starlette(routes=routes, exception_handlers=dict.fromkeys(kinds, on_error))
    app.router.redirect_slashes = False
    return Guard(Recorder(app, api.activity, {route.path for route in routes}), access)


async def on_error(request: Request, error: Exception) -> Response:
    """Return the response that tells an error."""
    headers = None
    match error:
        case ApiError():
            told = error
        case InvalidValue():
            told = ApiError(400, as_sentence(str(error)), "bad_value")
        case HTTPException():
            told = ApiError(error.status_code, NOWHERE.get(error.status_code, str(error.detail)), "not_found")
            headers = error.headers
        case ClientDisconnect():
            return Response(status_code=499)  # nobody reads it
        case _:
            told = ApiError(500, "Something went wrong inside Chickadee; the log has the details.", "internal")
    return error_response(told, request.url.path, headers)


class Recorder:
    """ASGI middleware that records each request in `activity`, and bugs in the log."""

    def __init__(self, app: ASGIApp, activity: Activity, paths: set[str]) -> None:
        self.app, self.activity, self.paths = app, activity, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        agent = dict(scope["headers"]).get(b"user-agent", b"").decode("latin-1")[:80]
        path = scope["path"] if scope["path"] in self.paths else "other"
        served = scope["served"] = self.activity.begin(agent, scope["method"], path)
        status = 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception:  # after `on_bug` has sent the response, or after a stream began, which then ends early
            log.exception("bug while %s was answered", served.path)
        finally:
            self.activity.end(served, status or 499)


def model_id(path: str) -> str:
    """Return the name of a model for clients: its file's, without the ending."""
    return PurePath(path.replace("\\", "/")).name.removesuffix(".gguf")
