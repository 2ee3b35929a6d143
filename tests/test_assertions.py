"""The plugin that fails tests without assertions, on a small file of tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import pytest
from hypothesis import given, strategies as st

def test_asserts(): assert True
def test_expects():
    with pytest.raises(ValueError): int("x")
def test_nothing(): int("1")
@pytest.mark.no_assertion("there is nothing")
def test_known(): int("1")
@pytest.mark.no_assertion("there is something")
def test_wrong_mark(): assert True
@given(st.integers(0, 100))
def test_most_examples(n): assert n >= 0
@given(st.integers(0, 100))
def test_few_examples(n):
    if n < 5: assert n >= 0
"""


def test_tests_without_assertions_fail(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nenable_assertion_pass_hook = true\nmarkers =\n  no_assertion(reason): has nothing to assert\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-rA", "-p", "tests.assertions", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    outcomes = dict(line.split()[:2][::-1] for line in done.stdout.splitlines() if "test_some.py::" in line)
    failed = sorted(name.partition("::")[2] for name, outcome in outcomes.items() if outcome == "FAILED")
    assert failed == ["test_few_examples", "test_nothing", "test_wrong_mark"], done.stdout
    assert len(outcomes) == 7
