"""`make translations`: brings assets/translations/*.ts in line with the source. Standard library only.

Found by reading the syntax tree: what `tr`, `tr_n` and `mark` are called with in app/, and the sentences of engine/
and models/, which know nothing of languages: texts that end like a sentence, with {1}, {2}… for what is put in.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "assets" / "translations"
sys.path.insert(0, str(ROOT))

from app.catalogue import ENGINE, WINDOW, read_contexts  # noqa: E402

CALLS = {"tr": 1, "mark": 1, "tr_n": 2}  # how many of the first arguments are texts
TERMINAL = (
    "engine/__main__.py", "engine/tokenization/chat_lines.py", "engine/costs/calibration.py", "engine/commands/",
    "models/__main__.py", "models/commands/", "models/terminal.py",
)  # fmt: skip
# Functions whose sentences are put together from pieces: there every text with a space counts.
PIECED = {
    ("engine/tokenization/turns.py", "too_long"),
    ("engine/loading/memory_plan.py", "_finish"), ("engine/loading/memory_plan.py", "_refuse"),
    ("engine/loading/memory_plan.py", "usable"), ("engine/loading/memory_plan.py", "more_context"),
}  # fmt: skip
# The window's own sentences that are kept with a message, or said before there is a window: made in English.
STORED = (
    "app/services/engine_client.py", "app/services/process_end.py", "app/bugs.py", "app/__main__.py", "app/folders.py",
    "app/store/migrations.py", "app/fatal.py", "app/services/single_instance.py",
)  # fmt: skip
SUGGESTED = "assets/catalogue.toml"  # what it says of each model is shown
Found = dict[str, set[str]]  # texts, each with the files it is in


def main() -> int:
    found = {WINDOW: window_texts(), ENGINE: engine_texts()}
    for path in sorted(FOLDER.glob("*.ts")):
        missing, gone = update(path, found)
        print(f"{path.relative_to(ROOT)}: {missing} not translated, {gone} no longer in the source")
    return 0


def window_texts() -> Found:
    found: Found = {}
    for name, tree in _trees("app"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                for argument in node.args[: CALLS[node.func.id]]:
                    for text in _constants(argument):
                        found.setdefault(text, set()).add(name)
    for model in tomllib.loads((ROOT / SUGGESTED).read_text(encoding="utf-8"))["model"]:
        found.setdefault(model["about"], set()).add(SUGGESTED)
    return found


def engine_texts() -> Found:
    found: Found = {}
    for room in ("app", "engine", "models"):
        for name, tree in _trees(room):
            if name in STORED if room == "app" else not name.startswith(TERMINAL):
                for text in _sentences(name, tree):
                    found.setdefault(text, set()).add(name)
    return found


def update(path: Path, found: dict[str, Found]) -> tuple[int, int]:
    """Rewrite the .ts file at `path`; returns how many texts lack a translation, and how many were taken out."""
    old = read_contexts(path)
    missing = gone = 0
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<!DOCTYPE TS>"]
    lines.append(f'<TS version="2.1" language="{path.stem}" sourcelanguage="en">')
    for context, texts in found.items():
        known = old.get(context, {})
        gone += len(known.keys() - texts.keys())
        missing += sum(not known.get(text) for text in texts)
        lines += ["<context>", f"  <name>{context}</name>"]
        for text in sorted(texts, key=lambda text: (min(texts[text]), text)):
            lines += _message(text, known.get(text, ""), sorted(texts[text]))
        lines.append("</context>")
    path.write_text("\n".join([*lines, "</TS>", ""]), encoding="utf-8")
    return missing, gone


def _message(text: str, translation: str, files: list[str]) -> list[str]:
    said = f"<translation>{escape(translation)}</translation>"
    places = [f'    <location filename="../../{name}"/>' for name in files]
    return [
        "  <message>", *places, f"    <source>{escape(text)}</source>",
        f"    {said if translation else '<translation type=' + chr(34) + 'unfinished' + chr(34) + '></translation>'}",
        "  </message>",
    ]  # fmt: skip


def _trees(room: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / room).rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def _constants(node: ast.expr) -> Iterator[str]:
    """A text, or both texts of `"a" if x else "b"`."""
    if isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _sentences(name: str, tree: ast.Module) -> Iterator[str]:
    no_sentences = set(_unsaid(tree))
    pieced = {function for file, function in PIECED if file == name}
    for node, function in _with_functions(tree, ""):
        text = _template(node)
        if node in no_sentences or text is None or "%s" in text or " " not in text.strip():
            continue
        if function in pieced or (text.rstrip()[-1] in ".…?" and not text.startswith(" ")):
            yield text


def _unsaid(tree: ast.Module) -> Iterator[ast.AST]:
    """Docstrings, what goes to the log, and the parts of texts that are taken whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        if isinstance(node, ast.JoinedStr):
            yield from (part for part in ast.walk(node) if part is not node)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("log.", "log(")):
            yield from ast.walk(node)


def _with_functions(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef) else function
        yield child, inside
        yield from _with_functions(child, inside)


def _template(node: ast.AST) -> str | None:
    """The text of a literal with {1}, {2}… for what an f-string puts in; None for other nodes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    text, holes = "", 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
        else:
            holes += 1
            text += f"{{{holes}}}"
    return text


if __name__ == "__main__":
    sys.exit(main())
