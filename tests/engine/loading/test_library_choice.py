"""The choice of a library: by request, by possibility, by timings, and never again one that crashed."""

from __future__ import annotations

import dataclasses
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import gguf
import pytest

from common.failures import Failure
from common.planning import Ask, KVType
from engine import machine as this_machine
from engine.base import OtherLibrary
from engine.costs.cost_model import Timings
from engine.costs.measurements import CalibrationKey, store_calibration
from engine.engine import Engine
from engine.loading import first_look, library_choice
from engine.loading.crash_mark import CrashMark, CrashWatch
from engine.loading.first_look import LibraryCrashed
from engine.loading.library_choice import (
    CRASHED,
    LLAMA_CRASHED,
    NOT_READY,
    NOT_TIMED,
    SEES,
    SLOWER,
    LibraryChoice,
    choose_after,
    crash_mark,
    faster,
    takes_far_less_with_llama,
)
from engine.loading.options import LoadOptions
from engine.loading.resolve import resolve
from engine.machine import fingerprint, library_version
from engine.protocol.requests import BackendName, BackendWish, Load
from engine.run_subprocess import start_engine_command
from engine.runtime.ik import needs
from models.default import default_model
from models.header import Header, read_header
from models.identity import file_identity
from models.planner import verdicts
from tests.engine.altered import STRING, USUAL, Value, write_altered
from tests.engine.asking import needs_ik
from tests.engine.conftest import write_gguf
from tests.engine.runtime.graph.tiny import Shape

installed = pytest.mark.skipif(needs.library_file() is None, reason="no wheel of ik_llama.cpp for this computer")
AUTO: tuple[BackendWish | None, ...] = (None, "auto")
REQUESTS: tuple[BackendWish | None, ...] = (*AUTO, "ik")


