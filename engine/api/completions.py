"""`/v1/completions`: OpenAI's older form, which continues a text as it is, without a chat template."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from engine.api import sse
from engine.api.errors import ApiError
from engine.api.fields import SamplingFields, length_limit
from engine.api.numbers import FINISH, timings, usage
from engine.protocol.events import WRITTEN, Event, Finished, Logprobs, Statistics, TokenLogprob
from engine.protocol.requests import MOST_TOP_LOGPROBS, Generate, Infill

Prompt = str | tuple[int, ...]
MOST_PROMPTS = 64
USUAL_LENGTH = 16  # tokens of an answer unless the request says otherwise, as OpenAI's API has it


class CompletionRequest(SamplingFields, kw_only=True):
    """Body of a request to continue one text, or several one after the other."""

    prompt: str | list[str | int | list[int]]
    logprobs: int | None = None
    echo: bool | None = None
    suffix: str | None = None
    best_of: int | None = None


def checked_prompts(given: str | list[str | int | list[int]]) -> list[Prompt]:
    """Return the texts, or their tokens, that are to be continued. Raises ApiError."""
    if isinstance(given, str):
        return [given]
    if given and all(isinstance(each, int) for each in given):
        return [tuple(each for each in given if isinstance(each, int))]
    prompts: list[Prompt] = [
        each if isinstance(each, str) else tuple(each) for each in given if not isinstance(each, int)
    ]
    if len(prompts) != len(given) or not 1 <= len(prompts) <= MOST_PROMPTS:
        raise ApiError(400, f"prompt takes a text, tokens, or 1 to {MOST_PROMPTS} of them.", "bad_value", "prompt")
    return prompts


def generates_of(body: CompletionRequest, default: Generate) -> list[Generate]:
    """Return the engine's requests, one for each prompt. Raises ApiError."""
    body.check_count()
    if body.best_of not in (None, 1):
        raise ApiError(400, "Only one answer can be computed at a time: best_of must be 1.", "bad_value", "best_of")
    if body.logprobs is not None and not 0 <= body.logprobs <= MOST_TOP_LOGPROBS:
        raise ApiError(400, f"logprobs must lie between 0 and {MOST_TOP_LOGPROBS}.", "bad_value", "logprobs")
    base = replace(
        default,
        sampling=body.sampling(default.sampling),
        max_tokens=length_limit(body.max_tokens, USUAL_LENGTH),
        stop=body.stops(),
        constraint=body.constraint(),
        top_logprobs=body.logprobs,
    )
    prompts = checked_prompts(body.prompt)
    if body.suffix:
        return [replace(base, infill=Infill(text_of(prompt), body.suffix)) for prompt in prompts]
    return [replace(base, prompt=prompt, score_prompt=scores_prompt(body)) for prompt in prompts]


def scores_prompt(body: CompletionRequest) -> bool:
    """Return whether the probabilities of the prompt's tokens are wanted."""
    return bool(body.echo) and body.logprobs is not None and not body.suffix


def text_of(prompt: Prompt) -> str:
    """Return a prompt that must be text. Raises ApiError."""
    if not isinstance(prompt, str):
        raise ApiError(400, "A prompt with a suffix must be a text.", "bad_value", "prompt")
    return prompt


class CompletionForm:
    """The continued texts in the form of completions; `echoes` are what stands before each of them."""

    def __init__(self, body: CompletionRequest, echoes: Sequence[str], model: str) -> None:
        self.body, self.echoes, self.model = body, echoes, model
        self._starts = False  # whether the next token is the first one of a scored prompt
        self._offset = 0  # of the next token's text in that of its choice
        self.id, self.created = f"cmpl-{uuid.uuid4().hex}", int(time.time())

    async def whole(self, answers: AsyncIterator[tuple[int, Event | None]]) -> dict[str, Any]:
        """Return all complete answers."""
        texts, probabilities = [*self.echoes], [list[TokenLogprob]() for _ in self.echoes]
        ends: list[Statistics] = []
        async for index, event in answers:
            if isinstance(event, WRITTEN):
                texts[index] += event.text
            elif isinstance(event, Logprobs):
                probabilities[index] += event.tokens
            elif isinstance(event, Finished):
                ends.append(event.statistics)
        choices = []
        for index, text in enumerate(texts):
            self._begin(index)
            found = self._logprobs(probabilities[index])
            reason = FINISH[ends[index].stop_reason]
            choices.append({"index": index, "text": text, "logprobs": found, "finish_reason": reason})
        return {**self._head(), "choices": choices, "usage": total(ends), "timings": timings(ends[-1])}

    async def stream(self, answers: AsyncIterator[tuple[int, Event | None]]) -> AsyncIterator[bytes]:
        """Yield the answers in pieces."""
        ends: list[Statistics] = []
        held: list[TokenLogprob] = []
        begun = -1
        async for index, event in answers:
            if index > begun:
                begun = index
                self._begin(index)
                if echo := self.echoes[index]:
                    yield self._chunk(index, echo)
            match event:
                case None:
                    yield sse.WAITING
                case Logprobs():
                    held += event.tokens
                case Finished():
                    ends.append(event.statistics)
                    reason = FINISH[event.statistics.stop_reason]
                    yield self._chunk(index, "", reason, held, timings=timings(event.statistics))
                    held = []
                case _ if isinstance(event, WRITTEN):
                    yield self._chunk(index, event.text, None, held)
                    held = []
        if self.body.with_usage:
            yield sse.data({**self._head(), "choices": [], "usage": total(ends)})
        yield sse.DONE

    def _chunk(
        self, index: int, text: str, reason: str | None = None, held: list[TokenLogprob] | None = None, **more: Any
    ) -> bytes:
        choice = {"index": index, "text": text, "logprobs": self._logprobs(held or []), "finish_reason": reason}
        if self.body.with_usage:
            more["usage"] = None
        return sse.data({**self._head(), "choices": [choice], **more})

    def _begin(self, index: int) -> None:
        """Begin to tell the tokens of a choice."""
        self._starts = scores_prompt(self.body)
        self._offset = 0 if self._starts else len(self.echoes[index])

    def _logprobs(self, tokens: list[TokenLogprob]) -> dict[str, Any] | None:
        """Return the probabilities of a choice's next tokens."""
        if self.body.logprobs is None or not tokens:
            return None
        values: list[float | None] = [token.logprob for token in tokens]
        tops: list[dict[str, float] | None] = [{each.text: each.logprob for each in token.top} for token in tokens]
        if self._starts and tokens[0].text:
            values[0] = tops[0] = None
        elif self._starts:  # the token that begins every text is no part of this one
            tokens, values, tops = tokens[1:], values[1:], tops[1:]
        self._starts = False
        *offsets, self._offset = accumulate((len(token.text) for token in tokens), initial=self._offset)
        return {
            "tokens": [token.text for token in tokens], "token_logprobs": values, "top_logprobs": tops,
            "text_offset": offsets,
        }  # fmt: skip

    def _head(self) -> dict[str, Any]:
        return {
            "id": self.id, "object": "text_completion", "created": self.created, "model": self.model,
            "system_fingerprint": "chickadee",
        }  # fmt: skip


def total(ends: list[Statistics]) -> dict[str, Any]:
    """Return the usage of several answers together."""
    found = usage(ends[0])
    for end in ends[1:]:
        other = usage(end)
        found |= {name: found[name] + other[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    return found
