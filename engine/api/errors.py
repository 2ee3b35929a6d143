"""Errors of the API: a status, and the JSON object that clients of OpenAI's and of Anthropic's APIs understand."""

from __future__ import annotations

from typing import Any

from common.sentences import Sentence
from engine.protocol.events import Failed

# Codes of failures that the client can mend; those that begin with "bad_" are such too.
OF_CLIENT = {"empty_prompt", "nothing_to_continue", "template", "no_draft_model", "no_vision", "no_infill"}
UNAVAILABLE = {"no_model", "out_of_memory", "cancelled", "engine_end", "no_backend", "busy"}
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    503: "overloaded_error",
}


class ApiError(Exception):
    """Error that the client is told. `param`: the field of the request that is wrong; `code`: for programs."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param

    @property
    def kind(self) -> str:
        return KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "api_error")

    @property
    def as_openai(self) -> dict[str, Any]:
        """The error as OpenAI's clients read it."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}

    @property
    def as_anthropic(self) -> dict[str, Any]:
        """The error as Anthropic's clients read it."""
        return {"type": "error", "error": {"type": self.kind, "message": self.message}}

    def body(self, path: str) -> dict[str, Any]:
        """Return the error in the form of the endpoint at `path`."""
        return self.as_anthropic if path.startswith("/v1/messages") else self.as_openai


def as_sentence(text: str) -> str:
    """Return an exception's text with a capital letter at its beginning and one full stop at its end."""
    text = text.strip().rstrip(".:")
    return f"{text[:1].upper()}{text[1:]}."


def error_of(failed: Failed) -> ApiError:
    """Return the error for a request that the engine refused or could not complete."""
    if failed.code == "prompt_too_long":
        return ApiError(400, str(sentence_for_programs(failed.sentence)), "context_length_exceeded", "messages")
    if failed.code.startswith("bad_") or failed.code in OF_CLIENT:
        return ApiError(400, failed.message, failed.code)
    return ApiError(503 if failed.code in UNAVAILABLE else 500, failed.message, failed.code)


def sentence_for_programs(sentence: Sentence) -> Sentence:
    """Return the sentence without remedies that only the window offers, such as a new chat or another model."""
    if sentence.id != "prompt_too_long.chat":
        return sentence
    return Sentence.of("prompt_too_long.messages", needed=sentence.values["needed"], n_ctx=sentence.values["n_ctx"])
