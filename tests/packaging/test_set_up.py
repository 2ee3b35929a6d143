"""Tests of what `make run` waits for, what the window does later, and that no library is ever half installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, in_environment

PACKAGING = ROOT / "packaging"
IMPORT = "import probe; print(probe.KIND)"


@pytest.fixture
def set_up(setup, monkeypatch):
    """Return the module `set_up` with the probe in the place of llama.cpp, and everything else set up."""
    module = import_module("set_up")
    environment = setup.folder / "environment"
    monkeypatch.setattr(module, "LLAMA", setup.build)
    monkeypatch.setattr(module, "PYTHON", setup.steps.PYTHON)
    monkeypatch.setattr(module, "READY", environment / "ready")
    monkeypatch.setattr(module, "UNFINISHED", environment / "unfinished")
    monkeypatch.setattr(module, "set_up_all_but_llama", setup.build.fetch)
    monkeypatch.setattr(module, "ik_computes", lambda: True)
    monkeypatch.setattr(module.computer, "has_ik_wheel", lambda: True)
    return module


def importable_probe(setup) -> str:
    """Return which probe a program can import: its kind, "nothing", or "half" for a broken one."""
    done = subprocess.run([setup.steps.PYTHON, "-c", IMPORT], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "nothing" if "No module named" in done.stderr else "half"


def lose_the_network(monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "/no/such/folder")


def lose_the_compiler(setup, monkeypatch):
    monkeypatch.setattr(setup.steps.system_packages.shutil, "which", lambda _: None)
    monkeypatch.delenv("CC", raising=False)


def test_the_compile_is_left_to_the_window_and_needs_no_network_there(set_up, setup, monkeypatch):
    set_up.prepare(without_waiting=True)
    assert not set_up.READY.exists()
    assert set_up.is_usable()
    assert importable_probe(setup) == "nothing"  # a library of an earlier checkout was removed
    command = json.loads(set_up.UNFINISHED.read_text())["command"]
    assert command == [sys.executable, str(PACKAGING / "prepare.py"), "--background"]
    with monkeypatch.context() as patch:
        patch.setattr(set_up, "set_up_all_but_llama", lambda: pytest.fail("set up again"))
        set_up.prepare(without_waiting=True)
        assert importable_probe(setup) == "nothing"
    lose_the_network(monkeypatch)
    set_up.finish_set_up()
    assert (importable_probe(setup), set_up.is_ready(set_up.fingerprint())) == ("compiled", True)
    assert not set_up.UNFINISHED.exists()
    set_up.finish_set_up()  # as a second window does


def test_make_test_does_itself_what_is_left(set_up, setup, monkeypatch):
    set_up.prepare(without_waiting=True)
    monkeypatch.setattr(set_up, "set_up_all_but_llama", lambda: pytest.fail("set up again"))
    set_up.prepare(without_waiting=False)
    assert (importable_probe(setup), set_up.READY.exists(), set_up.UNFINISHED.exists()) == ("compiled", True, False)


@pytest.mark.slow
def test_where_ik_cannot_compute_everybody_waits(set_up, setup, monkeypatch):
    monkeypatch.setattr(set_up, "ik_computes", lambda: False)
    set_up.prepare(without_waiting=True)
    assert (importable_probe(setup), set_up.READY.exists()) == ("compiled", True)


@pytest.mark.usefixtures("wheel")
def test_a_wheel_that_is_there_is_installed_at_once(set_up, setup):
    set_up.prepare(without_waiting=True)
    assert (importable_probe(setup), set_up.READY.exists()) == ("compiled", True)


def test_the_window_opens_without_a_compiler(set_up, setup, monkeypatch):
    lose_the_compiler(setup, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(set_up, "set_up_all_but_llama", lambda: pytest.fail("minutes of downloads came first"))
        with pytest.raises(setup.steps.SetupError, match="packages of the system: cc, c\\+\\+"):
            set_up.prepare(without_waiting=False)
    set_up.prepare(without_waiting=True)
    assert set_up.is_usable()
    with pytest.raises(setup.compiled.NoCompiler):
        set_up.finish_set_up()


def test_another_checkout_is_not_finished_in_the_background(set_up, setup, monkeypatch):
    set_up.prepare(without_waiting=True)
    monkeypatch.setattr(set_up, "fingerprint", lambda: "of another checkout")
    assert not set_up.is_usable()
    with pytest.raises(setup.steps.SetupError, match="the checkout has changed"):
        set_up.finish_set_up()


def test_who_compiles_more_waits_for_all_of_it(set_up, monkeypatch):
    def without_waiting(*arguments: str) -> bool:
        monkeypatch.setattr(sys, "argv", ["prepare.py", "--without-waiting", *arguments])
        return bool(set_up.options().without_waiting)

    monkeypatch.setattr(set_up.pytorch, "is_chosen", lambda: False)
    monkeypatch.setattr(set_up, "is_chosen", lambda: False)
    assert without_waiting()
    assert not without_waiting("--native", "1")
    assert not without_waiting("--training", "0")
    monkeypatch.setattr(set_up, "is_chosen", lambda: True)
    assert not without_waiting()


def test_whether_ik_computes_here_is_asked_of_the_engine(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING))
    set_up = import_module("set_up")
    monkeypatch.setattr(set_up, "PYTHON", sys.executable)
    from engine.runtime.ik import needs

    monkeypatch.delenv("CHICKADEE_PROCESSOR", raising=False)
    assert set_up.ik_computes() == (needs.library_file() is not None and not needs.missing_features())
    monkeypatch.setenv("CHICKADEE_PROCESSOR", "sse42")
    assert not set_up.ik_computes()


def test_an_interrupted_installation_is_no_library(setup, wheel, monkeypatch):
    rename = Path.rename

    def stop_at_modules(path: Path, place: Path) -> None:
        if path.name == "probe":
            raise KeyboardInterrupt
        rename(path, place)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", stop_at_modules)
        with pytest.raises(KeyboardInterrupt):
            setup.steps.install_atomically(wheel)
    assert importable_probe(setup) == "nothing"
    setup.steps.install_atomically(wheel)
    assert importable_probe(setup) == "compiled"
    packages = in_environment(setup.folder / "environment", "purelib")
    shutil.rmtree(next(packages.glob("chickadee_probe-*.dist-info")))  # pip then does not know the package
    setup.steps.install_atomically(wheel)
    assert importable_probe(setup) == "compiled"


CHILD = "import os, time; print(os.nice(0), os.sched_getscheduler(0) == os.SCHED_IDLE, flush=True); time.sleep(600)"
BESIDE = f"""
import subprocess, sys
from background import run_in_background
run_in_background(10**9)
try:
    subprocess.run([sys.executable, "-c", {CHILD!r}])
except KeyboardInterrupt:
    print("stopped", file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux shares out processors")
def test_in_the_background_it_gives_way_and_ends_with_the_window():
    pipe = subprocess.PIPE
    surroundings = os.environ | {"PYTHONPATH": str(PACKAGING)}
    command = [sys.executable, "-c", BESIDE]
    with subprocess.Popen(command, env=surroundings, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "19 True\n"
        process.stdin.close()
        # The pipe ends when all its writers have ended; the child's message about the interruption comes before.
        assert "stopped\n" in process.stdout.read()
    assert process.returncode == 0
