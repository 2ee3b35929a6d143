"""The API as an ASGI application: its endpoints, and what all of them have in common."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import PurePath
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.api import chat, completions, embeddings, llama, messages, responses, tokens
from engine.api.activity import Activity
from engine.api.errors import ApiError, as_sentence
from engine.api.jobs import Jobs, Long, Run
from engine.api.openapi import description
from engine.api.peers import client_of
from engine.api.respond import EventStream, error_response, json_response, read_body, whole_answer
from engine.api.security import Access, Guard
from engine.api.written import Written, gather
from engine.protocol.events import Counted, Detokenized, Embedded, Event, Finished, Tokenized
from engine.protocol.front import Served
from engine.protocol.requests import Generate, InvalidValue

log = logging.getLogger("engine.api")
KEEP_ALIVE = 15.0  # seconds without an event, after which a stream tells that it still waits


class Form(Protocol):
    """An answer's form at one endpoint."""

    def whole(self, written: Written) -> dict[str, Any]: ...

    def stream(self, events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]: ...


class Api:
    """The endpoints. `default` returns a Generate with the options that clients leave open.

    `store` returns whether chats are kept on disk unless a request says otherwise. `embedding_model`: path of the model
    that makes vectors; empty: the loaded one.
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

    # --- answers ------------------------------------------------------------------------------------------------------

    async def chat(self, request: Request) -> Response:
        """Answer a chat's last message."""
        body = await read_body(request, chat.ChatRequest)
        run = await self._run(request, [chat.generate_of(body, self.default(), self.store())], body.user)
        form = chat.ChatForm(body, self.model_name)
        return await self._answer(request, run, form, body.stream, chat.error_chunk)

    async def messages(self, request: Request) -> Response:
        """Answer a chat's last message, in Anthropic's form."""
        body = await read_body(request, messages.MessagesRequest)
        run = await self._run(request, [messages.generate_of(body, self.default(), self.store())])
        form = messages.MessagesForm(body, self.model_name)
        return await self._answer(request, run, form, body.stream, messages.error_chunk)

    async def count_tokens(self, request: Request) -> Response:
        """Count a chat's tokens, in Anthropic's form."""
        body = await read_body(request, messages.CountRequest)
        counted = await self.jobs.ask(messages.count_of(body), Counted)
        return json_response({"input_tokens": counted.prompt})

    async def respond(self, request: Request) -> Response:
        """Answer a chat's last message, in the form of responses."""
        body = await read_body(request, responses.ResponsesRequest)
        run = await self._run(request, [responses.generate_of(body, self.default(), self.store())], body.user)
        form = responses.ResponsesForm(body, self.model_name)
        return await self._answer(request, run, form, body.stream, form.error_chunk)

    async def complete(self, request: Request) -> Response:
        """Continue one or more texts."""
        body = await read_body(request, completions.CompletionRequest)
        requests = completions.generates_of(body, self.default())
        echoes = [await self._text(prompt) if body.echo else "" for prompt in completions.checked_prompts(body.prompt)]
        run = await self._run(request, requests, body.user)
        form = completions.CompletionForm(body, echoes, self.model_name)
        events = self._events(request, run)
        if body.stream:
            return EventStream(run, form.stream(events), chat.error_chunk)
        return await whole_answer(request, run, form.whole(events))

    async def complete_as_llama(self, request: Request) -> Response:
        """Continue one or more texts, in the form of llama.cpp's server."""
        body = await read_body(request, llama.LlamaRequest)
        return await self._answer_as_llama(request, body, llama.generates_of(body, self.default()))

    async def infill(self, request: Request) -> Response:
        """Write the middle of a text, in the form of llama.cpp's server."""
        body = await read_body(request, llama.InfillRequest)
        return await self._answer_as_llama(request, body, [llama.infill_of(body, self.default())])

    async def _answer_as_llama(
        self, request: Request, body: llama.ContinueFields, requests: list[Generate]
    ) -> Response:
        run = await self._run(request, requests, body.user)
        form = llama.LlamaForm(body, requests, self.model_name)
        events = self._events(request, run)
        if body.stream:
            return EventStream(run, form.stream(events), chat.error_chunk)
        return await whole_answer(request, run, form.whole(events))

    async def embed(self, request: Request) -> Response:
        """Return texts as vectors."""
        body = await read_body(request, embeddings.EmbeddingRequest)
        run = await self._run(request, [await embeddings.embed_of(body, self.jobs, self.embedding_model)], body.user)
        model = model_id(self.embedding_model) if self.embedding_model else self.model_name

        async def answer() -> dict[str, Any]:
            async for _, event in run.events():
                if isinstance(event, Embedded):
                    return embeddings.answer_of(body, model, event)
            raise ApiError(500, "The engine gave no vectors.", "internal")

        return await whole_answer(request, run, answer())

    async def _text(self, prompt: completions.Prompt) -> str:
        return (
            prompt if isinstance(prompt, str) else (await self.jobs.ask(tokens.detokenize_of(prompt), Detokenized)).text
        )

    async def tokenize(self, request: Request) -> Response:
        """Return a text's tokens."""
        body = await read_body(request, tokens.TokenizeRequest)
        return json_response(tokens.tokens_of(body, await self.jobs.ask(tokens.tokenize_of(body), Tokenized)))

    async def detokenize(self, request: Request) -> Response:
        """Return the text of tokens."""
        body = await read_body(request, tokens.DetokenizeRequest)
        detokenized = await self.jobs.ask(tokens.detokenize_of(body.tokens), Detokenized)
        return json_response({"content": detokenized.text})

    async def _run(self, request: Request, requests: Sequence[Long], user: str | None = None) -> Run:
        return Run(self.jobs, requests, await client_of(request, user, self.jobs.busy))

    async def _answer(
        self, request: Request, run: Run, form: Form, stream: bool | None, error_chunk: Callable[[ApiError], bytes]
    ) -> Response:
        events = (event async for _, event in self._events(request, run))
        if stream:
            return EventStream(run, form.stream(events), error_chunk)

        async def whole() -> dict[str, Any]:
            return form.whole(await gather(events))

        return await whole_answer(request, run, whole())

    async def _events(self, request: Request, run: Run) -> AsyncIterator[tuple[int, Event | None]]:
        """Yield a run's events and count its answers. Raises ApiError for one that somebody else has stopped."""
        async for number, event in run.events(KEEP_ALIVE):
            if isinstance(event, Finished):
                self.activity.count(request.scope["served"], event.statistics)
                if event.statistics.stop_reason == "cancelled":
                    raise ApiError(503, "The answer was stopped before its end. Ask again.", "cancelled")
            yield number, event

    # --- about the server ---------------------------------------------------------------------------------------------

    async def models(self, _request: Request) -> Response:
        """List the loaded model."""
        return json_response({"object": "list", "data": self._models()})

    async def model(self, request: Request) -> Response:
        """Describe one model of the list."""
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

    async def props(self, _request: Request) -> Response:
        """Describe the loaded model and the options that requests leave open, as llama.cpp's server does."""
        return json_response(llama.props(self.jobs.link.model, self.default(), self.jobs.busy))

    async def health(self, _request: Request) -> Response:
        """Tell that the server runs."""
        return json_response({"status": "ok"})

    async def metrics(self, _request: Request) -> Response:
        """Tell the numbers of requests and tokens for Prometheus."""
        text = self.activity.metrics(len(self.jobs.waiting), self.jobs.running is not None)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def openapi(self, _request: Request) -> Response:
        """Describe the API as an OpenAPI file."""
        return json_response(description())

    def routes(self) -> list[Route]:
        posts = {
            "/v1/chat/completions": self.chat,
            "/v1/completions": self.complete,
            "/v1/responses": self.respond,
            "/v1/messages": self.messages,
            "/v1/messages/count_tokens": self.count_tokens,
            "/v1/embeddings": self.embed,
            "/completion": self.complete_as_llama,
            "/completions": self.complete_as_llama,
            "/infill": self.infill,
            "/chat/completions": self.chat,  # for clients whose base address lacks /v1, which llama.cpp's server takes
            "/responses": self.respond,
            "/tokenize": self.tokenize,
            "/detokenize": self.detokenize,
        }
        return [
            *(Route(path, answer, methods=["POST"]) for path, answer in posts.items()),
            Route("/v1/models", self.models),
            Route("/models", self.models),
            Route("/v1/models/{model:path}", self.model),
            Route("/props", self.props),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
        ]


