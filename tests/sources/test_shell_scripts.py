"""Tests that the shells which run our scripts can parse them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_shell_scripts_parse(subtests: pytest.Subtests) -> None:
    scripts = sorted((ROOT / "packaging").rglob("*.sh"))
    assert scripts
    for script in scripts:
        with subtests.test(script=script.name):
            shell = "bash" if "bash" in script.read_text(encoding="utf-8").splitlines()[0] else "sh"
            if not shutil.which(shell):
                pytest.skip(f"no {shell} here")
            done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
