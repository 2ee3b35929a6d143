"""The decode loop: runs one step after another until something ends the answer. Knows tokens, not text.

A step runs the newest token, the pending tokens (`engine.kv.policy`) and a draft (`engine.speculative`) in one target
pass. The step gives the drafted tokens that the target chooses too, and the target's own next token. Between two steps
the answer may get forced tokens, which the target did not choose.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from common.failures import Failure
from common.log_format import kind_of
from engine.generation.sampling import Sampler, TokenMask
from engine.generation.thinking import ThoughtLimit
from engine.kv.policy import Decision, PartialFixed
from engine.kv.session import Session
from engine.protocol.requests import StopReason
from engine.runtime.interface import EMPTY_TREE, ROOT, Logits, Tree
from engine.speculative.drafting import Drafting
from engine.speculative.policy import DraftChoice
from engine.stop import Stopped
from engine.tokenization.pictures import has_pictures, is_picture

log = logging.getLogger("engine.decode")


@dataclass(frozen=True, slots=True)
class DecodePass:
    """One target pass of the decode loop: `inputs` tokens and `drafted` ones behind them, after `depth` cached tokens.

    `recomputed`: inputs that had run before. `accepted`: drafted tokens that became part of the answer. `seconds`: the
    pass alone; with `timing_unreliable` the time says nothing about other passes. `decision`: whether the cache keeps
    the inputs.
    """

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
        """Number of drafted tokens."""
        return len(self.draft.tokens)

    @property
    def rows(self) -> int:
        """Number of tokens whose logits were computed."""
        return 1 + self.drafted


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens of the answer, and the pass that gave them (None: the prefill, or the tokens are forced).

    `end`: why the answer ends with this step, or None if another step follows.
    """

    tokens: tuple[int, ...]
    end: StopReason | None = None
    source: DecodePass | None = None


def decode(
    session: Session,
    sampler: Sampler,
    kv: PartialFixed,
    max_tokens: int | None,
    drafting: Drafting | None = None,
    forced: ThoughtLimit | None = None,
) -> Iterator[Step]:
    """Yield the steps of the answer to the prompt that `session` has read.

    The first step comes from the prefill's logits, each other step from a pass of its own, except for forced tokens,
    which are a step too. The answer's last token is never in the KV cache, because nothing after it is needed.
    """
    drafting = drafting or Drafting()
    drafting.begin(session.tokens)
    tokens_left = max_tokens or sys.maxsize
    assert session.logits, "prefill the prompt first"
    tokens, source = [sampler.sample(session.logits)], None
    while True:
        tokens_left -= len(tokens)
        end = end_behind(tokens[-1], tokens_left, session, kv)
        yield Step(tuple(tokens[:-1] if end == "end" else tokens), end, source)
        if end:
            return
        new: tuple[int, ...] = (tokens[-1],)  # tokens that drafters do not know yet
        try:
            if inserted := forced.next_tokens() if forced else ():
                tokens_left -= len(inserted)
                end = insert(inserted, new[0], tokens_left, session, kv)
                if end:
                    yield Step((), end)
                    return
                sampler.remember(inserted)
                yield Step(inserted)
                new = (*new, *inserted)
            max_step = forced.max_step if forced else None
            max_drafted = min(tokens_left, max_step or tokens_left) - 1
            source, tokens = run_step(session, sampler, kv, drafting, new, max_drafted)
        except Stopped:
            yield Step((), "cancelled")
            return


def end_behind(newest: int, tokens_left: int, session: Session, kv: PartialFixed) -> StopReason | None:
    """Return why the answer ends with its newest token, or None if another step follows; makes room for that step."""
    if session.runtime.vocabulary.is_end(newest):
        return "end"
    if tokens_left <= 0:
        return "length"
    return None if session.make_room(len(kv.inputs(newest))) else "context"


def insert(
    inserted: tuple[int, ...], newest: int, tokens_left: int, session: Session, kv: PartialFixed
) -> StopReason | None:
    """Cache the pending tokens, the newest one and the inserted ones but the last; return why that ends the answer.

    Returns None if it does not. Raises Stopped.
    """
    if tokens_left <= 0:
        return "length"
    inputs = kv.inputs(newest)
    if not session.make_room(len(inputs) + len(inserted)):
        return "context"
    session.append((*inputs, *inserted[:-1]))
    kv.forget_pending()
    return None


