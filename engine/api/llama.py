"""`/completion` and `/props`: what clients of llama.cpp's server ask for beside OpenAI's addresses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import msgspec

from engine.api import sse
from engine.api.completions import checked_prompts
from engine.api.errors import ApiError
from engine.api.fields import SamplingFields, length_limit
from engine.api.numbers import timings
from engine.protocol.events import WRITTEN, Event, Finished, Logprobs, ModelInfo, TokenLogprob
from engine.protocol.requests import MOST_TOP_LOGPROBS, Generate, Infill, StopReason

STOP_TYPES: dict[StopReason, str] = {
    "end": "eos", "stop": "word", "length": "limit", "context": "limit", "tool_calls": "eos",
}  # fmt: skip


class ContinueFields(SamplingFields, kw_only=True):
    """Fields of llama.cpp's requests to continue a text."""

    n_predict: int | None = None
    n_probs: int = 0
    return_tokens: bool = False
    response_fields: list[str] | None = None


class LlamaRequest(ContinueFields, kw_only=True):
    """Body of a request to continue a text, or several one after the other, in llama.cpp's form."""

    prompt: str | list[str | int | list[int]]


class InfillFile(msgspec.Struct, kw_only=True):
    text: str
    filename: str = "other"


class InfillRequest(ContinueFields, kw_only=True):
    """Body of a request to write the middle of a text; `prompt`: how the middle begins."""

    input_prefix: str
    input_suffix: str
    input_extra: list[InfillFile] | None = None
    prompt: str = ""


def generates_of(body: LlamaRequest, default: Generate) -> list[Generate]:
    """Return the engine's requests, one for each prompt. Raises ApiError."""
    base = request_of(body, default)
    return [replace(base, prompt=prompt) for prompt in checked_prompts(body.prompt)]


def infill_of(body: InfillRequest, default: Generate) -> Generate:
    """Return the engine's request to write the middle of a text. Raises ApiError."""
    files = tuple((file.filename, file.text) for file in body.input_extra or ())
    return replace(request_of(body, default), infill=Infill(body.input_prefix + body.prompt, body.input_suffix, files))


def request_of(body: ContinueFields, default: Generate) -> Generate:
    """Return the engine's request, without the text to continue. Raises ApiError."""
    body.check_count()
    if not 0 <= body.n_probs <= MOST_TOP_LOGPROBS:
        raise ApiError(400, f"n_probs must lie between 0 and {MOST_TOP_LOGPROBS}.", "bad_value", "n_probs")
    return replace(
        default,
        sampling=body.sampling(default.sampling),
        max_tokens=length_limit(body.n_predict, body.max_tokens),
        stop=body.stops(),
        constraint=body.constraint(),
        top_logprobs=body.n_probs or None,
    )


class LlamaForm:
    """The continued texts in llama.cpp's form; `requests` are those of `generates_of`."""

    def __init__(self, body: ContinueFields, requests: list[Generate], model: str) -> None:
        self.body, self.model, self.requests = body, model, requests

    async def whole(self, answers: AsyncIterator[tuple[int, Event | None]]) -> Any:
        """Return the complete answer; a list of them if there were several prompts."""
        texts = [""] * len(self.requests)
        probabilities = [list[TokenLogprob]() for _ in self.requests]
        found: list[dict[str, Any]] = []
        async for index, event in answers:
            if isinstance(event, WRITTEN):
                texts[index] += event.text
            elif isinstance(event, Logprobs):
                probabilities[index] += event.tokens
            elif isinstance(event, Finished):
                found.append(self._end(index, event, texts[index], probabilities[index]))
        if wanted := self.body.response_fields:
            found = [fields_of(answer, wanted) for answer in found]
        return found if len(found) > 1 else found[0]

    async def stream(self, answers: AsyncIterator[tuple[int, Event | None]]) -> AsyncIterator[bytes]:
        """Yield the answers in pieces; the last piece of each has the numbers and no text."""
        held: list[TokenLogprob] = []
        async for index, event in answers:
            match event:
                case None:
                    yield sse.WAITING
                case Logprobs():
                    held += event.tokens
                case Finished():
                    yield sse.data(self._end(index, event, "", held))
                    held = []
                case _ if isinstance(event, WRITTEN):
                    yield sse.data(self._piece(index, event.text, held) | {"stop": False})
                    held = []

    def _piece(self, index: int, text: str, probabilities: list[TokenLogprob]) -> dict[str, Any]:
        piece: dict[str, Any] = {
            "index": index,
            "content": text,
            "tokens": [token.token for token in probabilities] if self.body.return_tokens else [],
        }
        if self.body.n_probs:
            piece["completion_probabilities"] = [probability(token) for token in probabilities]
        return piece

    def _end(self, index: int, end: Finished, text: str, probabilities: list[TokenLogprob]) -> dict[str, Any]:
        numbers, request = end.statistics, self.requests[index]
        return self._piece(index, text, probabilities) | {
            "tokens": end.tokens if self.body.return_tokens else [],
            "id_slot": 0,
            "stop": True,
            "model": self.model,
            "tokens_predicted": numbers.decode_tokens,
            "tokens_evaluated": numbers.prompt_tokens,
            "tokens_cached": numbers.context_tokens,
            "generation_settings": settings_of(request),
            "prompt": request.infill.prefix if request.infill else request.prompt,
            "has_new_line": "\n" in text,
            "truncated": False,
            "stop_type": STOP_TYPES[numbers.stop_reason],
            "stopping_word": "",
            "timings": timings(numbers),
        }


def settings_of(request: Generate) -> dict[str, Any]:
    """Return the options of an answer by llama.cpp's names."""
    limit = -1 if request.max_tokens is None else request.max_tokens
    sampling: dict[str, Any] = msgspec.to_builtins(request.sampling)
    return sampling | {
        "n_predict": limit,
        "max_tokens": limit,
        "stop": request.stop,
        "logit_bias": [{"token": token, "bias": bias} for token, bias in request.sampling.logit_bias],
    }


def probability(token: TokenLogprob) -> dict[str, Any]:
    """Return a token's probability and those of the likeliest tokens in its place."""

    def entry(each: TokenLogprob) -> dict[str, Any]:
        return {"id": each.token, "token": each.text, "bytes": list(each.bytes), "logprob": each.logprob}

    return entry(token) | {"top_logprobs": list(map(entry, token.top))}


def fields_of(answer: dict[str, Any], wanted: list[str]) -> dict[str, Any]:
    """Return only these fields of an answer; `a/b` is the field `b` of the field `a`."""
    found: dict[str, Any] = {}
    for path in wanted:
        value: Any = answer
        for name in path.split("/"):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            found[path] = value
    return found


def props(info: ModelInfo | None, default: Generate, busy: bool) -> dict[str, Any]:
    """Return what llama.cpp's server says of itself and of the loaded model."""
    settings = settings_of(default)
    n_ctx = info.n_ctx if info else 0
    return {
        "default_generation_settings": {
            "id": 0, "n_ctx": n_ctx, "is_processing": busy, "speculative": default.draft != "off",
            "params": settings | {"n_ctx": n_ctx},
        },
        "total_slots": 1,
        "model_path": PurePath(info.path.replace("\\", "/")).name if info else "",  # the folder is the user's own
        "model_alias": info.name if info else "",
        "modalities": {"vision": bool(info and info.vision), "audio": False},
        "is_sleeping": False,
        "build_info": "Chickadee",
    }  # fmt: skip
