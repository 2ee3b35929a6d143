"""Texts that are continued as they are, without a chat template: what the forms of OpenAI and llama.cpp share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from engine.api.errors import ApiError
from engine.api.forms import AnswerForm, S
from engine.api.written import Written
from engine.protocol.events import WRITTEN, Event, Finished, TokenLogprob

Prompt = str | tuple[int, ...]
Given = str | list[str | int | list[int]]
MOST_PROMPTS = 64


def read_prompts(name: str, given: Given, most: int = MOST_PROMPTS) -> list[Prompt]:
    """Return the texts, or their tokens, that the field `name` gives. Raises ApiError for none or too many."""
    if isinstance(given, str):
        return [given]
    if given and all(isinstance(each, int) for each in given):
        return [tuple(each for each in given if isinstance(each, int))]
    prompts = [each if isinstance(each, str) else tuple(each) for each in given if not isinstance(each, int)]
    if len(prompts) != len(given) or not 1 <= len(prompts) <= most:
        raise ApiError(400, f"{name} takes a text, tokens, or 1 to {most} of them.", "bad_value", name)
    return prompts


class TextForm(AnswerForm[S]):
    """Form of continued texts, in which a piece of a stream looks like a whole answer."""

    trims = False

    @abstractmethod
    def answer(self, text: str, logprobs: list[TokenLogprob], end: Finished | None) -> dict[str, Any]:
        """Return an answer, or its next piece; `end`: None for a piece that is not the last."""

    @abstractmethod
    def piece(self, answer: dict[str, Any], end: Finished | None) -> bytes:
        """Return a piece of a stream."""

    def start(self) -> str:
        """Begin to tell an answer, and return what stands before it."""
        return ""

    def answers(self, answers: list[Written]) -> Iterator[dict[str, Any]]:
        """Yield the complete answers."""
        for self.index, written in enumerate(answers):
            yield self.answer(self.start() + written.plain, written.logprobs, written.finished)

    def begin(self) -> Iterator[bytes]:
        """Yield what stands before an answer."""
        if before := self.start():
            yield self.piece(self.answer(before, [], None), None)

    def pieces(self, event: Event) -> Iterator[bytes]:
        """Yield the next piece of a text."""
        if isinstance(event, (*WRITTEN, Finished)):
            text, end = ("", event) if isinstance(event, Finished) else (event.text, None)
            yield self.piece(self.answer(text, self.take_logprobs(), end), end)
