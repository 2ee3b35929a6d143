"""`make translations`: brings assets/translations/*.ts in line with the source. Needs no Qt.

The texts are found in the syntax trees of app/: the arguments of `tr`, `tr_n` and `mark`, in the context of their
package. The texts that engine, models and window say by message id are those of `common.messages`.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "assets" / "translations"
sys.path.insert(0, str(ROOT))

from app.words import PLURALS, Forms, read_contexts  # noqa: E402
from common.messages import MESSAGES  # noqa: E402

SETTINGS = "engine/protocol/settings.py"  # declared for engine and window; the window shows the marked texts
SHARED, SAID, SUGGESTIONS = "shared", "messages", "suggestions"  # contexts besides the packages of app/
NUMBERS = 1000  # numbers tried to count a language's plural forms
SUGGESTED = "assets/catalogue.toml"  # its `about` and `licence_note` texts are shown


@dataclass
class Text:
    """English text to translate: where it is shown, translators' notes, and whether it has plurals (`counted`)."""

    contexts: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)
    counted: bool = False

    @property
    def context(self) -> str:
        return min(self.contexts) if len(self.contexts) == 1 else SHARED


Texts = dict[str, Text]  # by English text


def main() -> int:
    wanted = texts()
    for path in sorted(FOLDER.glob("*.ts")):
        missing, gone = update(path, wanted)
        print(f"{path.relative_to(ROOT)}: {missing} not translated, {gone} no longer in the source")
    return 0


def texts() -> Texts:
    """Collect all texts that are to be translated."""
    wanted: Texts = {}
    for id, message in MESSAGES.items():
        one, many = message if isinstance(message, tuple) else ("", message)
        if not re.fullmatch(r"\{[^}]*\}", many):
            _add(wanted, one, many, SAID, "common/messages.py", id)
    for name, tree in (*_trees("app"), *(each for each in _trees("engine/protocol") if each[0] == SETTINGS)):
        for one, many in _said(tree):
            _add(wanted, one, many, "settings" if name == SETTINGS else _room(name), name)
    for model in tomllib.loads((ROOT / SUGGESTED).read_text(encoding="utf-8"))["model"]:
        for words in filter(None, (model["about"], model.get("licence_note"))):
            _add(wanted, "", words, SUGGESTIONS, SUGGESTED)
    return wanted


def update(path: Path, wanted: Texts) -> tuple[int, int]:
    """Rewrite the .ts file at `path`; return the number of texts without a translation and of texts removed."""
    known = {text: said for context in read_contexts(path).values() for text, said in context.items()}
    plurals = len(set(map(PLURALS[path.stem], range(NUMBERS))))
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<!DOCTYPE TS>"]
    lines.append(f'<TS version="2.1" language="{path.stem}" sourcelanguage="en">')
    for context in sorted({text.context for text in wanted.values()}):
        lines += ["<context>", f"  <name>{context}</name>"]
        here = [(min(text.files), english) for english, text in wanted.items() if text.context == context]
        for _, english in sorted(here):
            lines += _message(english, wanted[english], known.get(english, ()), plurals)
        lines.append("</context>")
    path.write_text("\n".join([*lines, "</TS>", ""]), encoding="utf-8")
    return sum(not known.get(text) for text in wanted), len(known.keys() - wanted.keys())


def _add(wanted: Texts, one: str, many: str, context: str, file: str, note: str = "") -> None:
    """Add a text; a `one` without the number is a text of its own (`common.sentences.plural_texts`)."""
    counted = bool(one)
    for english in (many, one) if one and "{n" not in one else (many,):
        text = wanted.setdefault(english, Text())
        text.contexts.add(context)
        text.files.add(file)
        text.notes |= {note} - {""}
        if counted and english == many:
            text.counted = True
            text.notes |= {f"n = 1: {one}"}


def _message(english: str, text: Text, forms: Forms, plurals: int) -> list[str]:
    if text.counted:
        every = (*forms, *("",) * plurals)[:plurals]
        said = "".join(f"<numerusform>{escape(form)}</numerusform>" for form in every)
    else:
        said = escape(forms[0]) if forms else ""
    unfinished = "" if forms else ' type="unfinished"'
    return [
        '  <message numerus="yes">' if text.counted else "  <message>",
        *(f'    <location filename="../../{name}"/>' for name in sorted(text.files)),
        f"    <source>{escape(english)}</source>",
        *(f"    <extracomment>{escape(note)}</extracomment>" for note in [", ".join(sorted(text.notes))] if note),
        f"    <translation{unfinished}>{said}</translation>",
        "  </message>",
    ]


def _room(name: str) -> str:
    """Return the context of a file of the window: its folder in app/."""
    return name.split("/")[1] if name.count("/") > 1 else "app"


def _trees(room: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / room).rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def _said(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the texts that are shown as pairs: the one for n = 1 (empty if there is none), and the other."""
    for node in ast.walk(tree):
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if isinstance(node, ast.Call) and name in ("tr", "mark"):
            yield from (("", text) for text in _constants(node.args[0]))
        elif isinstance(node, ast.Call) and name == "tr_n":
            one, many = (next(_constants(argument), "") for argument in node.args[:2])
            assert one, ast.unparse(node)
            assert many, ast.unparse(node)
            yield one, many


def _constants(node: ast.expr) -> Iterator[str]:
    """Yield a text, or both texts of `"a" if x else "b"`."""
    if isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


if __name__ == "__main__":
    sys.exit(main())
