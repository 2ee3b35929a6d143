"""The mutants of a module: its text with one thing broken, by mutmut's operators and some of our own."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment, operator_string

CODE = cst.Module(())
NEVER = cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom | cst.Assert


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken text of a module; the words `old`, which begin in line `line`, became `new`."""

    line: int
    old: str
    new: str
    text: str


def mutants(text: str) -> list[Mutant]:
    """Return the module's mutants in the order of its lines, without those that are no Python."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    spans = wrapper.resolve(ByteSpanPositionProvider)
    breaks, data, texts = Breaks(), text.encode(), {text: 0}
    wrapper.module.visit(breaks)
    for node, broken in breaks.found:
        span = spans[node]
        if isinstance(broken, cst.BaseCompoundStatement):  # its lines need the indentation around it
            code = wrapper.module.deep_replace(node, broken).code
        else:
            around = len(getattr(node, "lpar", ())) if getattr(broken, "lpar", ()) else 0  # a span is without these
            piece = wrapper.module.code_for_node(broken).strip().encode()
            piece = piece[around : len(piece) - around].strip()
            code = (data[: span.start] + piece + data[span.start + span.length :]).decode()
        if is_python(code):
            texts.setdefault(code, span.start)
    return [compare(text, code) for code in sorted(texts, key=texts.__getitem__) if code != text]


def is_python(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def compare(text: str, code: str) -> Mutant:
    old, new = text.splitlines(), code.splitlines()
    changes = [part for part in difflib.SequenceMatcher(None, old, new, False).get_opcodes() if part[0] != "equal"]
    (_, start, _, new_start, _), (*_, end, _, new_end) = changes[0], changes[-1]
    before, after = (" ".join(line.strip() for line in part) for part in (old[start:end], new[new_start:new_end]))
    return Mutant(start + 1, before, after, code)


class Breaks(cst.CSTVisitor):  # type: ignore[misc]
    """All pairs of a node and what breaks it. Left out: types, imports, decorators, asserts, the log, Windows.

    `strict=True` is an assertion too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, NEVER) or is_log(node) or is_type(node) or is_strict(node):
            return False
        if isinstance(node, cst.If) and "win32" in CODE.code_for_node(node.test):
            if node.orelse:
                node.orelse.visit(self)
            return False
        self.found += [
            (node, broken) for kind, breaks in OPERATORS if isinstance(node, kind) for broken in breaks(node)
        ]
        if isinstance(node, cst.If | cst.While | cst.CompIf):  # a loop that never ends is left out
            self.found += [(node.test, cst.Name(value)) for value in ("False", "True")[: 1 + isinstance(node, cst.If)]]
        return True


def is_log(node: cst.CSTNode) -> bool:
    call = node.value if isinstance(node, cst.Expr) else None
    function = call.func if isinstance(call, cst.Call) else None
    return (
        isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name) and function.value.value == "log"
    )


def is_type(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value == "Literal"


def is_strict(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "strict"


def other_value(node: cst.Assign | cst.AnnAssign) -> Iterator[cst.CSTNode]:
    """Yield mutmut's assignment of None; in place of a type or of another empty value, only mypy would notice it."""
    if node.value and not is_type(node.value) and CODE.code_for_node(node.value) not in ("None", "False", '""'):
        yield from operator_assignment(node)


def other_word(node: cst.BaseString) -> Iterator[cst.BaseString]:
    """Yield mutmut's first other text for a string of one word; a sentence is meant for people."""
    if isinstance(node, cst.SimpleString) and " " not in node.value:
        yield from list(operator_string(node))[:1]


def no_statement(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if not (isinstance(node, cst.Expr) and isinstance(node.value, cst.BaseString | cst.Ellipsis)):
        yield cst.Pass()


def no_keyword(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Yield the call without one of its keyword arguments. Without another one, nearly every call would just raise."""
    for index, argument in enumerate(node.args):
        if argument.keyword and not is_strict(argument):
            yield node.with_changes(args=[*node.args[:index], *node.args[index + 1 :]])


def one_less(node: Any) -> Iterator[cst.CSTNode]:
    """Yield a table without one of its elements. A tuple without parentheses is an assignment's, not a table."""
    is_assigned = isinstance(node, cst.Tuple) and not node.lpar
    is_last = isinstance(node, cst.Set) and len(node.elements) == 1  # without it, {} would be a dict
    if not is_assigned and not is_last:
        for index in range(len(node.elements)):
            yield node.with_changes(elements=[*node.elements[:index], *node.elements[index + 1 :]])


REPLACED = (operator_string, operator_arg_removal, operator_assignment)
OPERATORS: list[tuple[Any, Callable[[Any], Any]]] = [
    *(pair for pair in mutation_operators if pair[1] not in REPLACED),
    (cst.Assign | cst.AnnAssign, other_value),
    (cst.BaseString, other_word),
    (cst.Call, no_keyword),
    (cst.Expr | cst.Raise | cst.Return | cst.AugAssign | cst.Del, no_statement),
    (cst.Tuple | cst.List | cst.Set | cst.Dict, one_less),
]
