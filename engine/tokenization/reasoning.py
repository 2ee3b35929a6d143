"""Keeps the marks around a model's thoughts in its answer, so that whoever shows it can tell thought from answer.

Some templates write the opening mark at the end of the prompt: then the answer would begin inside a thought. Some
vocabularies have the marks as control tokens, which are not text: those are shown all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from engine.protocol import Event, Text

OPENINGS = (
    "<think>", "<thinking>", "<thought>", "<reasoning>", "<seed:think>", "[THINK]", "◁think▷", "<|START_THINKING|>",
    "<|channel|>analysis<|message|>", "<|channel>thought",
)  # fmt: skip
LAST_TOKENS = 16


def opened_thought(prompt: Sequence[int], text: Callable[[int], str]) -> str:
    """The mark at the end of the prompt that opens a thought, with the blanks behind it; "" if there is none."""
    end = "".join(map(text, prompt[-LAST_TOKENS:]))
    stripped = end.rstrip()
    opening = next((mark for mark in OPENINGS if stripped.endswith(mark)), "")
    return opening + end[len(stripped) :] if opening else ""


def with_opening(opening: str, events: Iterable[Event]) -> Iterator[Event]:
    """The events of an answer, its first text behind the mark that the prompt ended with."""
    for event in events:
        if opening and isinstance(event, Text):
            event, opening = replace(event, text=opening + event.text), ""
        yield event
