"""One setting: what it is called, which values it takes, how they are read and shown. Knows neither file nor window."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Literal

from app.words import mark, tr
from common.byte_sizes import exact_bytes, parse_bytes

AUTO = "auto"
ADVANCED = "advanced"
WITHIN = mark("a number from {low} to {high}")
SHOWN = 40  # characters of a wrong value that its sentence repeats
Value = int | float | str


@dataclass(frozen=True, slots=True)
class Setting:
    """`default` is what the machine suggests. Sizes are bytes; `low` and `high` bound numbers, sizes and text lengths.

    `choices` are a choice's values, each with the words shown for it; with `auto` a number or size may be AUTO too.
    An `advanced` one stands at the end, apart from the others of its section.
    """

    section: str
    key: str
    kind: Literal["whole", "number", "size", "choice", "text"]
    default: Value
    title: str
    help: str
    low: float = 0
    high: float = math.inf
    choices: tuple[tuple[str, str], ...] = ()
    auto: bool = False
    advanced: bool = False

    def __post_init__(self) -> None:
        assert self.check(self.default) == self.default, self

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def group(self) -> str:
        """The heading it stands under."""
        return ADVANCED if self.advanced else self.section

    @property
    def allowed(self) -> str:
        """The values it takes, in words that end a sentence."""
        if self.kind == "choice":
            *first, last = [value for value, _ in self.choices]
            return tr("{several} or {last}", several=", ".join(first), last=last)
        if self.kind == "text":
            return tr("a text of at most {n:,.0f} characters", n=self.high)
        if self.kind == "size":
            words = tr("a size like 4GB, from {low} to {high}", low=_size(int(self.low)), high=_size(int(self.high)))
        else:
            said = mark("a whole number from {low} to {high}") if self.kind == "whole" else WITHIN
            words = tr(said, low=f"{self.low:,.10g}", high=f"{self.high:,.10g}")
        return tr("{several} or {last}", several=AUTO, last=words) if self.auto else words

    def check(self, raw: object) -> Value:
        """The value that `raw` from a file stands for; raises ValueError with a sentence that says what is allowed."""
        if self.auto and raw == AUTO:
            return AUTO
        value = self._value(raw)
        if value is None:
            wrong = tr(
                "{name} is {value}; it must be {allowed}", name=self.name, value=_quoted(raw), allowed=self.allowed
            )
            raise ValueError(wrong)
        return value

    def parse(self, text: str) -> Value:
        """The value that a user typed, nothing standing for automatic; raises ValueError as `check` does."""
        if self.kind in ("choice", "text"):
            return self.check(text.encode("utf-8", "replace").decode())  # half an emoji pasted cannot be stored
        text = text.strip()
        if self.auto and text.lower() in ("", AUTO):
            return AUTO
        with contextlib.suppress(ValueError):
            if self.kind == "whole":
                return self.check(int(text.replace(",", "")))
            if self.kind == "number":
                return self.check(float(text.replace(",", ".")))
        return self.check(text)

    def shown(self, value: Value) -> str:
        """The text that `parse` reads as `value`."""
        if self.auto and value == AUTO:
            return ""
        if self.kind == "size":
            return _size(int(value))
        return f"{value:.10g}" if isinstance(value, float) else str(value)

    def stored(self, value: Value) -> Value:
        """What stands in the file for `value`."""
        return _size(value) if self.kind == "size" and isinstance(value, int) and value else value

    def _value(self, raw: object) -> Value | None:
        if isinstance(raw, bool):  # a bool is an int to Python
            return None
        if self.kind == "choice":
            return raw if isinstance(raw, str) and raw in dict(self.choices) else None
        if self.kind == "text":
            return raw if isinstance(raw, str) and len(raw) <= self.high else None
        number = _bytes(raw) if self.kind == "size" else raw
        if not isinstance(number, int | float) or not self.low <= number <= self.high:
            return None
        if self.kind == "number":
            return float(number)
        return number if isinstance(number, int) else None


def _bytes(raw: object) -> object:
    """A size as bytes; what is none is given back."""
    if not isinstance(raw, str):
        return raw
    if raw.strip() == "0":  # nothing is no size of memory, but a quota
        return 0
    try:
        return parse_bytes(raw)
    except ValueError:
        return raw


def _size(size: int) -> str:
    return exact_bytes(size) if size else "0"


def _quoted(raw: object) -> str:
    if isinstance(raw, dict | list):
        return tr("a table") if isinstance(raw, dict) else tr("a list")
    text = str(raw).lower() if isinstance(raw, bool) else str(raw)
    text = text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return tr("“{text}”", text=text) if isinstance(raw, str) else text
