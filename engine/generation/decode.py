"""The decode loop: one step after the other until something ends the answer. Knows tokens only, no text.

A step runs the newest token, those that are pending (`engine.kv.policy`) and a draft (`engine.speculative`) in one
target pass, and takes from it each token of the draft that the target itself chooses too, and its own next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.generation.sampling import Sampler
from engine.kv.policy import Decision, PartialFixed
from engine.kv.session import Session
from engine.protocol import StopReason
from engine.runtime.interface import ROOT, Logits, Tree
from engine.speculative.drafting import Drafting, Off
from engine.speculative.policy import DraftChoice
from engine.stop import Stopped


@dataclass(frozen=True, slots=True)
class Pass:
    """One target pass after `depth` cached tokens: `inputs` tokens and `drafted` ones behind them.

    `recomputed` of the inputs ran not for the first time, `accepted` of the drafted ones became part of the answer.
    `seconds` is the pass alone, which says nothing of other passes if `timing_unreliable`; `decision` is about keeping
    the inputs."""

    inputs: int
    depth: int
    recomputed: int
    draft: DraftChoice
    accepted: int
    seconds: float
    decision: Decision
    timing_unreliable: bool = False

    @property
    def drafted(self) -> int:
        """How many tokens were drafted."""
        return len(self.draft.tokens)

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
    is_end = session.runtime.vocabulary.is_end
    drafting = drafting or Off()
    drafting.begin(session.tokens)
    left = max_tokens or session.limit  # more than the context holds cannot come
    assert session.logits, "nothing was read"
    came, source = [sampler.sample(session.logits)], None
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
    runtime, depth = session.runtime, len(session.tokens)
    room = min(session.limit, runtime.n_ctx) - depth - len(inputs)  # a draft is not worth a larger cache
    most = min(most, room, runtime.max_batch - len(inputs), runtime.max_logits - 1)
    draft = drafting.choose(inputs[-1:], len(inputs), depth, most)
    tree = Tree(draft.tokens, draft.parents) if draft.parents else Tree.line(draft.tokens)
    started = time.perf_counter()
    logits = session.verify(inputs, tree, whole_rows=sampler.reads_whole_rows)
    seconds = time.perf_counter() - started
    try:
        came, path = agreed(sampler, logits, tree, runtime.vocabulary.is_end)
    except BaseException:
        session.reject()
        raise
    decision = kv.settle((*inputs, *came[:-1]), len(inputs), depth)
    if decision.keep:
        session.accept(inputs, tree, path)
    else:
        session.reject()
    drafting.learn(draft, came)
    recomputed, unreliable = len(inputs) - 1, logits.timing_unreliable
    return Pass(len(inputs), depth, recomputed, draft, len(path), seconds, decision, unreliable), came


def agreed(sampler: Sampler, logits: Logits, tree: Tree, is_end: Callable[[int], bool]) -> tuple[list[int], list[int]]:
    """What the target says, from the rows of the newest token and the tree's: as much as the tree foretold, whose path
    is the second result, and one token more. Each token is sampled once and in order, as without a draft, so that
    nothing changes but the speed."""
    came: list[int] = []
    path: list[int] = []
    while True:
        node = path[-1] if path else ROOT
        token = sampler.sample(logits, 1 + node)
        came.append(token)
        child = tree.child(node, token)
        if child is None or is_end(token):
            return came, path
        path.append(child)
