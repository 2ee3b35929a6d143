"""The API described as an OpenAPI file, made from the schemas that read the requests."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from engine.api.chat import ChatRequest
from engine.api.completions import CompletionRequest
from engine.api.embeddings import EmbeddingRequest
from engine.api.llama import InfillRequest, LlamaRequest
from engine.api.messages import CountRequest, MessagesRequest
from engine.api.responses import ResponsesRequest
from engine.api.tokens import DetokenizeRequest, TokenizeRequest

POSTS: dict[str, tuple[type[msgspec.Struct], str]] = {
    "/v1/chat/completions": (ChatRequest, "Answer a chat's last message"),
    "/v1/completions": (CompletionRequest, "Continue a text"),
    "/v1/responses": (ResponsesRequest, "Answer a chat's last message; nothing is kept"),
    "/v1/messages": (MessagesRequest, "Answer a chat's last message, in Anthropic's form"),
    "/v1/messages/count_tokens": (CountRequest, "Count a chat's tokens, in Anthropic's form"),
    "/v1/embeddings": (EmbeddingRequest, "Texts as vectors"),
    "/completion": (LlamaRequest, "Continue a text, in llama.cpp's form"),
    "/infill": (InfillRequest, "Write the middle of a text, in llama.cpp's form"),
    "/tokenize": (TokenizeRequest, "A text's tokens"),
    "/detokenize": (DetokenizeRequest, "The text of tokens"),
}
GETS = {
    "/v1/models": "The loaded model",
    "/v1/models/{model}": "One model of the list",
    "/props": "The loaded model and the usual options, in llama.cpp's form",
    "/health": "Whether the server runs",
    "/metrics": "Numbers of requests and tokens, for Prometheus",
    "/openapi.json": "This file",
}
ERROR = {"description": "The error, as a JSON object", "content": {"application/json": {"schema": {"type": "object"}}}}


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI file."""
    kinds = [kind for kind, _ in POSTS.values()]
    references, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    posts = zip(POSTS.items(), references, strict=True)
    paths: dict[str, Any] = {path: {"post": _post(path, text, schema)} for (path, (_, text)), schema in posts}
    paths |= {path: {"get": _get(path, text)} for path, text in GETS.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Chickadee", "version": "1", "description": "The local API: OpenAI's and Anthropic's forms."},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _post(path: str, text: str, schema: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}
    if path in ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/completion", "/infill"):
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return {
        "summary": text,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"description": "The answer", "content": content}, "default": ERROR},
    }


def _get(path: str, text: str) -> dict[str, Any]:
    media = "text/plain" if path == "/metrics" else "application/json"
    kind = "string" if path == "/metrics" else "object"
    found: dict[str, Any] = {
        "summary": text,
        "responses": {"200": {"description": text, "content": {media: {"schema": {"type": kind}}}}, "default": ERROR},
    }
    if "{model}" in path:
        found["parameters"] = [{"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}]
    return found
