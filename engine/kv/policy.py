"""Partial-fixed KV caching: before each step, are the keys and values of its input tokens to be kept?

Tokens whose keys and values are kept are *fixed*; output tokens that are not are *pending* and run again with the next
step. Which way is cheaper is the policy's judgement; the output is the same. Knows no target: times come from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.protocol import KVPolicy

JUDGED_TOGETHER = 16  # tokens of depth


@dataclass(frozen=True, slots=True)
class Decision:
    """Keep the step's input tokens or not, and why, with the numbers compared."""

    keep: bool
    reason: str


class Policy(Protocol):
    """`inputs`: input tokens of the coming step (pending and the newest); `fixed`: tokens whose KV is kept."""

    @property
    def name(self) -> KVPolicy:
        """What the policy is asked for by."""

    def decide(self, inputs: int, fixed: int, /) -> Decision:
        """Are the input tokens' keys and values worth keeping?"""


class Always:
    """Ordinary KV caching."""

    name: KVPolicy = "always"

    def decide(self, _inputs: int, _fixed: int, /) -> Decision:
        """Yes."""
        return Decision(True, "always")


class Peaks(Protocol):
    """What the published rule compares, from theoretical peaks (methods: `nt`, `td`, `tl`)."""

    @property
    def nt(self) -> float:
        """Tokens that the machine runs in the time of one."""

    @property
    def td(self) -> Callable[[int], float]:
        """Seconds to run so many input tokens at peak compute."""

    @property
    def tl(self) -> Callable[[int], float]:
        """Seconds to load so many fixed keys and values at full memory bandwidth."""


@dataclass(frozen=True, slots=True)
class Published:
    """The rule as published, on theoretical peaks (methods: `nt`, `td`, `tl`).

    `nt`: tokens the machine runs in the time of one. `td(inputs)`: seconds to run the input tokens at peak compute.
    `tl(fixed)`: seconds to load the fixed keys and values at full memory bandwidth.
    """

    nt: float
    td: Callable[[int], float]
    tl: Callable[[int], float]
    name: KVPolicy = "published"

    def decide(self, inputs: int, fixed: int, /) -> Decision:
        """No for up to `nt` inputs, and as long as loading the fixed takes longer than running the inputs again."""
        if inputs <= self.nt:
            return Decision(False, f"{inputs} inputs ≤ nt {self.nt:.1f}")
        td, tl = self.td(inputs), self.tl(fixed)
        if td < tl:
            return Decision(False, f"td {td * 1e3:.3f} ms < tl {tl * 1e3:.3f} ms")
        return Decision(True, f"{inputs} inputs > nt {self.nt:.1f} and td {td * 1e3:.3f} ms ≥ tl {tl * 1e3:.3f} ms")


class PassCosts(Protocol):
    """What is known of passes (`engine.costs.measurements`)."""

    def pass_seconds(self, inputs: int, depth: int, /) -> float | None:
        """Seconds of a pass of `inputs` tokens after `depth` cached ones, None where nothing was measured."""

    def peaks(self) -> Peaks | None:
        """For the published rule; None where they are not known."""


def policy_for(name: KVPolicy, costs: PassCosts, can_truncate: bool) -> Policy:
    """The policy of that name for this model and machine; `always` for a model that cannot do otherwise.

    `can_truncate`: tokens can be taken out of its cache."""
    peaks = costs.peaks() if name == "published" and can_truncate else None
    if name == "always" or not can_truncate or (name == "published" and peaks is None):
        return Always()
    return Published(peaks.nt, peaks.td, peaks.tl) if peaks else Measured(costs.pass_seconds)


class Measured:
    """The same judgement on measured times of the very passes compared.

    `pass_seconds(k, depth)`: seconds of a pass of k tokens after `depth` cached ones, None where nothing was measured.
    Keeping costs the next step one token after more cached ones; not keeping costs it all pending tokens again. It must
    promise more than the measurements' own noise to be worth leaving the ordinary way. A judgement holds for a few
    tokens of depth, in which neither time changes: between two passes nothing is in the processor's caches, and
    judging anew would take 30 µs of each step.
    """

    name: KVPolicy = "measured"

    def __init__(self, pass_seconds: Callable[[int, int], float | None], margin: float = 0.02) -> None:
        self.pass_seconds = pass_seconds
        self.margin = margin
        self._last: tuple[tuple[int, int], Decision] | None = None

    def decide(self, inputs: int, fixed: int, /) -> Decision:
        """No where running the inputs again is cheaper by more than `margin`, as a share of the time."""
        case = (inputs, fixed // JUDGED_TOGETHER)
        if self._last is None or self._last[0] != case:
            self._last = (case, self._judge(inputs, fixed))
        return self._last[1]

    def _judge(self, inputs: int, fixed: int) -> Decision:
        kept = self.pass_seconds(1, fixed + inputs)
        again = self.pass_seconds(inputs + 1, fixed)
        if kept is None or again is None:
            return Decision(True, "not measured yet")
        reason = f"next step {kept * 1e3:.2f} ms if kept, {again * 1e3:.2f} ms if run again"
        return Decision(again >= kept * (1 - self.margin), reason)


class PartialFixed:
    """Which tokens of the answer are pending; the decode loop asks it what to run and what to keep."""

    def __init__(self, policy: Policy, max_batch: int) -> None:
        """`max_batch`: tokens of the largest pass."""
        self.policy = policy
        self.max_batch = max_batch
        self.pending: tuple[int, ...] = ()

    def inputs(self, newest: int) -> tuple[int, ...]:
        """The coming step's input: everything that is not cached, newest last."""
        return (*self.pending, newest)

    def settle(self, tokens: tuple[int, ...], inputs: int, fixed: int) -> Decision:
        """Decide on a step's `inputs` input tokens, after `fixed` cached ones; they are pending afterwards if not kept.

        `tokens` are these inputs and the accepted part of a draft behind them, which shares their fate."""
        decision = self.policy.decide(inputs, fixed)
        if not decision.keep and len(tokens) >= self.max_batch:
            decision = Decision(True, f"a pass takes {self.max_batch} tokens at most")
        self.pending = () if decision.keep else tokens
        return decision