@pytest.fixture
def header(monkeypatch, tmp_path) -> Header:
    """Return the header of the default model, of which no timings are known yet."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(needs, "missing_features", list)  # what is chosen, not what this processor can do
    return read_header(default_model())


def choose(requested: BackendWish | None, header: Header, threads: int, kv_type: KVType) -> LibraryChoice:
    options = LoadOptions(header.path, backend=requested, kv_type=kv_type, threads=threads)
    return library_choice.choose(options, (header,), usable=1 << 40)


def timed(one: float, eight: float, prompt: float = 5.0) -> Timings:
    return Timings({16: {1: one, 8: eight}, 256: {1: 2 * one, 8: 2 * eight}}, 0.0, 512, prompt)


def know(header: Header, name: BackendName, timings: Timings, version: str | None = None, threads: int = 2) -> None:
    package = {"llama": "llama-cpp-python", "ik": "ik-llama-cpp-python"}[name]
    build = f"{package} {version or library_version(package)} 0123abcd; AVX = 1"
    store_calibration(
        CalibrationKey(file_identity(header.path, header.data_offset), threads, "f16", build, fingerprint()), timings
    )


@needs_ik
@pytest.mark.parametrize("type", [gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.Q4_1])
def test_norms_that_are_no_floats_of_32_bits_are_llama_cpps(header, type):
    """ik_llama.cpp aborts on norms of these types."""
    tensors = tuple(
        dataclasses.replace(each, type=int(type)) if len(each.shape) == 1 else each for each in header.tensors
    )
    assert needs.refusal(header) is None
    assert needs.refusal(dataclasses.replace(header, tensors=tensors))


def test_llama_cpp_by_name_needs_no_reason(header):
    choice = choose("llama", header, 2, "f16")
    assert (choice.name, choice.note, choice.trial) == ("llama", None, None)


def test_our_own_graph_only_by_name(header, tmp_path):
    choice = choose("graph", header, 2, "f16")
    assert (choice.name, choice.note, choice.trial) == ("graph", None, None)
    other = read_header(write_gguf(tmp_path / "other.gguf", "gemma3"))
    choice = choose("graph", other, 2, "f16")
    assert choice.name == "llama"
    assert "“gemma3”" in str(choice.note)


@installed
def test_without_timings_what_is_known_of_like_models_decides(header, monkeypatch):
    like = {"llama": timed(0.03, 0.2), "ik": timed(0.025, 0.1)}
    monkeypatch.setattr(library_choice, "prior_timings", lambda _header, name, _kv_type: like[name])
    for requested in AUTO:
        choice = choose(requested, header, 2, "f16")
        assert (choice.name, choice.note, choice.trial) == ("ik", None, "llama")
    like["ik"] = timed(0.04, 0.2)
    for requested in AUTO:
        choice = choose(requested, header, 2, "f16")
        assert (choice.name, choice.note, choice.trial) == ("llama", NOT_TIMED, "ik")
    assert choose("ik", header, 2, "f16").name == "ik"


@installed
def test_where_nothing_like_it_is_known_llama_cpp_computes_and_the_other_is_to_be_timed(header, monkeypatch):
    monkeypatch.setattr(library_choice, "prior_timings", lambda *_: None)
    for requested in AUTO:
        choice = choose(requested, header, 2, "f16")
        assert (choice.name, choice.note, choice.trial) == ("llama", NOT_TIMED, "ik")


@installed
def test_the_faster_one_of_this_model_threads_and_version(header, monkeypatch):
    monkeypatch.setattr(library_choice, "prior_timings", lambda *_: None)
    know(header, "llama", timed(0.03, 0.2))
    know(header, "ik", timed(0.025, 0.1))
    faster = choose("auto", header, 2, "f16")
    assert (faster.name, faster.note, faster.trial) == ("ik", None, "llama")
    assert choose("auto", header, 4, "f16").note == NOT_TIMED
    assert choose("auto", header, 2, "q8_0").note == NOT_TIMED
    know(header, "ik", timed(0.04, 0.2))
    assert choose("auto", header, 2, "f16").note == SLOWER
    know(header, "ik", timed(0.025, 0.1), version="0.0.1")
    assert choose("auto", header, 2, "f16").note == NOT_TIMED


def test_decoding_must_not_suffer_for_drafts():
    llama = timed(0.03, 0.2)
    assert faster(llama, timed(0.025, 0.1)) == "ik"
    assert faster(llama, timed(0.0305, 0.1)) == "ik"
    assert faster(llama, timed(0.034, 0.05)) == "llama"
    assert faster(llama, timed(0.0295, 0.196)) == "llama"


def test_reading_prompts_must_not_suffer_either():
    llama = timed(0.03, 0.2, prompt=5.0)
    assert faster(llama, timed(0.025, 0.1, prompt=5.1)) == "ik"
    assert faster(llama, timed(0.025, 0.1, prompt=6.0)) == "llama"


@pytest.mark.parametrize("requested", REQUESTS)
def test_what_cannot_be_is_said(header, monkeypatch, requested):
    def note(header: Header) -> str:
        choice = choose(requested, header, 2, "f16")
        assert choice.name == "llama"
        assert str(choice.note).endswith(".")
        return str(choice.note)

    with monkeypatch.context() as patch:
        patch.setattr(needs, "library_file", lambda: None)
        assert "not installed" in note(header)
    if needs.library_file() is None:
        return
    with monkeypatch.context() as patch:
        patch.setattr(needs, "missing_features", lambda: ["avx2", "fma"])
        assert "a processor with AVX2, FMA" in note(header)
    if requested == "ik":
        other = dataclasses.replace(header, metadata=header.metadata | {"general.architecture": "dodo"})
        assert "architecture “dodo”" in note(other)
    tensor = dataclasses.replace(header.tensors[0], type=40)
    assert "quantisation" in note(dataclasses.replace(header, tensors=(tensor,)))


@installed
@pytest.mark.parametrize("architecture", ["lfm2", "falcon-h1", "exaone4", "hunyuan-dense"])
@pytest.mark.parametrize("requested", REQUESTS)
def test_a_tokenizer_of_that_name_is_no_architecture(header, requested, architecture):
    """ik_llama.cpp tokenizes such a model's text but cannot compute the model, so it is never tried."""
    other = dataclasses.replace(header, metadata=header.metadata | {"general.architecture": architecture})
    choice = choose(requested, other, 2, "f16")
    sentence = f"ik_llama.cpp does not support the architecture “{architecture}” yet." if requested == "ik" else "None"
    assert (choice.name, str(choice.note), choice.trial) == ("llama", sentence, None)


