"""Choose the library that computes a model: the requested one, or the one that is known to be faster.

In idle time a trial times the library that does not compute. This module loads no library.
"""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from common.failures import Failure
from common.files import make_private_folder
from common.folders import cache_folder
from common.sentences import Sentence
from engine.costs.cost_model import Timings
from engine.costs.cost_prior import ModelTraits, prior_timings
from engine.costs.measurements import timings_of_package
from engine.loading.crash_mark import CrashMark
from engine.loading.libraries import PACKAGES, installed, llama_missing
from engine.machine import library_version
from engine.protocol.requests import BackendName, BackendWish, FlashAttention
from engine.run_subprocess import run_engine_command
from engine.runtime.contexts import flash_attention_suffix
from engine.runtime.graph.dimensions import refusal as graph_refusal
from engine.runtime.ik import needs
from models.header import Header
from models.identity import file_identity
from models.shapes import KVType, shapes_of

log = logging.getLogger("engine.library_choice")

FASTER = 1.05  # speed-up that ik_llama.cpp must reach: two calibrations of one library differ by less
RETRY_AFTER = 60.0  # seconds
MOST_ATTEMPTS = 3  # of a trial: the machine may always be busy, or have no memory for the model
MORE_SHARE = 0.1  # of the usable memory: what keys and values outside of sliding windows may take
NO_SLOWER = 0.9  # lowest speed-up of each kind of pass: two calibrations differ by as much on a busy machine

CRASHED, LLAMA_CRASHED = Sentence.of("choice.crashed"), Sentence.of("choice.llama_crashed")
NOT_TIMED = Sentence.of("choice.not_timed")
SLOWER = Sentence.of("choice.slower")
NOT_READY = Sentence.of("choice.not_ready")
SEES = Sentence.of("choice.sees")


@dataclass(frozen=True, slots=True)
class LibraryChoice:
    """The library that computes a model, and why.

    `note`: why it is not the requested library, or not the usual one. `trial`: the other library, to be timed, where
    its speed would matter. `mark`: the mark that a crash sets.
    """

    name: BackendName
    note: Sentence | None = None
    trial: BackendName | None = None
    mark: CrashMark | None = None


def choose(
    requested: BackendWish | None,
    header: Header,
    threads: int,
    kv_type: KVType,
    flash_attention: FlashAttention = "auto",
) -> LibraryChoice:
    """Choose the library for a model.

    ik_llama.cpp: if it is requested and can compute the model, or, with "auto" and None, if it is faster as far as is
    known. Our own graph: only if it is requested and can compute the model. Else llama.cpp; while llama.cpp is not
    installed, ik_llama.cpp takes the place of both.

    A mark that a library crashed with this model counts with "auto" and None only: a user who requests it by name has
    it tried again. Raises Failure if the model needs a library that is not installed yet.
    """
    if not installed("llama") and needs.library_file():
        return _without_llama(requested, header, kv_type)
    llama = LibraryChoice("llama", mark=crash_mark(header, "llama"))
    if requested == "llama":
        return llama
    if requested == "graph":
        refusal = graph_refusal(header)
        return replace(llama, note=refusal) if refusal else LibraryChoice("graph")
    refusal = needs.refusal(header, kv_type)
    if refusal:
        return replace(llama, note=refusal if requested == "ik" or needs.supports(header) else None)
    ik = LibraryChoice("ik", mark=crash_mark(header, "ik"))
    if requested == "ik":
        return ik
    if has_crashed(ik):
        return replace(llama, note=CRASHED)
    if has_crashed(llama):
        return replace(ik, note=LLAMA_CRASHED)
    known = faster_as_timed(identity_of(header), threads, kv_type, flash_attention)
    # A timing of this machine must not be compared with a prior: both come from timings, or both from priors.
    name = known or _faster_by_prior(header, kv_type)
    if name == "ik":
        return replace(ik, trial="llama")
    return replace(llama, note=SLOWER if known else NOT_TIMED, trial="ik")


