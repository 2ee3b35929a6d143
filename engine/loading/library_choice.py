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
from common.planning import KVType
from common.sentences import Sentence
from engine.costs.cost_model import Timings
from engine.costs.cost_prior import ModelTraits, prior_timings
from engine.costs.measurements import timings_of_package
from engine.devices.device import ON_PROCESSOR, Placement
from engine.loading.crash_mark import CrashMark
from engine.loading.first_look import LibraryCrashed
from engine.loading.libraries import PACKAGES, installed, llama_missing
from engine.loading.memory_search import COMFORTABLE, MOST_BY_DEFAULT
from engine.loading.options import LoadOptions
from engine.machine import library_version
from engine.protocol.requests import BackendName, BackendWish, FlashAttention
from engine.run_subprocess import run_engine_command
from engine.runtime.graph.dimensions import refusal as graph_refusal
from engine.runtime.ik import needs
from models.header import Header
from models.identity import file_identity
from models.shapes import shapes_of

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

    @property
    def has_crashed(self) -> bool:
        """Whether the library is known to have crashed with this model."""
        return self.mark is not None and self.mark.is_set


def choose(options: LoadOptions, headers: Sequence[Header], usable: int, sees: bool = False) -> LibraryChoice:
    """Choose the library for the model with these headers, which may take `usable` bytes of memory.

    A library that the user requests by name computes the model if it can; that it crashed with the model before counts
    only where none is requested. Then llama.cpp computes what ik_llama.cpp cannot, what would take ik_llama.cpp far
    more memory, and models that see (`sees`: there is a projector); otherwise the library that is faster as far as is
    known. While llama.cpp is not installed, ik_llama.cpp takes its place.

    Raises Failure if the model needs a library that is not installed yet.
    """
    requested, header, kv_type = options.requested_backend, headers[0], options.assumed_kv_type
    llama, ik = (LibraryChoice(name, mark=crash_mark(header, name)) for name in PACKAGES)
    refusal = needs.refusal(header, kv_type)
    if not installed("llama") and needs.library_file():
        return _without_llama(requested, ik, refusal)
    if requested == "llama":
        return llama
    if requested == "graph":
        no_graph = graph_refusal(header)
        return replace(llama, note=no_graph) if no_graph else LibraryChoice("graph")
    if refusal:
        return replace(llama, note=refusal if requested == "ik" or needs.supports(header) else None)
    if requested == "ik":
        return ik
    if ik.has_crashed:
        return replace(llama, note=CRASHED)
    if llama.has_crashed:
        return replace(ik, note=LLAMA_CRASHED)
    known = faster_as_timed(identity_of(header), options)
    # A timing of this machine must not be compared with a prior: both come from timings, or both from priors.
    if (known or _faster_by_prior(header, kv_type)) != "ik":
        return replace(llama, note=SLOWER if known else NOT_TIMED, trial=None if sees else "ik")
    if takes_far_less_with_llama(options, headers, usable):
        return llama
    return replace(llama, note=SEES) if sees else replace(ik, trial="llama")


def _without_llama(requested: BackendWish | None, ik: LibraryChoice, refusal: Sentence | None) -> LibraryChoice:
    """Return ik_llama.cpp, the only library that is installed. Raises Failure if it cannot compute the model."""
    if refusal is None and ik.has_crashed and requested != "ik":
        refusal = Sentence.of("ik.crashed")
    if refusal:
        raise llama_missing(refusal)
    return ik if requested == "ik" else replace(ik, note=NOT_READY)


