"""Correct before fast: the logits of a model on a device are compared with the processor's before the device is used.

A process of its own compares, because the driver may crash or hang. A device that does, or computes wrong numbers, is
refused until its driver changes. This module loads no library before `compare`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import closing, suppress

import msgspec
import numpy as np
from numpy.typing import NDArray

from common.store import Store
from engine.devices.device import ON_PROCESSOR, Placement
from engine.devices.look import Ended, refuse, running
from engine.loading.first_look import Headers
from engine.loading.libraries import PACKAGES, backend
from engine.loading.library_choice import identity_of
from engine.machine import default_threads, library_version
from engine.runtime.contexts import MAX_LOGITS, ContextOptions
from engine.stop import StopFlag, Stopped
from models.header import Header

log = logging.getLogger("engine.devices")

LONGEST_SECONDS = 300.0  # two loads, and a hundred tokens that even a slow device reads in seconds
# Relative distance of two rows of logits. The same model differs by 0.01 to 0.04 between kernels that round in another
# way (docs/notes/graphics.md); a wrong product gives 1 and more.
FARTHEST = 0.15
NO_NUMBER = 1e9  # distance of what is no number, which JSON cannot express
MOST_OTHERS = 1 / 8  # share of rows whose most likely token may be another: two tokens may be as likely
ONE_BY_ONE = 8  # tokens, in passes of one
CONTEXT = 256
TEXT = """The chickadee is a small bird that stays through the winter. It hides thousands of seeds, each in a place of
its own, and finds them again weeks later. How does it remember? Researchers have counted the cells: in autumn a part
of its brain grows by a third. The list below sums up what they found.

def seeds(places: list[str]) -> dict[str, int]:
    return {place: len(place) for place in places if place.isalpha()}
"""


class Verdict(msgspec.Struct, frozen=True):
    """The result of a comparison: the largest relative distance of a row, and the share of other top tokens."""

    distance: float
    others: float

    @property
    def is_right(self) -> bool:
        """Whether the device computes what the processor computes."""
        return self.distance <= FARTHEST and self.others <= MOST_OTHERS


VERDICTS = Store("device-checks", 1, Verdict)


def verdict(header: Header, placement: Placement) -> Verdict | None:
    """Return the verdict on this model in this placement with the driver of now; None before a check."""
    return VERDICTS.get(*_key(header, placement))


def checking(header: Header, placement: Placement, longest: float = LONGEST_SECONDS) -> Generator[None, None, bool]:
    """Check the placement unless that was done, yielding meanwhile; return whether the device may be used.

    A device that crashes, hangs or computes wrong numbers is refused. Closing the generator ends the check.
    """
    known = verdict(header, placement)
    if known is None:
        placed = msgspec.json.encode(placement).decode()
        ended = yield from running("devices", "--check", str(header.path.absolute()), placed, longest=longest)
        known = _judge(placement, ended)
        if known and known.is_right:
            with suppress(OSError):  # without a cache folder it is checked again
                VERDICTS.put(known, *_key(header, placement))
    return bool(known and known.is_right)


def is_right(header: Header, placement: Placement, stopped: Callable[[], bool]) -> bool:
    """Return whether the device may be used, checking it now if that was not done. Raises Stopped."""
    with closing(checking(header, placement)) as work:
        while True:
            try:
                next(work)
            except StopIteration as done:
                return bool(done.value)
            if stopped():
                raise Stopped


def _judge(placement: Placement, ended: Ended) -> Verdict | None:
    assert placement.device, placement
    try:
        found = None if ended.problem else msgspec.json.decode(ended.printed, type=Verdict | None)
    except msgspec.MsgspecError:  # it was killed while it printed
        return None
    if ended.problem:
        refuse(placement.device, ended.problem)
    if found is None:
        return None  # there was no memory, or no such device: that says nothing about its numbers
    log.info("%s: distance %.3f, other top tokens %.3f", placement.device.description, found.distance, found.others)
    if not found.is_right:
        refuse(placement.device, "wrong_numbers")
    return found


def _key(header: Header, placement: Placement) -> tuple[object, ...]:
    assert placement.device, placement
    device, version = placement.device, library_version(PACKAGES["llama"])
    return identity_of(header), placement.way, device.id, device.driver, version


# --- in the process that compares ---


def compare(headers: Headers, placement: Placement) -> Verdict:
    """Compute the same tokens on the processor and in the placement. Raises Failure where memory is short."""
    right, other = (_rows(headers, where) for where in (ON_PROCESSOR, placement))
    deviation = np.linalg.norm(other - right, axis=1) / np.linalg.norm(
        right - right.mean(axis=1, keepdims=True), axis=1
    )
    deviation = np.nan_to_num(deviation, nan=NO_NUMBER, posinf=NO_NUMBER)
    return Verdict(float(deviation.max()), float((other.argmax(axis=1) != right.argmax(axis=1)).mean()))


def _rows(headers: Headers, placement: Placement) -> NDArray[np.float32]:
    """Return rows of logits: of the end of a text that is read in one pass, then of tokens in passes of one."""
    library, stop = backend("llama"), StopFlag()
    placed = {"placement": placement} if placement.device else {}
    with (
        closing(library.load(headers, repack=False, **placed)) as model,
        closing(library.target(model, ContextOptions(CONTEXT, default_threads()), stop)) as target,
    ):
        tokens = model.vocabulary.tokenize(TEXT, False, add_bos=model.vocabulary.adds_bos)[: CONTEXT - ONE_BY_ONE]
        count = min(MAX_LOGITS, len(tokens) - ONE_BY_ONE)
        logits = target.forward(tokens[:-ONE_BY_ONE], count)
        rows = [np.array(logits.row(i)) for i in range(-count, 0)]
        rows += [np.array(target.forward([token]).row(-1)) for token in tokens[-ONE_BY_ONE:]]
    return np.stack(rows)
