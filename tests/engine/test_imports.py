"""Imports have no effect: libraries are opened, and the environment is set, only when a program starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a fresh process: imports all modules of the engine, then tells what it finds changed.
PROGRAM = """
import os, pkgutil, sys, threading
from pathlib import Path

def mapped():
    maps = Path("/proc/self/maps")
    return {line.split()[-1] for line in maps.read_text().splitlines()} if maps.exists() else set()

def native_threads():
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()

import numpy, psutil, jinja2  # third-party modules may have effects when imported
before, threads, environment = mapped(), native_threads(), dict(os.environ)
import engine
for module in pkgutil.walk_packages(engine.__path__, "engine."):
    __import__(module.name)
print(len([name for name in sys.modules if name.startswith("engine.")]), "modules")
changed = set(environment.items()) ^ set(os.environ.items())
libraries = [name for name in mapped() - before if any(part in name for part in ("llama", "ggml", "gomp", "/kernels/"))]
packages = {"llama_cpp", "ik_llama_cpp", "llguidance", "torch"} & set(sys.modules)
for what in (changed, libraries, packages):
    print(sorted(what))
print(native_threads() - threads, "threads")
"""


@pytest.fixture(scope="module")
def findings() -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_module_can_be_imported_beside_all_others(findings):
    assert int(findings[0].split()[0]) > 80


def test_the_environment_is_left_as_it_was(findings):
    assert findings[1] == "[]"


def test_no_library_is_opened(findings):
    assert findings[2:4] == ["[]", "[]"]


def test_no_thread_is_started(findings):
    assert findings[4] == "0 threads"
