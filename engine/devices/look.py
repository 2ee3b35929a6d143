"""The first look at devices: a process of its own asks the drivers. This module loads no library.

A driver may crash or hang as soon as it is loaded; then that process ends, and the processor computes. What a look has
found is stored until a driver changes, so that a start asks no driver.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal

import msgspec

from common.store import Store
from engine.devices.device import Device
from engine.devices.driver import driver_stamp
from engine.machine import library_version
from engine.run_subprocess import poll_exit_code, start_engine_command

log = logging.getLogger("engine.devices")

Problem = Literal["hung", "crashed", "wrong_numbers"]  # why a device is not used
LONGEST_SECONDS = 30.0  # a look takes half a second; a driver that compiles on a busy computer, some more
LAST_OUTPUT_BYTES = 2000


class Look(msgspec.Struct, frozen=True):
    """The devices that a look has found; `problem`: why it has found none."""

    devices: tuple[Device, ...] = ()
    problem: Problem | None = None


LOOKS = Store("devices", 1, Look)  # raise the version when a look tells more
REFUSED = Store("refused-devices", 1, Look)  # under a device's id and driver: its problem


def known_devices() -> Look | None:
    """Return what the last look with these drivers has found; None if there was none. Asks no driver."""
    return LOOKS.get(*_key())


def look_at_devices(longest: float = LONGEST_SECONDS) -> Look:
    """Return the devices of this computer, looking at them unless a look with the same drivers is stored."""
    work = looking(longest)
    while True:
        try:
            next(work)
        except StopIteration as done:
            look: Look = done.value
            return look


def looking(longest: float = LONGEST_SECONDS) -> Generator[None, None, Look]:
    """Look at the devices as `look_at_devices` does, and yield until it is done; closing the generator ends the look.

    A process that hangs or crashes is a `Problem`, and the look is not repeated.
    """
    known = known_devices()
    if known is not None:
        return known
    look = _look_of((yield from running("devices", "--look", longest=longest)))
    log.info("devices: %s", ", ".join(each.description for each in look.devices) or look.problem or "none")
    try:
        LOOKS.put(look, *_key())
    except OSError as error:  # the next start looks again
        log.info("devices: %s", error)
    return look


def refusal(device: Device) -> Problem | None:
    """Return why the device is not used with its driver of now; None if nothing is known against it."""
    kept = REFUSED.get(device.id, device.driver)
    return kept.problem if kept else None


def refuse(device: Device, problem: Problem) -> None:
    """Store that the device is not to be used until its driver changes."""
    log.warning("%s is not used: %s", device.description, problem)
    with contextlib.suppress(OSError):  # without a cache folder it is tried again
        REFUSED.put(Look(problem=problem), device.id, device.driver)


def _key() -> tuple[str, str]:
    return driver_stamp(), library_version("llama-cpp-python")


def _look_of(ended: Ended) -> Look:
    if ended.problem is None:
        try:
            return msgspec.json.decode(ended.printed, type=Look)
        except msgspec.MsgspecError as error:
            log.warning("the look at devices printed something else: %s", error)
    return Look(problem=ended.problem or "crashed")


# --- a process that uses a driver ---


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process that uses a driver: its exit code, None if it hung; what it printed."""

    code: int | None
    printed: bytes

    @property
    def problem(self) -> Problem | None:
        """Reason why nothing can be read from what it printed; None after a usual end."""
        return "hung" if self.code is None else "crashed" if self.code else None


def running(verb: str, *arguments: str, longest: float) -> Generator[None, None, Ended]:
    """Run an engine's command, yielding until it ends or has run for `longest` seconds, and return its end.

    The process is killed when the generator is closed.
    """
    until = time.monotonic() + longest
    # The process writes to files, because a full pipe would stop it until somebody reads.
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as output:
        with (
            start_engine_command(verb, *arguments, stdout=printed, stderr=output, own_group=True) as process,
            contextlib.closing(poll_exit_code(process)) as codes,
        ):
            for code in codes:
                if code is not None or time.monotonic() > until:
                    break
                yield
        printed.seek(0)
        output.seek(max(0, output.seek(0, 2) - LAST_OUTPUT_BYTES))
        if code != 0:
            log.warning("%s %s: code %s: %s", verb, arguments[0], code, output.read().decode(errors="replace"))
        return Ended(code, printed.read())
