"""`/completion` and `/props`: what clients of llama.cpp's server ask for beside OpenAI's addresses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import Any

import msgspec

from engine.api.fields import SamplingFields, check_single, check_top_logprobs, length_limit
from engine.api.forms import TextForm, sse_data
from engine.api.numbers import timings
from engine.api.tokens import Prompts, read_prompts
from engine.protocol.events import Finished, ModelInfo, TokenLogprob
from engine.protocol.requests import Generate, Infill, StopReason

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

    prompt: Prompts

    def texts(self) -> list[dict[str, Any]]:
        """Return the fields of Generate that say what is continued, for each text. Raises ApiError."""
        return [{"prompt": prompt} for prompt in read_prompts("prompt", self.prompt)]


class InfillFile(msgspec.Struct, kw_only=True):
    text: str
    filename: str = "other"


class InfillRequest(ContinueFields, kw_only=True):
    """Body of a request to write the middle of a text; `prompt`: how the middle begins."""

    input_prefix: str
    input_suffix: str
    input_extra: list[InfillFile] | None = None
    prompt: str = ""

    def texts(self) -> list[dict[str, Any]]:
        files = tuple((file.filename, file.text) for file in self.input_extra or ())
        return [{"infill": Infill(self.input_prefix + self.prompt, self.input_suffix, files)}]


class LlamaForm(TextForm[LlamaRequest | InfillRequest]):
    """The continued texts in llama.cpp's form."""

    def requests_of(self, default: Generate) -> list[Generate]:
        body = self.body
        check_single("n", body.n)
        check_top_logprobs("n_probs", body.n_probs)
        base = body.text_request(default, length_limit(body.n_predict, body.max_tokens), body.n_probs or None)
        return [replace(base, **text) for text in body.texts()]

    def whole(self) -> Any:
        wanted = self.body.response_fields
        whole = [select_fields(answer, wanted) if wanted else answer for answer in self.whole_answers()]
        return whole if len(whole) > 1 else whole[0]

    def chunk(self, choice: dict[str, Any], end: Finished | None) -> bytes:
        return sse_data(choice if end else choice | {"stop": False})

    def answer(self, text: str, end: Finished | None) -> dict[str, Any]:
        logprobs = self.written.take_logprobs()
        tokens = end.tokens if end else [token.token for token in logprobs]
        answer: dict[str, Any] = {
            "index": self.index, "content": text, "tokens": tokens if self.body.return_tokens else []
        }  # fmt: skip
        if self.body.n_probs:
            answer["completion_probabilities"] = [probability(token) for token in logprobs]
        if end is None:
            return answer
        numbers, request = end.statistics, self.requests[self.index]
        return answer | {
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


def select_fields(answer: dict[str, Any], wanted: list[str]) -> dict[str, Any]:
    """Return only these fields of an answer; `a/b` is the field `b` of the field `a`."""
    selected: dict[str, Any] = {}
    for path in wanted:
        value: Any = answer
        for name in path.split("/"):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            selected[path] = value
    return selected


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