def choose_small_caches(
    choice: LibraryChoice, header: Header, kv_type: KVType, n_ctx: int, usable: int
) -> LibraryChoice:
    """Return llama.cpp instead of ik_llama.cpp where its caches of sliding windows are much smaller.

    llama.cpp keeps the tokens of a window alone, ik_llama.cpp keeps all `n_ctx` tokens in every layer: being faster may
    cost MORE_SHARE of the `usable` bytes. A choice that the user requested by name is not to be given to this function.
    """
    try:
        shapes = shapes_of(header)
    except Failure:  # the header leaves shapes open
        return choice
    more = shapes.kv_bytes_per_token(kv_type) * n_ctx - shapes.kv_bytes_read(n_ctx, kv_type)
    llama = LibraryChoice("llama", mark=crash_mark(header, "llama"))
    if choice.name != "ik" or more <= usable * MORE_SHARE or has_crashed(llama) or not installed("llama"):
        return choice
    return llama


def choose_mapping(choice: LibraryChoice, headers: Sequence[Header], usable: int) -> LibraryChoice:
    """Return llama.cpp instead of ik_llama.cpp for a model whose files are larger than the `usable` bytes of memory.

    llama.cpp can leave the weights in the mapped files, ik_llama.cpp as it is used here reads all of them. A choice
    that the user requested by name is not to be given to this function.
    """
    llama = LibraryChoice("llama", mark=crash_mark(headers[0], "llama"))
    larger = sum(header.file_bytes for header in headers) > usable
    return llama if choice.name == "ik" and larger and not has_crashed(llama) and installed("llama") else choice


def choose_seeing(choice: LibraryChoice, header: Header) -> LibraryChoice:
    """Return llama.cpp, which alone can show pictures to a model, in place of another library.

    Not to be called for a choice that the user requested by name, nor for a model without a projector.
    """
    llama = LibraryChoice("llama", SEES, mark=crash_mark(header, "llama"))
    if choice.name == "llama":
        return replace(choice, trial=None)
    return choice if has_crashed(llama) or not installed("llama") else llama


def choose_after_crash(
    crashed: LibraryChoice, requested: BackendWish | None, header: Header, kv_type: KVType
) -> LibraryChoice | None:
    """Choose the other library after the chosen one has crashed with the model in this load.

    Returns None if a library was requested by name, or the other one cannot compute the model or crashed too. Raises
    Failure if the other one is not installed yet.
    """
    if requested not in (None, "auto"):
        return None
    if crashed.name == "ik":
        if not installed("llama"):
            raise llama_missing(Sentence.of("ik.crashed"))
        llama = LibraryChoice("llama", CRASHED, mark=crash_mark(header, "llama"))
        return None if has_crashed(llama) else llama
    ik = LibraryChoice("ik", LLAMA_CRASHED, mark=crash_mark(header, "ik"))
    return None if needs.refusal(header, kv_type) or has_crashed(ik) else ik


def choose_after_refusal(refused: LibraryChoice, requested: BackendWish | None, header: Header) -> LibraryChoice | None:
    """Choose llama.cpp after ik_llama.cpp, which knows fewer layouts of some architectures, refused the file.

    Returns None if llama.cpp was the one that refused it, if ik_llama.cpp was requested by name, or if llama.cpp is not
    installed yet or crashed with the model.
    """
    llama = LibraryChoice("llama", mark=crash_mark(header, "llama"))
    asked = requested not in (None, "auto")
    return None if refused.name != "ik" or asked or not installed("llama") or has_crashed(llama) else llama


def has_crashed(choice: LibraryChoice) -> bool:
    """Return whether the library is known to have crashed with this model."""
    return choice.mark is not None and choice.mark.is_set


def faster_as_timed(
    model: str, threads: int, kv_type: KVType, flash_attention: FlashAttention = "auto"
) -> BackendName | None:
    """Return the faster library for the model of this identity; None until both were timed with it on this machine."""
    way = flash_attention_suffix(flash_attention)
    return faster(*(timings_of_package(PACKAGES[name], model, threads, kv_type, way) for name in ("llama", "ik")))


def faster(llama: Timings | None, ik: Timings | None) -> BackendName | None:
    """Return the faster library by these timings; None if one of them is unknown."""
    if llama is None or ik is None:
        return None
    return "ik" if is_faster(ik, llama) else "llama"


