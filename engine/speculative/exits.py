"""Stored measurements of drafting with a model's early layers, which `python -m benchmarks.midlayer` makes."""

from __future__ import annotations

import msgspec

from common.failures import Failure
from common.store import Store
from engine.costs.measurements import CalibrationKey
from models.header import Header

EXIT_LAYER_KEY = "chickadee.exit_layer"  # GGUF metadata: the layer that training made an exit of
MIN_SPEEDUP = 1.05  # smaller gains are within the noise of the costs


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
    found = EXITS.get(*_store_keys(key))
    return found if found and found.key == key and found.found else None


def _store_keys(key: CalibrationKey) -> tuple[str, int, str]:
    return key.model, key.threads, key.build.partition(" ")[0]


def trained_exits(header: Header) -> tuple[int, ...]:
    """Return the number of layers after which the file's model was trained to exit; empty if it was not."""
    layers = header.metadata.get(EXIT_LAYER_KEY)
    return (layers,) if isinstance(layers, int) and not isinstance(layers, bool) and layers > 0 else ()
