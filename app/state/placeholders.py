"""Variables in a prompt snippet, like `{{date}}` and `{{language=English}}`: finds them and fills them in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

KNOWN = ("clipboard", "date", "time", "selection")  # filled without asking, unless there is nothing to fill in
MOST_NAME = 60  # characters
_MARK = re.compile(r"(\\?)\{\{([^{}\n]{1,400})\}\}")


@dataclass(frozen=True, slots=True)
class Variable:
    """Variable of a snippet: one of KNOWN, or a `name` that the user is asked for, with a `default`."""

    name: str
    default: str = ""

    @property
    def known(self) -> bool:
        return self.name in KNOWN


def _variable(inner: str) -> Variable | None:
    """Return the variable between the braces; None if what is there is no name."""
    name, _, default = (part.strip() for part in inner.partition("="))
    if not name or len(name) > MOST_NAME:
        return None
    return Variable(name.casefold() if name.casefold() in KNOWN else name, default)


def variables_of(text: str) -> list[Variable]:
    """Return the variables of a snippet in the order of their first places, each once; the first default counts."""
    variables: dict[str, Variable] = {}
    for escaped, inner in _MARK.findall(text):
        variable = None if escaped else _variable(inner)
        if variable is not None:
            variables.setdefault(variable.name, variable)
    return list(variables.values())


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with every variable replaced by its value, in one pass: values may contain braces themselves.

    A variable without a value stays as it is written. A backslash before the braces is removed and keeps what follows.
    """

    def value(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        variable = _variable(match[2])
        return match[0] if variable is None else values.get(variable.name, match[0])

    return _MARK.sub(value, text)
