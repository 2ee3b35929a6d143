"""Docstrings open as docs/contributing.md asks for: functions with an imperative verb, nothing with a bare "See X".

Ruff's D401 knows verbs in a wrong form ("Returns") and a few nouns. It lets fragments pass ("What is offered."), so the
words that begin such fragments are listed here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("app", "benchmarks", "common", "engine", "models", "packaging", "tests", "training")
# Without "do" and "have": "Have the engine load …" is an imperative.
NO_VERBS_TEXT = """
a an the its their our this that these those it they there such of in on at by for from to with without into
behind within under over after before until since while during about as like than per because and or but nor
if unless though although what which who whom whose whoever whatever where when why how whether is are was
were be been has had does did may might can could will would shall should must no not none nothing nobody
never all every each any some one two both more most less least only also even just so then else again anew
now here once always still instead otherwise something somebody everything everybody another
"""
NO_VERBS = frozenset(NO_VERBS_TEXT.split())
KINDS = ("class", "function", "property", "test")


def docstrings(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, docstring) of a file's classes and functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield kind_of(node), node.name, text


def kind_of(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return which rule holds for a definition."""
    if isinstance(node, ast.ClassDef):
        return "class"
    if any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
        return "property"
    return "test" if node.name.startswith("test_") else "function"


def fault(kind: str, text: str) -> str | None:
    """Return what a newcomer would stumble over at a docstring's beginning, or None."""
    first = re.split(r"\W", text.strip(), maxsplit=1)[0].lower()
    if re.fullmatch(r"See \S+", text.strip()):
        return "says only where to look"
    if kind == "function" and (first in NO_VERBS or not first):
        return f"begins with {first!r}, not with an imperative verb"
    return None


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_open_with_a_verb(package: str) -> None:
    faults = [
        f"{path.relative_to(ROOT)}: {name} {problem}: {text.splitlines()[0]}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for kind, name, text in docstrings(path)
        if (problem := fault(kind, text))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("kind", "text", "good"),
    [
        ("function", "Return the commands that match the query, best first.", True),
        ("function", "What is offered.", False),
        ("function", "Of each exit: which tokens would it have said?", False),
        ("function", "See `Runtime`.", False),
        ("property", "The tokens in the cache.", True),
        ("class", "See `Runtime.`", False),
        ("test", "A stopped answer is stored.", True),
    ],
)
def test_the_rule_itself(kind: str, text: str, good: bool) -> None:
    assert kind in KINDS
    assert (fault(kind, text) is None) == good
