"""The decode loop: one step after the other until something ends the answer. Knows tokens only, no text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from engine.kv.policy import Decision, PartialFixed
from engine.protocol import StopReason
from engine.session import Session
from engine.stop import Stopped
from engine.target import Sampler


@dataclass(frozen=True, slots=True)
class Pass:
    """One target pass: `inputs` tokens run after `depth` cached ones, `recomputed` of them not for the first time."""

    inputs: int
    depth: int
    recomputed: int
    seconds: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens of the answer, the pass they came from (None: the prompt's), and why no step follows if none does."""

    tokens: tuple[int, ...]
    end: StopReason | None = None
    source: Pass | None = None


def decode(session: Session, sampler: Sampler, kv: PartialFixed, max_tokens: int | None) -> Iterator[Step]:
    """Answer what `session` has read. The first step comes from the prompt's own pass, the others each from a new one.

    The last token of an answer is not in the KV cache: nothing that follows it was asked for.
    """
    is_end = session.target.vocabulary.is_end
    count, source = 0, None
    while True:
        token = sampler.sample(-1)
        if is_end(token):
            yield Step((), "end", source)
            return
        count += 1
        inputs = kv.inputs(token)
        end: StopReason | None = None
        if count == max_tokens:
            end = "length"
        elif not session.make_room(len(inputs)):
            end = "context"
        yield Step((token,), end, source)
        if end:
            return
        try:
            source = run_pass(session, kv, inputs)
        except Stopped:
            yield Step((), "cancelled")
            return


def run_pass(session: Session, kv: PartialFixed, inputs: tuple[int, ...]) -> Pass:
    """One step's pass. Raises Stopped, leaving the session as it was."""
    depth = len(session.tokens)
    decision = kv.settle(inputs, depth)
    started = time.perf_counter()
    session.run(inputs, keep=decision.keep)
    return Pass(len(inputs), depth, len(inputs) - 1, time.perf_counter() - started, decision)
