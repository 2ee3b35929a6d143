"""Mid-layer decoding: a lower layer of the target itself, followed by the target's own output head, drafts.

This is self-speculative decoding with an early exit (LayerSkip, arXiv:2404.16710; Draft & Verify, arXiv:2309.08168,
skips layers in between). The verifying pass does not compute the lower layers again for the draft's tokens, so a draft
costs less than the time that it takes. Whether it pays is measured by `python -m benchmarks.midlayer`, which stores its
results here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from common.failures import Failure
from common.sentences import Sentence
from common.store import Store
from engine.costs.cost_model import CostModel
from engine.costs.measurements import CalibrationKey
from engine.runtime.interface import EarlyExitRuntime, Runtime
from engine.speculative.writing import WriterTimes, WritingDrafter, likeliest
from models.header import Header
from models.shapes import Shapes

MIN_COST_SHARE = 0.02  # least cost of a drafted token, as a share of a look ahead: the output head
DEFAULT_EXIT_SHARE = 0.75  # of all layers, if no exit was measured; lower exits of untrained models agree too seldom
EXIT_LAYER_KEY = "chickadee.exit_layer"  # GGUF metadata: the layer that training made an exit of
MIN_SPEEDUP = 1.05  # smaller gains are within the noise of the costs


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit after `layers` layers of the target.

    `lower`: share of these layers in the work of all layers. `look`: work of one look ahead, output head included, as a
    share of a one-token pass.
    """

    layers: int
    lower: float
    look: float

    def __post_init__(self) -> None:
        assert 0 < self.lower < 1, self
        assert 0 < self.look <= 1, self


class MidLayer(WritingDrafter):
    """A `Drafter` that exits the target early. `costs()`: the target's cost model, None before passes were timed.

    It stops drafting once the probability that all tokens so far are right falls below the cost of one more token in
    plain steps.
    """

    name = "midlayer"

    def __init__(self, target: EarlyExitRuntime, exit: Exit, costs: Callable[[], CostModel | None]) -> None:
        assert exit.layers in target.exits, (exit, target.exits)
        super().__init__()
        self.target = target
        self.exit = exit
        self._costs = costs
        self._chat: list[int] = []
        self._times = WriterTimes(1)  # of looks ahead by one token
        self._min_reach = 0.0  # cost of one more token of the present draft in plain steps

    def begin(self, tokens: Sequence[int]) -> None:
        self._chat = list(tokens)
        self._uncharged_seconds = 0.0

    def extend(self, tokens: Sequence[int]) -> None:
        self._chat.extend(tokens)

    @property
    def cost(self) -> float:
        """Seconds per drafted token beyond those that verifying saves, because the lower layers have run by then."""
        return max(MIN_COST_SHARE * self.step_seconds, self.step_seconds - self._saved_seconds(2))

    @property
    def step_seconds(self) -> float:
        if self._times.step_seconds < math.inf:
            return self._times.step_seconds
        costs = self._costs()
        return self.exit.look * costs.pass_seconds(1, len(self._chat)) if costs else 0.0

    def _saved_seconds(self, inputs: int) -> float:
        """Return the seconds saved by a pass over `inputs` tokens whose lower layers have run for all but one."""
        costs, depth = self._costs(), len(self._chat)
        if costs is None:
            return 0.0
        return self.exit.lower * (costs.pass_seconds(inputs, depth, rows=1) - costs.pass_seconds(1, depth, rows=1))

    def _saved_by(self, drafted: int) -> float:
        return self._saved_seconds(len(self._chat) - self.target.size + drafted)

    def _should_stop(self, reach: float) -> bool:
        return reach < self._min_reach

    def write(self) -> Iterator[tuple[int, float]]:
        costs = self._costs()
        self._min_reach = self.cost / costs.pass_seconds(1, len(self._chat)) if costs else self.exit.look
        uncached = self._chat[self.target.size :]  # the newest token and pending ones before it
        while uncached:
            started = time.perf_counter()
            token, probability = likeliest(self.target.look_ahead(uncached, self.exit.layers).row())
            if len(uncached) == 1:
                self._times.record(1, time.perf_counter() - started)
            if self.target.vocabulary.is_end(token):
                return
            yield token, probability
            uncached = [token]


