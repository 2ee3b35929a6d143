"""Which library computes a model: what was asked for, or what is known to be faster, which is tried in idle time.

Loads none of them."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from common.failures import Failure
from common.files import make_private_folder
from common.folders import cache_folder
from common.sentences import Sentence
from engine.costs.cost_model import Timings
from engine.costs.measurements import timings_with
from engine.costs.prior import prior
from engine.loading.crash_mark import CrashMark
from engine.loading.libraries import PACKAGES, installed
from engine.machine import library_version
from engine.protocol import BackendName, BackendWish
from engine.run_subprocess import run_apart
from engine.runtime.graph.dimensions import refusal as graph_refusal
from engine.runtime.ik import needs
from models.header import Header
from models.identity import file_identity
from models.shapes import KVType

log = logging.getLogger("engine.library_choice")

FASTER = 1.05  # so much faster ik_llama.cpp must be: less is within what two calibrations differ by
RETRY_AFTER = 60.0  # seconds
MOST_ATTEMPTS = 3  # of a trial, on a machine that is always busy, or of a model that there is no room for
NO_SLOWER = 0.9  # of each thing alone: calibrations of the same differ by as much on a busy machine

CRASHED = Sentence.of("choice.crashed")
NOT_TIMED = Sentence.of("choice.not_timed")
SLOWER = Sentence.of("choice.slower")
NOT_READY = Sentence.of("choice.not_ready")


@dataclass(frozen=True, slots=True)
class LibraryChoice:
    """`note`: why it is not what was asked for, or not the usual one. `trial`: the other one, to be timed, where
    its speed would matter. `mark`: what a crash sets."""

    name: BackendName
    note: Sentence | None = None
    trial: BackendName | None = None
    mark: CrashMark | None = None


def choose(wish: BackendWish | None, header: Header, threads: int, kv_type: KVType) -> LibraryChoice:
    """ik_llama.cpp where it is asked for and possible, or, with auto and None, faster as far as is known; our own graph
    only where it is asked for and possible; else llama.cpp. While that is not installed yet, ik_llama.cpp in place of
    both.

    A mark that it crashed with this model counts with auto only: who asks for it by name has it tried again. Raises
    Failure where the library that is needed is not installed yet."""
    if not installed("llama") and needs.library_file():
        return _without_llama(wish, header)
    if wish == "llama":
        return LibraryChoice("llama")
    if wish == "graph":
        refusal = graph_refusal(header)
        return LibraryChoice("llama", refusal) if refusal else LibraryChoice("graph")
    refusal = needs.refusal(header)
    if refusal:
        return LibraryChoice("llama", refusal)
    mark = crash_mark(header)
    if wish == "ik":
        return LibraryChoice("ik", mark=mark)
    if mark.is_set:
        return LibraryChoice("llama", CRASHED)
    known = faster_as_timed(mark.model, threads, kv_type)
    # What was timed here is not to be compared with what was timed elsewhere: both are guessed, or none.
    name = known or faster(*(prior(header, name, kv_type) for name in ("llama", "ik")))
    if name == "ik":
        return LibraryChoice("ik", trial="llama", mark=mark)
    return LibraryChoice("llama", SLOWER if known else NOT_TIMED, trial="ik")


def faster_as_timed(model: str, threads: int, kv_type: KVType) -> BackendName | None:
    """The library that is to compute the model of this identity, None until both were timed with it here."""
    return faster(*(timings_with(PACKAGES[name], model, threads, kv_type) for name in ("llama", "ik")))


def faster(llama: Timings | None, ik: Timings | None) -> BackendName | None:
    """None where one of them is not known."""
    if llama is None or ik is None:
        return None
    return "ik" if is_faster(ik, llama) else "llama"


def _without_llama(wish: BackendWish | None, header: Header) -> LibraryChoice:
    refusal, mark = needs.refusal(header), crash_mark(header)
    if refusal is None and mark.is_set and wish != "ik":
        refusal = Sentence.of("ik.crashed")
    if refusal:
        raise Failure("no_backend.for_model", reason=refusal)
    return LibraryChoice("ik", None if wish == "ik" else NOT_READY, mark=mark)


def is_faster(ik: Timings, llama: Timings) -> bool:
    """Is `ik` faster where it counts: passes of one token, as plain decoding runs, of eight, as drafts do, and prompts?

    The geometric mean of these speed-ups must reach FASTER, and neither plain decoding nor reading prompts be slower
    beyond what two calibrations differ by: drafting depends on the text, the other two never end."""
    one, eight = (llama_s / ik_s for llama_s, ik_s in zip(ones_and_eights(llama), ones_and_eights(ik), strict=True))
    prompt = prompt_speed(ik) / prompt_speed(llama)
    return min(one, prompt) >= NO_SLOWER and (one * eight * prompt) ** (1 / 3) >= FASTER


def ones_and_eights(timings: Timings) -> tuple[float, float]:
    """Seconds of a pass of one token and of eight, at the lower depth."""
    seconds = timings.pass_seconds[min(timings.pass_seconds)]
    return seconds[1], seconds[8]


def prompt_speed(timings: Timings) -> float:
    """Tokens per second of a pass as prompts are read in."""
    return timings.large_tokens / timings.large_seconds


def crash_mark(header: Header) -> CrashMark:
    """Of ik_llama.cpp, as it is installed, and a model."""
    version = library_version(PACKAGES["ik"])
    return CrashMark(f"{PACKAGES['ik']} {version}", file_identity(header.path, header.data_offset))


@contextmanager
def trial_folder() -> Iterator[Path]:
    """Where the process that times a library may leave a copy of a model; removed by whoever started it too, for it may
    be killed at any time."""
    folder = cache_folder() / "trial"
    make_private_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class BackendTrial:
    """The library that does not compute the loaded model, timed with it in idle time, for the next load to know the
    faster one.

    Of the model at `path` with `name`; whether it was timed before, its own process finds out."""

    def __init__(self, path: Path, name: BackendName, threads: int, kv_type: KVType) -> None:
        self._command = ["calibrate", "--spare", "--backend", name, "--model", str(path)]
        self._command += ["--threads", str(threads), "--kv-type", kv_type]
        self._attempts = MOST_ATTEMPTS
        self._not_before = -math.inf

    def measure(self) -> Iterator[None]:
        """Time it now, in a process that ends with this iterator."""
        if not self._attempts or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + RETRY_AFTER
        with trial_folder(), closing(run_apart(*self._command)) as process:
            for code in process:
                if code is None:
                    yield
                else:
                    self._attempts = self._attempts - 1 if code else 0
                    log.info("the other library's calibration ended with code %d", code)