@installed
@pytest.mark.parametrize("architecture", ["qwen35", "qwen35moe", "mamba"])
def test_recurrent_states_need_checkpoints(header, architecture):
    other = dataclasses.replace(header, metadata=header.metadata | {"general.architecture": architecture})
    choice = choose(None, other, 2, "f16")
    assert (choice.name, choice.note, choice.trial) == ("llama", None, None)


@installed
def test_where_whole_windows_do_not_fit_llama_cpp_computes(header):
    renamed = {key.replace("llama.", "gemma3."): value for key, value in header.metadata.items()}
    windows = {"general.architecture": "gemma3", "gemma3.attention.sliding_window": 512}
    gemma, options = dataclasses.replace(header, metadata=renamed | windows), LoadOptions(header.path, n_ctx=8192)
    know(header, "llama", timed(0.03, 0.2), threads=0)
    know(header, "ik", timed(0.025, 0.1), threads=0)
    choices = [library_choice.choose(options, (gemma,), usable) for usable in (1 << 40, 1 << 30)]
    assert [(choice.name, choice.note, choice.trial) for choice in choices] == [
        ("ik", None, "llama"), ("llama", None, None)
    ]  # fmt: skip
    assert not takes_far_less_with_llama(options, (header,), 1 << 30), "no windows: llama.cpp's caches are no smaller"
    assert takes_far_less_with_llama(options, (header,), header.file_bytes - 1), "llama.cpp maps what does not fit"


@installed
def test_pictures_are_llama_cpps_unless_another_library_is_requested(header):
    know(header, "llama", timed(0.03, 0.2), threads=0)
    for seconds, note in ((0.025, SEES), (0.04, SLOWER)):
        know(header, "ik", timed(seconds, 0.1 + seconds), threads=0)
        choice = library_choice.choose(LoadOptions(header.path), (header,), 1 << 40, sees=True)
        assert (choice.name, choice.note, choice.trial) == ("llama", note, None)
    assert library_choice.choose(LoadOptions(header.path, backend="ik"), (header,), 1 << 40, sees=True).name == "ik"


def test_features_of_the_processor(monkeypatch, tmp_path):
    monkeypatch.delenv(this_machine.PROCESSOR_VARIABLE, raising=False)
    for module in (needs, this_machine):
        monkeypatch.setattr(module, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(sys, "platform", "linux")
    for machine, flags, missing in (
        ("x86_64", "flags\t\t: fpu sse4_2 popcnt avx f16c", ["avx2", "fma"]),
        ("x86_64", "flags\t\t: fma avx2 f16c popcnt", []),
        ("aarch64", "Features\t: fp asimd", ["asimddp"]),
        ("aarch64", "Features\t: fp asimd asimddp", []),
        ("riscv64", "isa : rv64", []),
    ):
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{flags}\n\nprocessor\t: 1\n")
        assert needs.missing_features() == missing


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="instruction sets of x86-64")
@pytest.mark.parametrize(("processor", "missing"), [("haswell", []), ("sse42", ["avx2", "fma", "f16c"])])
def test_an_older_processor_may_lack_what_ik_needs(processor, missing, monkeypatch):
    monkeypatch.setenv(this_machine.PROCESSOR_VARIABLE, processor)
    assert needs.missing_features() == missing


# --- crashes ---


def test_a_mark_that_another_program_reads_is_left_empty(monkeypatch):
    mark, watch = CrashMark("a library", "a model"), CrashWatch()
    watch.watch(mark)

    def refuse(*_arguments, **_options):
        raise PermissionError("in use, as Windows says")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        watch.watch(None)
    assert not mark.is_set


@installed
def test_a_model_that_crashed_ik_waits_for_llama_cpp(header, tmp_path, monkeypatch):
    monkeypatch.setattr(library_choice, "installed", lambda name: name == "ik")
    choice = choose("auto", header, 2, "f16")
    assert (choice.name, choice.note, choice.trial) == ("ik", NOT_READY, None)
    (tmp_path / "crashes").mkdir()
    (tmp_path / "crashes" / f"{crash_mark(header, 'ik').name}-1").write_text("how it died")
    for requested in (None, "auto", "llama"):
        with pytest.raises(Failure, match=r"needs llama\.cpp.* ik_llama\.cpp crashed"):
            choose(requested, header, 2, "f16")
    assert choose("ik", header, 2, "f16").name == "ik"