def _faster_by_prior(header: Header, kv_type: KVType) -> BackendName | None:
    """Return the library that is faster by the prior timings; None of a mixture, with which neither was timed."""
    model = ModelTraits.of(header)
    if model is None or not model.is_dense:
        return None
    return faster(*(prior_timings(header, name, kv_type) for name in ("llama", "ik")))


def _without_llama(requested: BackendWish | None, header: Header, kv_type: KVType) -> LibraryChoice:
    refusal, mark = needs.refusal(header, kv_type), crash_mark(header, "ik")
    if refusal is None and mark.is_set and requested != "ik":
        refusal = Sentence.of("ik.crashed")
    if refusal:
        raise llama_missing(refusal)
    return LibraryChoice("ik", None if requested == "ik" else NOT_READY, mark=mark)


def is_faster(ik: Timings, llama: Timings) -> bool:
    """Return whether ik_llama.cpp is faster in passes of one token (plain decoding), of eight (drafts) and in prefill.

    The geometric mean of the three speed-ups must reach FASTER. Neither plain decoding nor prefill may be slower by
    more than two calibrations differ (NO_SLOWER), because every answer needs both, while drafting depends on the text.
    """
    one, eight = (
        llama_s / ik_s
        for llama_s, ik_s in zip(seconds_of_one_and_eight(llama), seconds_of_one_and_eight(ik), strict=True)
    )
    prompt = prompt_speed(ik) / prompt_speed(llama)
    return min(one, prompt) >= NO_SLOWER and (one * eight * prompt) ** (1 / 3) >= FASTER


def seconds_of_one_and_eight(timings: Timings) -> tuple[float, float]:
    """Return the seconds of a pass of one token and of eight, at the lower depth."""
    seconds = timings.pass_seconds[min(timings.pass_seconds)]
    return seconds[1], seconds[8]


def prompt_speed(timings: Timings) -> float:
    """Return the prefill speed in tokens per second, from the large pass."""
    return timings.large_tokens / timings.large_seconds


def crash_mark(header: Header, library: BackendName) -> CrashMark:
    """Return the crash mark of the installed version of a library with a model."""
    package = PACKAGES[library]
    return CrashMark(f"{package} {library_version(package)}", identity_of(header))


def identity_of(header: Header) -> str:
    """Return the identity of the file that the header was read from. Raises Failure if the file is gone."""
    return file_identity(header.path, header.data_offset)


@contextmanager
def trial_folder() -> Iterator[Path]:
    """Create the folder where a process that times a library may put a copy of a model; delete the folder afterwards.

    The process that started the trial uses this too, because the timing process may be killed at any time.
    """
    folder = cache_folder() / "trial"
    make_private_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class BackendTrial:
    """A trial: times the library that does not compute the loaded model in idle time, so that the next load can choose.

    `path` is the model's file and `name` the library to time; `threads` as in the `CalibrationKey`. The trial's own
    process finds out whether it was timed before.
    """

    def __init__(
        self, path: Path, name: BackendName, threads: int, kv_type: KVType, flash_attention: FlashAttention = "auto"
    ) -> None:
        self._command = ["calibrate", "--spare", "--backend", name, "--model", str(path)]
        self._command += ["--kv-type", kv_type, "--flash-attention", flash_attention]
        self._command += ["--threads", str(threads)] if threads else []
        self._attempts = MOST_ATTEMPTS
        self._not_before = -math.inf

    def measure(self) -> Iterator[None]:
        """Time the library now, in a process that ends with this iterator; do nothing soon after the last attempt."""
        if not self._attempts or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + RETRY_AFTER
        try:
            with trial_folder(), closing(run_engine_command(*self._command)) as process:
                for code in process:
                    if code is None:
                        yield
                    else:
                        self._attempts = self._attempts - 1 if code else 0
                        log.info("the other library's calibration ended with code %d", code)
        except OSError as error:  # a full disk has no room for the folder
            self._attempts -= 1
            log.warning("the other library cannot be timed: %s", error.strerror)
