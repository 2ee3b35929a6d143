"""Runs programs that give up rights and then attempt what they should no longer be able to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from common.confinement import landlock

linux = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
needs_landlock = pytest.mark.skipif(
    sys.platform != "linux" or not landlock.version(), reason="this kernel has no Landlock"
)
ATTEMPTS = """
import ctypes, fcntl, json, os, signal, socket, subprocess, sys, threading
from pathlib import Path

def child(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        raise OSError(1, done.stderr.strip().splitlines()[-1])

def call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

outcomes = {}
def attempt(name, action):
    try:
        action()
        outcomes[name] = "done"
    except Exception as error:
        outcomes[name] = type(error).__name__
"""


def run_attempts(confining: str, attempts: dict[str, str], *arguments: str) -> dict[str, str]:
    """Run a program that executes the statements `confining` and then each attempt, an expression.

    Returns each attempt's outcome: "done", or the name of the exception.
    """
    lines = [f"attempt({name!r}, lambda: {action})" for name, action in attempts.items()]
    code = "\n".join([ATTEMPTS, confining, *lines, 'print("\\n" + json.dumps(outcomes))'])
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


def private_file(folder: Path) -> Path:
    path = folder / ".ssh" / "id_ed25519"
    path.parent.mkdir()
    path.write_text("a secret")
    return path
