"""Which layer of a model drafts best, and does that pay? Worked out from agreement and costs, kept. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from common.store import Store
from engine.costs.calibrated import Key
from engine.speculative.mid_layer import Exit
from models.failures import Failure
from models.header import Header

KEY = "chickadee.exit_layer"  # metadata of a file whose model was trained to be left after so many layers
MOST_AHEAD = 8  # tokens
PAYS = 1.05  # a gain below is within the noise of the costs

Agreed = Sequence[Sequence[bool]]  # of each answer: did the layer say the token that came?


class Gain(msgspec.Struct, frozen=True):
    """Plain decoding's time over that of always drafting so many tokens `ahead`, the best number."""

    speedup: float
    ahead: int


class ExitFound(msgspec.Struct, frozen=True):
    """`agreement`: share of tokens; `look`: seconds of a look ahead over those of a plain pass. `here`: on this
    machine; `laptop`: where memory bandwidth is the limit."""

    layers: int
    agreement: float
    look: float
    here: Gain
    laptop: Gain


class Exits(msgspec.Struct, frozen=True):
    """What was measured over so many `tokens` of the model's own answers."""

    key: Key
    tokens: int
    found: tuple[ExitFound, ...]

    @property
    def best(self) -> ExitFound:
        return max(self.found, key=lambda each: each.here.speedup)

    @property
    def pays(self) -> bool:
        return self.best.here.speedup >= PAYS


EXITS = Store("exits", 2, Exits)


def gain(agreed: Agreed, exit: Exit, c: Callable[[int], float], look: float) -> Gain:
    """`c`: time of a pass of k tokens in plain steps; `look`: that of a look ahead. One always drafts as many tokens,
    or as many as the answer still has; the lower layers are not run again by the pass that verifies them."""

    def step(ahead: int) -> float:
        return ahead * look + c(1 + ahead) - exit.lower * (c(1 + ahead) - 1)

    best = Gain(0.0, 1)
    for ahead in range(1, MOST_AHEAD + 1):
        tokens = sum(len(answer) for answer in agreed)
        seconds = sum(step(drafted) if drafted else 1.0 for answer in agreed for drafted in drafts(answer, ahead))
        if tokens and tokens / seconds > best.speedup:
            best = Gain(tokens / seconds, ahead)
    return best


def drafts(answer: Sequence[bool], ahead: int) -> list[int]:
    """How many tokens each step of an answer drafts; of these the right ones come, and the target's own next one."""
    found, at = [], 0
    while at < len(answer):
        drafted = min(ahead, len(answer) - at - 1)
        right = next((i for i in range(drafted) if not answer[at + i]), drafted)
        found.append(drafted)
        at += right + 1
    return found


def candidates(layers: int, most: int = 12) -> list[int]:
    """Numbers of layers, about evenly spread from a quarter of `layers` to all but one."""
    first, last = max(1, layers // 4), layers - 1
    count = min(most, last - first + 1)
    return sorted({first + round(i * (last - first) / max(1, count - 1)) for i in range(count)} | {last})


def keep(exits: Exits) -> None:
    """Raises Failure where it cannot be written."""
    try:
        EXITS.put(exits, *_address(exits.key))
    except OSError as error:
        raise Failure("unwritable", f"What was found cannot be kept in {EXITS.folder}: {error.strerror}.") from error


def kept(key: Key) -> Exits | None:
    """What is kept for this model, machine and library; None if there is nothing usable."""
    found = EXITS.get(*_address(key))
    return found if found and found.key == key and found.found else None


def _address(key: Key) -> tuple[str, int, str]:
    return key.model, key.threads, key.build.partition(" ")[0]


def trained(header: Header) -> tuple[int, ...]:
    """The number of layers that the file's model was trained to be left after, if it was."""
    layers = header.metadata.get(KEY)
    return (layers,) if isinstance(layers, int) and not isinstance(layers, bool) and layers > 0 else ()
