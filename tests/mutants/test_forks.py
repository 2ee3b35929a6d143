"""A mutant's functions reach those who have imported the unbroken ones; anything else is left to another process."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.mutants.forks import break_functions

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
def test_functions_that_are_in_use_are_broken(tmp_path: Path, old: str, new: str, value: str | None) -> None:
    path = tmp_path / "module.py"
    path.write_text(TEXT, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("module", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    thing = module.Thing()
    assert break_functions(str(path), TEXT, TEXT.replace(old, new)) == (value is not None)
    assert value is None or eval(value, {"module": module, "thing": thing})
    assert module.whole(3, 4) == ([-1, 0, 1] if "one - NUMBER" in new else [1, 2, 3])