def run_step(
    session: Session,
    sampler: Sampler,
    kv: PartialFixed,
    drafting: Drafting,
    new: tuple[int, ...],
    max_drafted: int,
) -> tuple[DecodePass, list[int]]:
    """Run one pass with at most `max_drafted` drafted tokens; return the pass and the tokens that it gave.

    `new`: the answer's last tokens, as far as `drafting` does not know them; all but the last are cached. Without
    memory for a draft's branches, the pass runs without a draft. Raises Stopped, and then nothing has changed.
    """
    inputs = kv.inputs(new[-1])
    runtime, depth = session.runtime, len(session.tokens)
    room = min(session.limit, runtime.n_ctx) - depth - len(inputs)  # the cache is not enlarged for a draft
    max_drafted = min(max_drafted, room, runtime.max_batch - len(inputs), runtime.max_draft)
    draft = allowed_draft(drafting.choose(new, len(inputs), depth, max_drafted), sampler.mask)
    verify = partial(session.verify, inputs, whole_rows=sampler.reads_whole_rows)
    started = time.perf_counter()
    try:
        logits = verify(draft.tree)
    except (Failure, MemoryError) as error:
        if draft.tree.is_line or len(session.tokens) < depth:
            raise
        log.warning("no memory for the branches of a draft: %s", kind_of(error))
        drafting.drop_branches()
        draft = replace(draft, tree=EMPTY_TREE, pass_seconds=draft.plain_seconds)
        started = time.perf_counter()
        logits = verify(draft.tree)
    seconds = time.perf_counter() - started
    try:
        tokens, path = sample_along_draft(sampler, logits, draft.tree, runtime.vocabulary.is_end)
    except BaseException:
        session.reject()
        raise
    decision = kv.decide_step((*inputs, *tokens[:-1]), len(inputs), depth)
    if decision.keep:
        session.accept(inputs, draft.tree, path)
    else:
        session.reject()
    drafting.learn(draft, tokens)
    recomputed, unreliable = len(inputs) - 1, logits.timing_unreliable
    return DecodePass(len(inputs), depth, recomputed, draft, len(path), seconds, decision, unreliable), tokens


def allowed_draft(draft: DraftChoice, mask: TokenMask | None) -> DraftChoice:
    """Return the draft without the tokens that the mask forbids, and without those behind them.

    A token that stands for a part of a picture is forbidden always: a drafter may copy what came before a picture.
    """
    tokens = draft.tokens
    if not tokens or (not mask and not has_pictures(tokens)):
        return draft
    lines = [[tokens[node] for node in branch] for branch in draft.tree.branches]
    counts = [count_text(line) for line in lines]
    if mask:
        counts = [mask.count_allowed(line[:count]) for line, count in zip(lines, counts, strict=True)]
    if counts == [len(line) for line in lines]:
        return draft
    tree = Tree.merged(line[:count] for line, count in zip(lines, counts, strict=True))
    seconds = draft.pass_seconds if tree.size else draft.plain_seconds
    return replace(draft, tree=tree, pass_seconds=seconds)


def count_text(tokens: Sequence[int]) -> int:
    """Return how many tokens come before the first one that stands for a picture."""
    return next((i for i, token in enumerate(tokens) if is_picture(token)), len(tokens))


def sample_along_draft(
    sampler: Sampler, logits: Logits, tree: Tree, is_end: Callable[[int], bool]
) -> tuple[list[int], list[int]]:
    """Sample the target's tokens along the draft until they differ from it.

    Returns the tokens, one more than the accepted ones, and the accepted tokens' path in the tree. Row 0 of `logits` is
    that of the newest token, row 1 + i that of the tree's token i. Each token is sampled once and in order, as without
    a draft, so drafting changes nothing but the speed.
    """
    tokens: list[int] = []
    path: list[int] = []
    while True:
        node = path[-1] if path else ROOT
        token = sampler.sample(logits, 1 + node)
        tokens.append(token)
        child = tree.child(node, token)
        if child is None or is_end(token):
            return tokens, path
        path.append(child)
