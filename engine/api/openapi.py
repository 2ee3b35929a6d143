"""The API described as an OpenAPI file, made from its endpoints and the schemas that read the requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response

from engine.api.forms import AnswerForm

ERROR = {"description": "The error, as a JSON object", "content": {"application/json": {"schema": {"type": "object"}}}}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of the API.

    `answer`: the form of an answer that the model writes, which can be streamed, or what is called with the API, the
    request and its body. `reads`: schema of the body, which is sent with POST; None for a GET. `others`: addresses that
    mean the same, for clients that do not know this one. `media`: type of the answer.
    """

    path: str
    summary: str
    answer: type[AnswerForm[Any]] | Callable[..., Awaitable[Response]]
    reads: type[msgspec.Struct] | None = None
    others: tuple[str, ...] = ()
    media: str = "application/json"


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI file."""
    kinds = [endpoint.reads for endpoint in endpoints if endpoint.reads]
    references, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    bodies = dict(zip(kinds, references, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Chickadee", "version": "1", "description": "The local API: OpenAI's and Anthropic's forms."},
        "paths": {endpoint.path.replace(":path", ""): _methods(endpoint, bodies) for endpoint in endpoints},
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _methods(endpoint: Endpoint, bodies: dict[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    """Return what the OpenAPI file says of an address."""
    kind = "object" if endpoint.media == "application/json" else "string"
    content = {endpoint.media: {"schema": {"type": kind}}}
    if isinstance(endpoint.answer, type):
        content["text/event-stream"] = {"schema": {"type": "string"}}
    about: dict[str, Any] = {"summary": endpoint.summary}
    if endpoint.reads:
        body = {"application/json": {"schema": bodies[endpoint.reads]}}
        about["requestBody"] = {"required": True, "content": body}
    text = "The answer" if endpoint.reads else endpoint.summary
    about["responses"] = {"200": {"description": text, "content": content}, "default": ERROR}
    if "{model" in endpoint.path:
        about["parameters"] = [{"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}]
    return {"post" if endpoint.reads else "get": about}
