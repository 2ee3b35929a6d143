"""Tests some cases of each kind, always the same: a minute on a quiet machine. `make fuzz` runs others, and more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import KINDS, Summary, numbered, open_fuzzer, run_cases

SEED = "chickadee"
CASES = {
    "headers": 8,
    "templates": 3,
    "floods": 4,
    "kills": 1,
    "stores": 25,
    "caches": 4,
    "attachments": 8,
    "imports": 40,
}
TIMES = 5  # times as many cases in `make test-slow`


@pytest.mark.long
@pytest.mark.timeout(900 * TIMES)
@pytest.mark.parametrize("times", [1, pytest.param(TIMES, marks=pytest.mark.slow)], ids=["some", "more"])
@pytest.mark.parametrize("name", KINDS)
def test_whatever_comes_ends_well(name: str, times: int, tmp_path: Path) -> None:
    kind = open_fuzzer(name, tmp_path)
    try:
        failed = list(run_cases(kind, numbered(kind, SEED, 0, times * CASES[name]), Summary(name)))
    finally:
        kind.close()
    assert not failed, "\n".join(map(str, failed))


def test_a_seed_makes_the_same_cases_again(tmp_path: Path) -> None:
    for name in KINDS:
        kind = open_fuzzer(name, tmp_path)
        try:
            once, again, other = (list(numbered(kind, seed, 0, 5)) for seed in ("one", "one", "two"))
        finally:
            kind.close()
        assert repr(once) == repr(again)  # NaN is not equal to itself
        assert repr(once) != repr(other).replace("two:", "one:")