def application(api: Api, access: Callable[[], Access]) -> ASGIApp:
    """Return the application, with its guard and its error responses."""
    routes = api.routes()
    handlers: dict[Any, Any] = {
        ApiError: on_error, InvalidValue: on_invalid_value, HTTPException: on_http_error,
        ClientDisconnect: on_disconnect, Exception: on_bug,
    }  # fmt: skip
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(Recorder(app, api.activity, {route.path for route in routes}), access)


async def on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error_response(error, request.url.path)


async def on_invalid_value(request: Request, error: Exception) -> Response:
    return error_response(ApiError(400, as_sentence(str(error)), "bad_value"), request.url.path)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    made = ApiError(error.status_code, sentences.get(error.status_code, str(error.detail)), "not_found")
    return error_response(made, request.url.path, error.headers)


async def on_bug(request: Request, _error: Exception) -> Response:
    error = ApiError(500, "Something went wrong inside Chickadee; the log has the details.", "internal")
    return error_response(error, request.url.path)


async def on_disconnect(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


class Recorder:
    """ASGI middleware that records each request in `activity`, and bugs in the log."""

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
        except Exception:  # after `on_bug` has sent the response, or after a stream began, which then ends early
            log.exception("bug while %s was answered", served.path)
        finally:
            self.activity.end(served, status or 499)

    def _begin(self, scope: Scope) -> Served:
        headers = dict(scope["headers"])
        agent = headers.get(b"user-agent", b"").decode("latin-1")[:80]
        path = scope["path"] if scope["path"] in self.paths else "other"
        return self.activity.begin(agent, scope["method"], path)


def model_id(path: str) -> str:
    """Return the name of a model for clients: its file's, without the ending."""
    return PurePath(path.replace("\\", "/")).name.removesuffix(".gguf")
