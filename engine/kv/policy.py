"""Partial-fixed KV caching: decides before each step whether the KV cache keeps the step's input tokens.

Tokens whose keys and values are in the cache are *fixed*. Output tokens that were not cached are *pending* and run
again with the next step. The policy chooses the cheaper way; the answer is the same either way. This module knows no
model: pass times are given by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.protocol.requests import KVPolicy

MARGIN = 0.02  # share of the time: two measurements of a pass differ by as much
DEPTH_STEP = 16  # tokens of depth within which a decision is reused


@dataclass(frozen=True, slots=True)
class Decision:
    """A policy's decision whether the cache keeps a step's input tokens, and the reason with the compared numbers."""

    keep: bool
    reason: str


class CachingPolicy(Protocol):
    """Rule that decides before each step whether the KV cache keeps the step's input tokens."""

    @property
    def name(self) -> KVPolicy:
        """The policy's name in a `Generate` request."""

    def decide(self, inputs: int, fixed: int, /) -> Decision:
        """Decide whether the cache keeps the keys and values of the coming step's input tokens.

        `inputs`: number of input tokens, the pending ones and the newest. `fixed`: number of cached tokens.
        """


class AlwaysPolicy:
    """Ordinary KV caching: the cache keeps every input token."""

    name: KVPolicy = "always"

    def decide(self, _inputs: int, _fixed: int, /) -> Decision:
        return Decision(True, "always")


@dataclass(frozen=True, slots=True)
class PublishedPolicy:
    """The published rule, which compares theoretical peaks; `nt`, `td` and `tl` are the paper's names.

    `nt`: tokens that the machine runs in the time of one. `td(inputs)`: seconds to run the input tokens at peak
    compute. `tl(fixed)`: seconds to load the cached keys and values at full memory bandwidth.
    """

    nt: float
    td: Callable[[int], float]
    tl: Callable[[int], float]
    name: KVPolicy = "published"

    def decide(self, inputs: int, fixed: int, /) -> Decision:
        """Keep more than `nt` inputs if running them takes at least as long as loading the cached tokens."""
        if inputs <= self.nt:
            return Decision(False, f"{inputs} inputs ≤ nt {self.nt:.1f}")
        td, tl = self.td(inputs), self.tl(fixed)
        if td < tl:
            return Decision(False, f"td {td * 1e3:.3f} ms < tl {tl * 1e3:.3f} ms")
        return Decision(True, f"{inputs} inputs > nt {self.nt:.1f} and td {td * 1e3:.3f} ms ≥ tl {tl * 1e3:.3f} ms")


class PassCosts(Protocol):
    """Source of pass times for the policies (implemented in `engine.costs.measurements`)."""

    def pass_seconds(self, inputs: int, depth: int, /) -> float | None:
        """Return the seconds of a pass of `inputs` tokens after `depth` cached ones; None before it was timed."""

    def peaks(self) -> tuple[float, Callable[[int], float], Callable[[int], float]] | None:
        """Return `nt`, `td` and `tl` of the published rule, or None if the model's shapes are unknown."""


def policy_for(name: KVPolicy, costs: PassCosts, can_truncate: bool) -> CachingPolicy:
    """Return the policy called `name` for this model and machine.

    Returns `always` for a model whose cache cannot be truncated (`can_truncate`), and instead of `published` where the
    peaks are unknown.
    """
    peaks = costs.peaks() if name == "published" and can_truncate else None
    if name == "always" or not can_truncate or (name == "published" and peaks is None):
        return AlwaysPolicy()
    return PublishedPolicy(*peaks) if peaks else MeasuredPolicy(costs.pass_seconds)


class MeasuredPolicy:
    """The published comparison, made with measured times of the two passes instead of theoretical peaks.

    `pass_seconds(k, depth)`: seconds of a pass of k tokens after `depth` cached ones; None before the model was timed.
    If the inputs are kept, the next step runs one token after a deeper cache; if they are not, the next step runs all
    pending tokens again. Not keeping the inputs must be faster by more than MARGIN, the noise of the measurements.
    One decision is reused for the next few tokens of depth, over which the times do not change: between two passes the
    processor's caches hold none of this code, and a new decision would take 30 µs of each step.
    """

    name: KVPolicy = "measured"

    def __init__(self, pass_seconds: Callable[[int, int], float | None]) -> None:
        self.pass_seconds = pass_seconds
        self._last: tuple[tuple[int, int], Decision] | None = None

    def decide(self, inputs: int, fixed: int, /) -> Decision:
        """Keep the inputs unless running them again saves more than MARGIN, a share of the time."""
        case = (inputs, fixed // DEPTH_STEP)
        if self._last is None or self._last[0] != case:
            self._last = (case, self._compare(inputs, fixed))
        return self._last[1]

    def _compare(self, inputs: int, fixed: int) -> Decision:
        if_kept = self.pass_seconds(1, fixed + inputs)
        if_rerun = self.pass_seconds(inputs + 1, fixed)
        if if_kept is None or if_rerun is None:
            return Decision(True, "not measured yet")
        reason = f"next step {if_kept * 1e3:.2f} ms if kept, {if_rerun * 1e3:.2f} ms if run again"
        return Decision(if_rerun >= if_kept * (1 - MARGIN), reason)


class PartialFixed:
    """Partial-fixed caching of one answer: its pending tokens, which the next step must run again."""

    def __init__(self, policy: CachingPolicy, max_batch: int) -> None:
        """Start without pending tokens. `max_batch`: the most tokens of one pass."""
        self.policy = policy
        self.max_batch = max_batch
        self.pending: tuple[int, ...] = ()

    def inputs(self, newest: int) -> tuple[int, ...]:
        """Return the coming step's input tokens: all that are not cached, the newest last."""
        return (*self.pending, newest)

    def forget_pending(self) -> None:
        """Forget the pending tokens, because the cache holds them now."""
        self.pending = ()

    def decide_step(self, tokens: tuple[int, ...], inputs: int, fixed: int) -> Decision:
        """Decide whether a step's tokens stay in the cache, and make them pending if they do not.

        `tokens`: the step's `inputs` input tokens and the accepted part of the draft behind them, for which the
        decision holds too. `fixed`: number of tokens cached before the step.
        """
        decision = self.policy.decide(inputs, fixed)
        if not decision.keep and len(tokens) >= self.max_batch:
            decision = Decision(True, f"a pass takes {self.max_batch} tokens at most")
        self.pending = () if decision.keep else tokens
        return decision
