"""A mutant's functions and constants reach those who have imported the unbroken ones; nothing else does."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.mutants.forks import break_constants, break_functions, in_a_fork

TEXT = """
from functools import cache
NUMBER = 1
def whole(n, more=2):
    return [one + NUMBER for one in range(n)]
@cache
def kept(n):
    def inner():
        return n + 1
    return inner()
class Thing:
    size = 3
    @property
    def name(self):
        return "a"
    @name.setter
    def name(self, value):
        self.size = value
    def double(self):
        return super().__hash__() and self.size * 2
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    path = tmp_path / "a_broken_module.py"
    path.write_text(TEXT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module(path.stem)
    del sys.modules[path.stem]


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("return [one + NUMBER", "\n    return [one - NUMBER", "module.whole(2) == [-1, 0]"),
        ("n + 1", "n + 2", "module.kept(3) == 5"),
        ('"a"', '"b"', "thing.name == 'b'"),
        ("self.size = value", "pass", "setattr(thing, 'name', 9) or thing.size == 3"),
        ("* 2", "* 3", "thing.double() == 9"),
        ("NUMBER = 1", "NUMBER = 2", None),
        ("more=2", "more=3", None),
        ("size = 3", "size = 4", None),
        ("@cache", "", None),
        ("super().__hash__() and ", "", None),
    ],
)
def test_functions_that_are_in_use_are_broken(module: Any, old: str, new: str, value: str | None) -> None:
    thing = module.Thing()
    assert break_functions(module.__file__, TEXT, TEXT.replace(old, new)) == (value is not None)
    assert value is None or eval(value, {"module": module, "thing": thing})
    assert module.whole(3, 4) == ([-1, 0, 1] if "one - NUMBER" in new else [1, 2, 3])


def test_a_constant_is_broken_for_all_who_imported_it(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("other")
    other.NUMBER = module.NUMBER  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "other", other)
    assert not break_constants(module.__file__, TEXT.replace("size = 3", "size = 4"))
    assert not break_constants(module.__file__, TEXT.replace("NUMBER = 1", "NUMBER = 1 / 0"))
    assert break_constants(module.__file__, TEXT.replace("NUMBER = 1", "NUMBER = 2"))
    assert (module.whole(1), other.NUMBER) == ([2], 2)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_answers_or_its_end_does() -> None:
    assert in_a_fork(lambda: "a test") == "a test"
    assert in_a_fork(lambda: "") == ""
    assert in_a_fork(lambda: os._exit(7)) == "exit code 7"
    assert in_a_fork(lambda: str(signal.raise_signal(signal.SIGKILL))) == "exit code -9"  # type: ignore[func-returns-value]
