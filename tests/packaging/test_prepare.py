"""The first file that set-up runs: any Python 3 reads it, and one that Chickadee does not run on gets a sentence."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "packaging" / "prepare.py"


@pytest.fixture
def prepare(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(FILE.parent))
    return import_module("prepare")


def test_a_python_of_2016_can_read_it() -> None:
    assert ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_the_versions_are_those_of_the_project(prepare) -> None:
    oldest, first_too_new = prepare.supported()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">=3.{oldest},<3.{first_too_new}"
    assert prepare.python_problem((3, oldest, 2)) == ""
    assert prepare.python_problem((3, first_too_new - 1, 0)) == ""


def test_another_python_is_named_where_there_is_one(prepare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare.shutil, "which", lambda name: name == "python3.12")
    assert "This is Python 3.10.4, which is too old. Use the one that is here: `make run PYTHON=python3.12`." in (
        prepare.python_problem((3, 10, 4))
    )
    monkeypatch.setattr(prepare.shutil, "which", lambda _: None)
    assert prepare.python_problem((3, 15, 0)).endswith("for it yet. Install one of those beside it.")
    assert "too old" in prepare.python_problem((2, 7, 18))


def test_a_python_that_is_refused_ends_with_one_line_and_reads_nothing_else() -> None:
    old = "import runpy, sys; sys.version_info = (3, 8, 1, 'final', 0); "
    old += f"runpy.run_path({str(FILE)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith("setup: Chickadee runs on Python 3.11 to 3.")
