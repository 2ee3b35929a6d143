"""Tests of two set-ups of one environment at once: the second waits for the first, even if that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.app.unprivileged import permissions_hold

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
WAITING = "setup: Another set-up runs in this folder: waiting for it.\n"
HOLDER = "import sys\nfrom setup_lock import setup_lock\n"
HOLDER += "with setup_lock():\n    print('in', flush=True)\n    sys.stdin.read()\n"
LEFT = "import json, set_up\nset_up.READY.unlink()\n"
LEFT += "set_up.UNFINISHED.write_text(json.dumps({'stamp': set_up.fingerprint(), 'command': []}))\n"
STAMP = "import set_up\nset_up.VENV.mkdir(parents=True)\nset_up.READY.write_text(set_up.fingerprint())\n"


@pytest.fixture
def start(tmp_path):
    """Yield a function that starts a Python command of set-up's in a ready environment, in `new` folders."""
    surroundings = os.environ | {"CHICKADEE_VENV": str(tmp_path / "new/environment"), "PYTHONPATH": str(PACKAGING)}
    processes: list[subprocess.Popen[str]] = []

    def run(*command) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [sys.executable, *command], env=surroundings, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        processes.append(process)
        return process

    assert run("-c", STAMP).wait() == 0
    yield run
    for process in processes:
        process.kill()
        with process:
            pass  # waits for its end, and closes its pipes


def test_a_second_setup_waits_and_says_so(start):
    first = start("-c", HOLDER)
    assert first.stdout.readline() == "in\n"
    second = start(PACKAGING / "prepare.py")
    assert second.stderr.readline() == WAITING
    assert second.poll() is None
    first.stdin.close()
    assert (second.wait(), second.stderr.read()) == (0, "")


def test_a_second_window_does_not_wait_for_the_first_ones_background(start):
    assert start("-c", LEFT).wait() == 0
    first = start("-c", HOLDER)
    assert first.stdout.readline() == "in\n"
    second = start(PACKAGING / "prepare.py", "--without-waiting")
    assert (second.wait(), second.stderr.read()) == (0, "")


def test_a_killed_setup_stands_in_nobodys_way(start):
    first = start("-c", HOLDER)
    assert first.stdout.readline() == "in\n"
    second = start("-c", HOLDER)
    assert second.stderr.readline() == WAITING
    first.kill()
    assert second.stdout.readline() == "in\n"


def test_what_is_ready_can_be_used_where_nothing_can_be_written(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING))
    tmp_path.chmod(0o500)
    with permissions_hold(), import_module("setup_lock").setup_lock(tmp_path / "new/environment.lock"):
        assert not list(tmp_path.iterdir())
    tmp_path.chmod(0o700)
