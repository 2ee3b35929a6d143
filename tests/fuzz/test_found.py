"""Tests of every case that once broke a promise, and tests that the harness notices a broken promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import KINDS, Summary, found_cases, open_fuzzer, run_cases
from tests.fuzz.harness import Broken, Child, Limits, run_module


@pytest.mark.found
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name",
    [
        # Endless templates use up their whole time limit.
        pytest.param(name, marks=pytest.mark.slow) if name == "templates" else name
        for name in KINDS
        if list(found_cases(name))
    ],
)
def test_what_once_failed_ends_well(name: str, tmp_path: Path) -> None:
    kind = open_fuzzer(name, tmp_path)
    try:
        failed = list(run_cases(kind, found_cases(name), Summary(name)))
    finally:
        kind.close()
    assert not failed, "\n".join(map(str, failed))


BAD = {
    "signal": ("import os; os.abort()", Limits()),
    "ended with code 3 without a sentence": ("import os; os._exit(3)", Limits()),
    "traceback": ("1 / 0", Limits()),
    "MiB of memory": ("import time; x = b'1' * (300 << 20); time.sleep(60)", Limits(memory=100 << 20)),
    "computed for more than 1 s": ("while True: pass", Limits(seconds=1)),
    "did not end within 2 s": ("import time; time.sleep(60)", Limits(wait=2)),
}


@pytest.mark.parametrize("symptom", BAD)
def test_the_harness_sees_it(symptom: str, tmp_path: Path) -> None:
    program, limits = BAD[symptom]
    with pytest.raises(Broken, match=symptom):
        run_module(["timeit", "-n1", "-r1", program], tmp_path, limits)


def test_a_good_end_is_none(tmp_path: Path) -> None:
    ran = run_module(["timeit", "-n1", "-r1", "pass"], tmp_path, Limits())
    assert ran.code == 0
    assert b"loop" in ran.stdout


def test_an_answer_of_one_that_died_is_told(tmp_path: Path) -> None:
    child = Child(["timeit", "-n1", "-r1", "import os; os._exit(7)"], tmp_path, Limits())
    with pytest.raises(Broken, match="ended with code 7"):
        child.answer(child.deadline())
    child.close()