DIE = """
import os, sys
from engine.loading import library_choice
from engine.loading.crash_mark import CrashMark, CrashWatch
watch = CrashWatch()
watch.watch(CrashMark("library 1", "model"))
if sys.argv[1] == "end":
    watch.watch(None)
else:
    os.kill(os.getpid(), int(sys.argv[1]))
"""
MARK = CrashMark("library 1", "model")


def files(folder: Path) -> list[Path]:
    return list((folder / "crashes").glob("*"))


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("how", "is_set"),
    [(signal.SIGSEGV, True), (signal.SIGABRT, True), (signal.SIGILL, True),
     (getattr(signal, "SIGBUS", 0), True), (signal.SIGFPE, True), (9, False), ("end", False)],
)  # fmt: skip
def test_how_a_process_ends(header, tmp_path, how, is_set):
    done = subprocess.run([sys.executable, "-c", DIE, str(how if how == "end" else int(how))])
    assert (done.returncode == 0) == (how == "end")
    assert MARK.is_set == is_set
    assert not CrashMark("library 2", "model").is_set
    assert not CrashMark("library 1", "other").is_set
    MARK.clear()
    assert not MARK.is_set
    watch = CrashWatch()
    watch.watch(MARK)
    assert len(files(tmp_path)) == 1  # what a killed process left is gone
    watch.watch(None)
    assert files(tmp_path) == []


def test_one_mark_after_another(header, tmp_path):
    watch = CrashWatch()
    for mark in (MARK, CrashMark("library 1", "other"), MARK, MARK):
        watch.watch(mark)
        (file,) = files(tmp_path)
        assert file.name.startswith(mark.name)
    watch.watch(None)
    watch.watch(None)
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_written(header, tmp_path, caplog):
    (tmp_path / "crashes").write_text("in the way")
    watch = CrashWatch()
    watch.watch(MARK)
    assert "go unnoticed" in caplog.text
    assert not MARK.is_set
    watch.watch(None)


CRASH = """
import os, sys
from engine.engine import Engine
from engine.protocol.requests import Load
engine = Engine()
print(engine.load(Load(0, sys.argv[1], n_ctx=512, threads=2, backend="ik")).model.backend, flush=True)
os.abort()
"""


@installed
@needs_ik
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_after_a_crash_llama_cpp_computes_unless_it_is_asked_for_by_name(header, tmp_path):
    know(header, "llama", timed(0.03, 0.2))
    know(header, "ik", timed(0.025, 0.1))
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", CRASH, str(default_model())], capture_output=True, text=True)
        assert done.stdout == "ik\n"
        assert done.returncode == -signal.SIGABRT
        assert crash_mark(header, "ik").is_set
        assert choose("auto", header, 2, "f16").note == CRASHED
    assert choose("ik", header, 2, "f16").name == "ik"


@installed
def test_a_loaded_model_whose_other_library_is_faster_tells_it(header):
    """New timings, as idle time finds them, change the answer, unless the user chose the library by name."""
    cases: tuple[tuple[BackendWish, BackendName | None], ...] = (("auto", "ik"), ("llama", None))
    for requested, expected in cases:
        with closing(Engine()) as engine:
            know(header, "llama", timed(0.02, 0.1))
            know(header, "ik", timed(0.03, 0.2))
            engine.load(Load(0, str(default_model()), n_ctx=512, threads=2, backend=requested))
            assert engine.faster_library() is None
            know(header, "ik", timed(0.01, 0.05))
            assert engine.faster_library() == expected


# --- the same load continues ---


@pytest.fixture
def altered(header, tmp_path) -> Callable[..., Path]:
    """Return a function that writes a small model, with which ik_llama.cpp is known to be faster."""

    def write(changes: Mapping[str, Value | None] | None = None, shape: Shape = USUAL) -> Path:
        path = write_altered(tmp_path / "model.gguf", changes, shape)
        know(read_header(path), "llama", timed(0.03, 0.2))
        know(read_header(path), "ik", timed(0.025, 0.1))
        return path

    return write


LONGROPE = {"llama.rope.scaling.type": Value("longrope", STRING)}  # without its factors, which only ik_llama.cpp needs