@dataclass
class EarlyExits:
    """The exits of a loaded model, and the drafters made of them.

    `costs()`: as for `MidLayer`. `best`: the best number of layers for this model, None if unknown; `pays`: whether its
    drafts pay. `why_not`: why another library computes the model although our own graph was asked for.
    """

    target: Runtime
    shapes: Shapes | None
    costs: Callable[[], CostModel | None]
    best: int | None = None
    pays: bool = False
    why_not: Sentence | None = None

    def __post_init__(self) -> None:
        self._drafters: dict[tuple[int, type[MidLayer]], MidLayer] = {}

    def drafter(self, layers: int | None, form: type[MidLayer] = MidLayer) -> MidLayer:
        """Return the drafter that exits after `layers` layers, or after the best number of them.

        Raises Failure if these layers cannot draft.
        """
        if not isinstance(self.target, EarlyExitRuntime):
            how = self.why_not or Sentence.of("no_early_exit.choose_graph")
            raise Failure("no_early_exit.other_library", how=how)
        if not self.target.exits:
            raise Failure("no_early_exit.whole_heads")
        most = self.target.exits[-1]
        best = self.best if self.best in self.target.exits else None
        count = layers or best or max(1, round(DEFAULT_EXIT_SHARE * (most + 1)))
        if count not in self.target.exits:
            raise Failure("no_such_layer.of_model", count=count, layers=most + 1, most=most)
        if (count, form) not in self._drafters:
            self._drafters[count, form] = form(self.target, exit_of(self.shapes, count, most + 1), self.costs)
        return self._drafters[count, form]

    def paying_drafters(self) -> tuple[MidLayer, ...]:
        """Return the best exit's drafter if its drafts were measured to pay, else an empty tuple."""
        exits = self.target.exits if isinstance(self.target, EarlyExitRuntime) else ()
        return (self.drafter(self.best),) if self.pays and self.best in exits else ()


def exit_of(shapes: Shapes | None, layers: int, of: int) -> Exit:
    """Return the exit after `layers` of `of` layers; its work is estimated by the weights that a token reads."""
    if shapes is None:
        return Exit(layers, layers / of, layers / of)
    weights = [layer.pass_bytes for layer in shapes.layers]
    lower, head = sum(weights[:layers]), shapes.output.pass_bytes
    return Exit(layers, lower / sum(weights), (lower + head) / (sum(weights) + head))


# --- stored measurements ---


class Gain(msgspec.Struct, frozen=True):
    """The highest speed-up over plain decoding, and the draft length `ahead` that reaches it."""

    speedup: float
    ahead: int


class ExitFound(msgspec.Struct, frozen=True):
    """Measurements of one exit.

    `agreement`: share of tokens that the exit predicts right. `look`: seconds of one look ahead divided by those of a
    plain pass. `here`: gain on this machine; `laptop`: gain where memory bandwidth is the limit.
    """

    layers: int
    agreement: float
    look: float
    here: Gain
    laptop: Gain


class Exits(msgspec.Struct, frozen=True):
    """Measurements of a model's exits over `tokens` tokens of its own answers."""

    key: CalibrationKey
    tokens: int
    found: tuple[ExitFound, ...]

    @property
    def best(self) -> ExitFound:
        """The fastest exit on this machine."""
        return max(self.found, key=lambda each: each.here.speedup)

    @property
    def pays(self) -> bool:
        """Whether the fastest exit beats plain decoding by more than the noise of the costs."""
        return self.best.here.speedup >= MIN_SPEEDUP


EXITS = Store("exits", 2, Exits)


def store_exits(exits: Exits) -> None:
    """Store measurements for later starts. Raises Failure if they cannot be written."""
    try:
        EXITS.put(exits, *_store_keys(exits.key))
    except OSError as error:
        raise Failure("unwritable.results", folder=EXITS.folder, reason=error.strerror) from error


def load_exits(key: CalibrationKey) -> Exits | None:
    """Load the measurements for this model, machine and library; None if there are no usable ones."""
    exits = EXITS.get(*_store_keys(key))
    return exits if exits and exits.key == key and exits.found else None


def _store_keys(key: CalibrationKey) -> tuple[str, int, str]:
    return key.model, key.threads, key.build.partition(" ")[0]


def trained_exits(header: Header) -> tuple[int, ...]:
    """Return the number of layers after which the file's model was trained to exit; empty if it was not."""
    layers = header.metadata.get(EXIT_LAYER_KEY)
    return (layers,) if isinstance(layers, int) and not isinstance(layers, bool) and layers > 0 else ()
