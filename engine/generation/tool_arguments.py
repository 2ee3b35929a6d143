"""Arguments of tool calls in the notations of different models: where they end in a text, and what they say."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from engine.tokenization.tool_formats import QUOTE, Arguments

XML_PARAMETER = re.compile(r"<parameter=([^>\n]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
XML_END = "</function>"
GEMMA_KEY = re.compile(r"([{,])\s*([A-Za-z0-9_.-]+)\s*:")
QUOTES = {"json": ('"',), "python": ('"', "'"), "gemma": (QUOTE,)}  # what begins and ends a string
JSON_NAMES = {"true": True, "false": False, "null": None}
Values = dict[str, Any]


class ArgumentsEnd:
    """Search for the end of a call's arguments in a text that grows, beginning with them."""

    def __init__(self, notation: Arguments) -> None:
        self._notation = notation
        self._quotes = QUOTES.get(notation, ())
        self._escapes = notation != "gemma"
        self._at = self._depth = 0
        self._quote = ""  # that began the open string

    def find(self, text: str) -> int | None:
        """Return where the arguments end, or None if they go on.

        JSON ends behind its last brace, the others before the sign or tag that closes them.
        """
        if self._notation == "xml":
            closing = text.find(XML_END, max(0, self._at - len(XML_END)))
            self._at = len(text)
            return closing if closing >= 0 else None
        while self._at < len(text):
            if len(text) - self._at < len(QUOTE) and QUOTE.startswith(text[self._at :]) and not self._escapes:
                return None  # perhaps the first part of Gemma's mark
            if (end := self._read_sign(text)) is not None:
                return end
        return None

    def _read_sign(self, text: str) -> int | None:
        """Read the next sign of the text; return where the arguments end if it ends them."""
        sign = next((quote for quote in self._quotes if text.startswith(quote, self._at)), text[self._at])
        self._at += len(sign)
        if self._quote:
            if sign == self._quote:
                self._quote = ""
            elif sign == "\\" and self._escapes:
                self._at += 1  # the next sign is part of the string
        elif sign in self._quotes:
            self._quote = sign
        elif sign in "([{":
            self._depth += 1
        elif sign in ")]}":
            self._depth -= 1
            if self._notation == "json" and self._depth <= 0:
                return self._at
            if self._depth < 0:
                return self._at - 1
        return None


def read_arguments(notation: Arguments, text: str, properties: Mapping[str, Any]) -> Values | None:
    """Return the arguments that a text says, or None if it makes no sense; `properties`: those of the tool's schema."""
    match notation:
        case "json":
            return json_object(text)
        case "xml":
            return xml_values(text, properties)
        case "python":
            return python_values(text, properties)
        case "gemma":
            return gemma_values(text)


def json_object(text: str) -> Values | None:
    """Return the JSON object that a text is, or None."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        return value if isinstance(value, dict) else None
    return None


def xml_values(text: str, properties: Mapping[str, Any]) -> Values:
    """Return arguments in tags; those that the schema does not call strings are JSON."""
    values: Values = {}
    for name, raw in XML_PARAMETER.findall(text):
        schema = properties.get(name)
        values[name] = raw
        if not (isinstance(schema, dict) and schema.get("type") == "string"):
            with suppress(ValueError, RecursionError):
                values[name] = json.loads(raw)
    return values


def python_values(text: str, properties: Mapping[str, Any]) -> Values | None:
    """Return Python's keyword arguments; arguments without a name are the properties in order."""
    with suppress(SyntaxError, ValueError, TypeError, RecursionError, MemoryError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would quote the text in the log
        call = JsonNames().visit(ast.parse(f"f({text})", mode="eval")).body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) > len(properties):
            return None
        values = {name: ast.literal_eval(node) for name, node in zip(properties, call.args, strict=False)}
        values |= {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
        json.dumps(values)  # raises TypeError for sets and bytes
        return values
    return None


class JsonNames(ast.NodeTransformer):
    """Replacement of JSON's names for true, false and null by the values that they mean."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the constant that a name stands for, or the name."""
        return ast.Constant(JSON_NAMES[node.id]) if node.id in JSON_NAMES else node


def gemma_values(text: str) -> Values | None:
    """Return arguments in Gemma's notation: JSON with bare keys, in which strings stand between marks."""
    parts = f"{{{text}}}".split(QUOTE)
    plain = [GEMMA_KEY.sub(r'\1"\2":', part) if i % 2 == 0 else json.dumps(part) for i, part in enumerate(parts)]
    return json_object("".join(plain))