@needs_ik
@pytest.mark.parametrize("head", [80, 112])
def test_heads_that_are_no_multiple_of_32_load_at_first_try(altered, head):
    path = altered(shape=Shape(head=head, type=gguf.GGMLQuantizationType.Q8_0))
    plans = dict(verdicts({wish: Ask(path=str(path), threads=2, backend=wish) for wish in (None, "llama", "ik")}))
    assert [(each.backend, each.kv_type, each.problem) for each in plans.values()] == [
        (name, "f16", None) for name in ("ik", "llama", "ik")
    ]


@needs_ik
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_where_ik_crashes_unasked_llama_cpp_loads_the_model(altered):
    path = altered(LONGROPE)
    with closing(Engine()) as engine:
        with pytest.raises(Failure, match=r"makes ik_llama\.cpp crash"):
            engine.load(Load(0, str(path), n_ctx=512, threads=2, backend="ik"))
        crash_mark(read_header(path), "ik").clear()
        for _ in range(2):
            assert choose("auto", read_header(path), 2, "f16").name == "ik"
            info = engine.load(Load(0, str(path), n_ctx=512, threads=2, backend="auto")).model
            assert (info.backend, CRASHED in info.notes) == ("llama", True)
            crash_mark(read_header(path), "ik").clear()
        engine.load(Load(0, str(path), n_ctx=512, threads=2, backend="auto"))
    assert choose("auto", read_header(path), 2, "f16").note == CRASHED
    assert dict(verdicts({0: Ask(path=str(path), threads=2)}))[0].backend == "llama"


@needs_ik
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_where_llama_cpp_crashes_unasked_the_other_library_is_next(altered, monkeypatch):
    path = altered()
    know(read_header(path), "ik", timed(0.04, 0.3))

    def started(*arguments: str, **options):
        if "llama" not in arguments:
            return start_engine_command(*arguments, **options)
        return subprocess.Popen([sys.executable, "-c", "import os; os.abort()"], stdout=options["stdout"])

    monkeypatch.setattr(first_look, "start_engine_command", started)
    with pytest.raises(OtherLibrary) as caught:  # this process holds llama.cpp
        resolve(LoadOptions(path, threads=2))
    assert caught.value.wanted == "ik"
    with pytest.raises(LibraryCrashed, match=r"makes llama\.cpp crash"):
        resolve(LoadOptions(path, threads=2, backend="llama"))


@needs_ik
def test_a_library_that_crashed_is_avoided_and_if_both_did_the_load_ends(header, tmp_path):
    (tmp_path / "crashes").mkdir()
    ik, llama = (tmp_path / "crashes" / f"{crash_mark(header, name).name}-1" for name in ("ik", "llama"))
    llama.write_text("how it died")
    choice = choose("auto", header, 2, "f16")
    assert (choice.name, choice.note, choice.trial) == ("ik", LLAMA_CRASHED, None)
    assert choose("llama", header, 2, "f16").name == "llama"

    def after(failure: Failure, failed: LibraryChoice, requested: BackendWish | None = "auto") -> LibraryChoice | None:
        return choose_after(failure, failed, LoadOptions(header.path, backend=requested), header)

    crash, refusal = LibraryCrashed("ik.crashed"), Failure("ik.crashed")
    assert after(crash, choice) is after(refusal, choice) is None
    llama.unlink()
    other, without_crash = after(crash, choice), after(refusal, choice)
    assert other
    assert without_crash
    assert (other.name, other.note, without_crash.name, without_crash.note) == ("llama", CRASHED, "llama", None)
    assert after(crash, choice, None) == other
    assert after(crash, choice, "ik") is None
    assert after(refusal, other) is None, "ik_llama.cpp knows fewer layouts"
    ik.write_text("how it died")
    assert after(crash, other) is None


@needs_ik
def test_a_kv_type_that_ik_cannot_store_is_llama_cpps(header, tmp_path):
    other = read_header(write_altered(tmp_path / "model.gguf", shape=Shape(head=32)))
    choice = choose("ik", other, 2, "q4_0")
    assert (choice.name, str(choice.note)) == ("llama", "ik_llama.cpp cannot store this model's KV cache as q4_0.")
    assert choose("ik", other, 2, "q8_0").name == "ik"
    assert choose("ik", header, 2, "q4_0").name == "ik"