def takes_far_less_with_llama(options: LoadOptions, headers: Sequence[Header], usable: int) -> bool:
    """Return whether ik_llama.cpp would take far more of the `usable` bytes of memory than llama.cpp.

    llama.cpp can leave weights that are larger than the memory in the mapped files; ik_llama.cpp as it is used here
    reads all of them. llama.cpp keeps the tokens of a sliding window alone; ik_llama.cpp keeps all tokens of the
    context in every layer, and being faster may cost MORE_SHARE of the memory.
    """
    if sum(header.file_bytes for header in headers) > usable:
        return True
    try:
        shapes = shapes_of(headers[0])
    except Failure:  # the header leaves shapes open
        return False
    kv_type = options.assumed_kv_type
    n_ctx = min(options.n_ctx or MOST_BY_DEFAULT, headers[0].n_ctx_train or COMFORTABLE)
    more = shapes.kv_bytes_per_token(kv_type) * n_ctx - shapes.kv_bytes_read(n_ctx, kv_type)
    return more > usable * MORE_SHARE


def choose_after(failure: Failure, failed: LibraryChoice, options: LoadOptions, header: Header) -> LibraryChoice | None:
    """Choose the other library after the chosen one crashed with the model in this load or refused its file.

    llama.cpp follows ik_llama.cpp, which knows fewer layouts of some architectures. Returns None if a library was
    requested by name, if llama.cpp refused the file, or if the other one cannot compute the model or crashed too.
    Raises Failure if the other one is not installed yet.
    """
    crashed = isinstance(failure, LibraryCrashed)
    if options.requested_backend not in (None, "auto") or (failed.name != "ik" and not crashed):
        return None
    if failed.name != "ik":
        other = LibraryChoice("ik", LLAMA_CRASHED, mark=crash_mark(header, "ik"))
        return None if needs.refusal(header, options.assumed_kv_type) or other.has_crashed else other
    if not installed("llama"):
        if crashed:
            raise llama_missing(Sentence.of("ik.crashed"))
        return None
    other = LibraryChoice("llama", CRASHED if crashed else None, mark=crash_mark(header, "llama"))
    return None if other.has_crashed else other


def faster_as_timed(model: str, options: LoadOptions) -> BackendName | None:
    """Return the faster library for the model of this identity; None until both were timed with it on this machine."""
    key = model, options.key_threads, options.assumed_kv_type, options.way
    return faster(*(timings_of_package(package, *key) for package in PACKAGES.values()))


def _faster_by_prior(header: Header, kv_type: KVType) -> BackendName | None:
    """Return the library that is faster by the prior timings; None of a mixture, with which neither was timed."""
    model = ModelTraits.of(header)
    if model is None or not model.is_dense:
        return None
    return faster(*(prior_timings(header, name, kv_type) for name in PACKAGES))


def faster(llama: Timings | None, ik: Timings | None) -> BackendName | None:
    """Return the faster library by these timings; None if one of them is unknown.

    ik_llama.cpp must be faster in passes of one token (plain decoding), of eight (drafts) and in prefill: the geometric
    mean of the three speed-ups must reach FASTER. Neither plain decoding nor prefill may be slower by more than two
    calibrations differ (NO_SLOWER), because every answer needs both, while drafting depends on the text.
    """
    if llama is None or ik is None:
        return None
    one, eight = (llama.shallow[tokens] / ik.shallow[tokens] for tokens in (1, 8))
    prompt = ik.prompt_speed / llama.prompt_speed
    is_faster = min(one, prompt) >= NO_SLOWER and (one * eight * prompt) ** (1 / 3) >= FASTER
    return "ik" if is_faster else "llama"


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

    `path` is the model's file and `name` the library to time; `threads` as in the `CalibrationKey`; with a device in
    `placement`, the library is timed with it. The trial's own process finds out whether it was timed before.
    """

    def __init__(
        self,
        path: Path,
        name: BackendName,
        threads: int,
        kv_type: KVType,
        flash_attention: FlashAttention = "auto",
        placement: Placement = ON_PROCESSOR,
    ) -> None:
        self._command = ["calibrate", "--spare", "--backend", name, "--model", str(path)]
        self._command += ["--kv-type", kv_type, "--flash-attention", flash_attention]
        self._command += ["--threads", str(threads)] if threads else []
        if placement.device:
            self._command += ["--device", placement.device.id, "--device-layers", str(placement.layers)]
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
