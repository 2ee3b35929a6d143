"""The lists of `make mutants` say what is still so."""

from __future__ import annotations

import tomllib

from tests.mutants.results import HERE, modules
from tests.mutants.trees import ROOT


def test_each_measured_module_and_each_of_its_tests_exists() -> None:
    for module, tests in modules().items():
        assert tests, module
        for path, _, test in (name.partition("::") for name in (module, *tests)):
            assert (ROOT / path).exists()
            assert not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")


def test_each_listed_survivor_changes_a_line_that_is_still_there_and_has_a_reason() -> None:
    listed = tomllib.loads((HERE / "survivors.toml").read_text(encoding="utf-8"))["survivor"]
    for each in listed:
        assert each.keys() == {"module", "line", "mutant", "equivalent", "reason"}
        assert each["module"] in modules()
        text = " ".join((ROOT / each["module"]).read_text(encoding="utf-8").split())
        assert " ".join(each["line"].split()) in text, each
        assert each["mutant"] != each["line"]
        assert isinstance(each["equivalent"], bool)
        assert len(each["reason"].split()) > 3, each
    mutants = [(each["module"], each["line"], each["mutant"]) for each in listed]
    assert len(set(mutants)) == len(mutants)
