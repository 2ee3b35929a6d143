"""The decode loop: one step after the other until something ends the answer. Knows tokens only, no text, no clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.protocol import StopReason
from engine.session import Session
from engine.stop import Stopped
from engine.target import Sampler


@dataclass(frozen=True, slots=True)
class Step:
    """What one target pass gave: tokens of the answer, and why no step follows if none does."""

    tokens: tuple[int, ...]
    end: StopReason | None = None


def decode(session: Session, sampler: Sampler, max_tokens: int | None) -> Iterator[Step]:
    """Answer what `session` has read. The first step comes from the prompt's own pass, the others each from a new one.

    The last token of an answer is not in the KV cache: nothing that follows it was asked for.
    """
    vocabulary = session.target.vocabulary
    count = 0
    while True:
        token = sampler.sample(-1)
        if vocabulary.is_end(token):
            yield Step((), "end")
            return
        count += 1
        if count == max_tokens:
            yield Step((token,), "length")
            return
        if session.room == 0:
            yield Step((token,), "context")
            return
        yield Step((token,))
        try:
            session.append((token,))
        except Stopped:
            yield Step((), "cancelled")
            return
