"""Docstrings open as docs/contributing.md asks for: a function's with an imperative verb, others with a noun.

Ruff's D401 knows verbs in a wrong form ("Returns") and a few nouns. It lets fragments pass ("What is offered."), so the
verbs that open a function's docstring are listed here, and the words that open no class's or property's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("app", "benchmarks", "common", "engine", "models", "packaging", "tests", "training")
# The imperatives that open a function's docstring. A list of what is no verb would never be complete ("Anew, for …",
# "Bytes of …"), so a new verb is added here.
VERBS_TEXT = """
accept add allocate allow answer append apply ask assert assign attach average begin behave bind bring build cache call
cancel change chat check choose claim clear clone close collect commit compare compile complete compose compute confine
connect continue convert copy count create cut damage decide declare decode delete describe disable discard divide do
download draft draw drop edit emit empty enable encode end ensure estimate expand extend fetch fill find finish fit fix
flush focus follow forget format free fuse gather generate give go grey group grow hand handle have hide hold ignore
import index insert install interrupt join keep kill label lay learn leave let limit list listen load lock log look
lower make map mark measure merge move name normalise note offer open order overwrite parse pass pause perform pin
place plan post prefill prepare press print project publish put queue raise rank read rearrange rebuild record redirect
redraw refresh refuse register release remember remove rename render renumber reorder repair replace report request
reserve resize restore restrict return rewrite rotate run sample save say scale scan schedule scroll search select send
serve set shorten show shrink shut sign skip sort speak split start stay stop store stream suppress switch take tell
time touch train translate try turn type undo uninstall unpack update use wait watch widen word work wrap write yield
"""
# What opens a class's or a property's docstring without saying which thing it is: question words, pronouns, adverbs,
# prepositions, conjunctions, and verbs about it ("Reads …"). "The", "one", "all chats" and "no room" belong to a noun.
NO_NOUNS_TEXT = """
what who whom whose which whoever whatever where when why how it he they them this that these those such there
something somebody someone everything everybody everyone anything anybody nothing nobody none here now then once
always still instead otherwise again anew never not only also even just so is are was were be been has had does did
may might can could will would shall should must if unless though although because and or but nor before after until
since while as than of in on at by for from to with without into behind within under over
reads collects finds chooses takes splits keeps makes gives holds puts writes shows sends tells lets brings decides
"""
VERBS, NO_NOUNS = frozenset(VERBS_TEXT.split()), frozenset(NO_NOUNS_TEXT.split())
# Behind a word like "ranks" or "stops" these show that it is a verb: "Ranks the passages", but "Ranks of passages".
OBJECTS = frozenset(("a", "an", "the", "all", "its", "their", "one", "which", "whether", "how", "what"))


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
    match = re.match(r"(\w*)(?: (\w+))?", text.strip().lower())
    first, second = match.groups() if match else ("", "")
    if re.fullmatch(r"See \S+", text.strip()):
        return "says only where to look"
    if kind == "function" and (first not in VERBS or second == "of"):  # "End of a line." names a thing
        return f"begins with {first!r}, not with an imperative verb of VERBS_TEXT"
    if kind in ("class", "property") and not opens_with_noun(kind, first, second):
        return f"begins with {first!r}, not with a noun"
    return None


def opens_with_noun(kind: str, first: str, second: str) -> bool:
    """Return whether a class's or a property's docstring says which thing it is."""
    if first == "whether":
        return kind == "property"
    if (first, second) == ("all", "that") or (first.removesuffix("s") in VERBS and second in OBJECTS):
        return False
    return first not in NO_NOUNS


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    faults = [
        f"{path.relative_to(ROOT)}: {name} {problem}: {text.splitlines()[0]}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for kind, name, text in docstrings(path)
        if (problem := fault(kind, text))
    ]
    assert not faults, "\n".join(faults)


def test_the_rule_itself() -> None:
    good = {
        ("function", "Return the commands that match the query, best first."): True,
        ("function", "What is offered."): False,
        ("function", "Of each exit: which tokens would it have said?"): False,
        ("function", "See `Runtime`."): False,
        ("class", "See `Runtime.`"): False,
        ("test", "A stopped answer is stored."): True,
    }
    assert {(kind, text): fault(kind, text) is None for kind, text in good} == good
