"""A pytest plugin that fails tests which executed no assertion, and property tests most of whose examples did not.

`make test-assertions` runs it. A test that has nothing to assert is marked `no_assertion`, with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from pytestqt.wait_signal import MultiSignalBlocker, SignalBlocker

TESTS = Path(__file__).parent
# Each raises where what was expected does not happen, as an assertion does.
EXPECTATIONS = (
    (pytest.RaisesExc, "__exit__"),
    (pytest.RaisesGroup, "__exit__"),
    (pytest.WarningsRecorder.__subclasses__()[0], "__exit__"),  # the context of `pytest.warns`
    (QtBot, "waitUntil"),
    (SignalBlocker, "wait"),
    (MultiSignalBlocker, "wait"),
)
NEEDED_SHARE = 0.5  # of a property test's examples: the strategy must hit what the property is about

# Modules that tests import are rewritten as tests are, so that their assertions are counted.
_modules = {
    f"tests.{path.relative_to(TESTS).with_suffix('').as_posix()}".replace("/", ".") for path in TESTS.rglob("*.py")
}
pytest.register_assert_rewrite(*sorted(_modules - set(sys.modules)))


class Counter:
    """Assertions of the test that runs: all, and whether each example of a property test had one."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.assertions = 0
        self.examples: list[bool] = []

    def complaint(self) -> str:
        """Return what the test lacks; an empty text if it lacks nothing."""
        if not self.assertions:
            return "No assertion was executed."
        useful = sum(self.examples)
        if useful < NEEDED_SHARE * len(self.examples):
            return f"Only {useful} of {len(self.examples)} examples executed an assertion."
        return ""


counter = Counter()


def pytest_assertion_pass() -> None:
    counter.assertions += 1


def counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, made to count as an assertion when it returns."""

    @wraps(function)
    def counted(*args: Any, **keywords: Any) -> Any:
        result = function(*args, **keywords)
        counter.assertions += 1
        return result

    return counted


def examined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the test function of a property, made to note of each example whether it executed an assertion."""

    @wraps(function)
    def example(*args: Any, **keywords: Any) -> Any:
        before = counter.assertions
        function(*args, **keywords)
        counter.examples.append(counter.assertions > before)

    return example


def pytest_configure() -> None:
    for owner, name in EXPECTATIONS:
        setattr(owner, name, counting(getattr(owner, name)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Count from the test itself on, because fixtures assert the same for every test."""
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    with pytest.MonkeyPatch.context() as patch:
        if handle:
            patch.setattr(handle, "inner_test", examined(handle.inner_test))
        counter.start()
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a pass without assertions into a failure, and a mark that is not needed as well."""
    report = yield
    if report.when == "call" and report.passed:
        complaint, is_marked = counter.complaint(), item.get_closest_marker("no_assertion") is not None
        if is_marked:
            complaint = "" if complaint else "Assertions were executed: the mark no_assertion is wrong."
        if complaint:
            report.outcome, report.longrepr = "failed", complaint
    return report
