"""The decode loop: one step after the other until something ends the answer. Knows tokens only, no text.

A step runs the newest token, those that are pending (`engine.kv.policy`) and a draft (`engine.draft`) in one target
pass, and takes from it each token of the draft that the target itself chooses too, and the target's own next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.draft.drafting import Drafting, Off
from engine.kv.policy import Decision, PartialFixed
from engine.protocol import StopReason
from engine.session import Session
from engine.stop import Stopped
from engine.target import Sampler


@dataclass(frozen=True, slots=True)
class Pass:
    """One target pass after `depth` cached tokens: `inputs` tokens and `drafted` ones behind them.

    `recomputed` of the inputs ran not for the first time, `accepted` of the drafted ones became part of the answer.
    `seconds` is the pass alone; `reason` is why so much was drafted."""

    inputs: int
    depth: int
    recomputed: int
    drafted: int
    accepted: int
    seconds: float
    decision: Decision
    reason: str

    @property
    def rows(self) -> int:
        """For how many tokens logits were computed."""
        return 1 + self.drafted


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens of the answer, the pass they came from (None: the prompt's), and why no step follows if none does."""

    tokens: tuple[int, ...]
    end: StopReason | None = None
    source: Pass | None = None


def decode(
    session: Session, sampler: Sampler, kv: PartialFixed, max_tokens: int | None, drafting: Drafting | None = None
) -> Iterator[Step]:
    """Answer what `session` has read. The first step comes from the prompt's own pass, the others each from a new one.

    The last token of an answer is not in the KV cache: nothing that follows it was asked for.
    """
    is_end = session.target.vocabulary.is_end
    drafting = drafting or Off()
    drafting.begin(session.tokens)
    left = max_tokens or session.limit  # more than the context holds cannot come
    came, source = [sampler.sample(-1)], None
    while True:
        left -= len(came)
        inputs = kv.inputs(came[-1])
        end: StopReason | None = None
        if is_end(came[-1]):
            end = "end"
        elif max_tokens and left <= 0:
            end = "length"
        elif not session.make_room(len(inputs)):
            end = "context"
        yield Step(tuple(came[:-1] if end == "end" else came), end, source)
        if end:
            return
        try:
            source, came = step(session, sampler, kv, drafting, inputs, left - 1)
        except Stopped:
            yield Step((), "cancelled")
            return


def step(
    session: Session, sampler: Sampler, kv: PartialFixed, drafting: Drafting, inputs: tuple[int, ...], most: int
) -> tuple[Pass, list[int]]:
    """One pass, with at most `most` drafted tokens, and the tokens that came of it. Raises Stopped, with no effect."""
    depth = len(session.tokens)
    room = min(session.limit, session.target.n_ctx) - depth - len(inputs)  # a draft is not worth a larger cache
    choice = drafting.choose(inputs[-1:], len(inputs), depth, min(most, room, session.target.most_inputs - len(inputs)))
    tokens = (*inputs, *choice.tokens)
    started = time.perf_counter()
    session.run(tokens, rows=1 + len(choice.tokens))
    seconds = time.perf_counter() - started
    came = accept(sampler, len(inputs) - 1, choice.tokens, session.target.vocabulary.is_end)
    decision = kv.settle(tokens[: len(inputs) + len(came) - 1], len(inputs), depth)
    session.keep(tokens, len(inputs) + len(came) - 1 if decision.keep else 0)
    drafting.learn(choice, came)
    recomputed, accepted = len(inputs) - 1, len(came) - 1
    return Pass(
        len(inputs), depth, recomputed, len(choice.tokens), accepted, seconds, decision, choice.reason
    ), came  # fmt: skip


def accept(sampler: Sampler, row: int, draft: Sequence[int], is_end: Callable[[int], bool]) -> list[int]:
    """What the target says from row `row` on: as much as agrees with the draft, and one token more."""
    came = []
    for i in range(len(draft) + 1):
        token = sampler.sample(row + i)
        came.append(token)
        if i == len(draft) or token != draft[i] or is_end(token):
            break
    return came
