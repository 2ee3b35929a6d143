"""`/v1/completions`: OpenAI's older form, which continues a text as it is, without a chat template."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

from engine.api.errors import ApiError
from engine.api.fields import SamplingFields, check_single, check_top_logprobs, length_limit
from engine.api.forms import OpenAIForm, TextForm
from engine.api.jobs import Jobs
from engine.api.tokens import Prompt, Prompts, read_prompts, text_of
from engine.protocol.events import Finished, TokenLogprob
from engine.protocol.requests import Generate, Infill

USUAL_LENGTH = 16  # tokens of an answer unless the request says otherwise, as OpenAI's API has it


class CompletionRequest(SamplingFields, kw_only=True):
    """Body of a request to continue one text, or several one after the other."""

    prompt: Prompts
    logprobs: int | None = None
    echo: bool | None = None
    suffix: str | None = None
    best_of: int | None = None

    @property
    def scores_prompt(self) -> bool:
        """Whether the probabilities of the prompt's tokens are wanted."""
        return bool(self.echo) and self.logprobs is not None and not self.suffix


class CompletionForm(OpenAIForm[CompletionRequest], TextForm[CompletionRequest]):
    """The continued texts in the form of completions; `echoes` are what stands before each of them."""

    prefix = "cmpl-"
    kind = chunk_kind = "text_completion"
    echoes: tuple[str, ...] = ()
    _starts = False  # whether the next token is the first one of a scored prompt
    _offset = 0  # of the next token's text in that of its choice

    def requests_of(self, default: Generate) -> list[Generate]:
        body = self.body
        check_single("n", body.n)
        check_single("best_of", body.best_of)
        check_top_logprobs("logprobs", body.logprobs)
        base = body.text_request(default, length_limit(body.max_tokens, USUAL_LENGTH), body.logprobs)
        prompts = read_prompts("prompt", body.prompt)
        if body.suffix:
            return [replace(base, infill=Infill(checked_text(prompt), body.suffix)) for prompt in prompts]
        return [replace(base, prompt=prompt, score_prompt=body.scores_prompt) for prompt in prompts]

    async def ask(self, jobs: Jobs) -> None:
        if self.body.echo:
            self.echoes = tuple([await text_of(jobs, prompt) for prompt in read_prompts("prompt", self.body.prompt)])

    def whole(self) -> dict[str, Any]:
        return self.choices(list(self.whole_answers()))

    def start(self) -> str:
        echo = self.echoes[self.index] if self.echoes else ""
        self._starts = self.body.scores_prompt
        self._offset = 0 if self._starts else len(echo)
        return echo

    def answer(self, text: str, end: Finished | None) -> dict[str, Any]:
        logprobs = self._logprobs_of(self.written.take_logprobs())
        return {"index": self.index, "text": text, "logprobs": logprobs, "finish_reason": self.finish_reason(end)}

    def _logprobs_of(self, tokens: list[TokenLogprob]) -> dict[str, Any] | None:
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


def checked_text(prompt: Prompt) -> str:
    """Return a prompt that must be text. Raises ApiError."""
    if not isinstance(prompt, str):
        raise ApiError(400, "A prompt with a suffix must be a text.", "bad_value", "prompt")
    return prompt
