"""The values of a setting: which it takes, how they are read, shown and stored, and what is said of a wrong one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from app.words import mark, tr
from common.byte_sizes import exact_bytes, parse_bytes
from engine.protocol.settings import AUTO, Setting, Value

WITHIN = mark("a number from {low} to {high}")
SHOWN = 40  # characters of a wrong value that its sentence repeats


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with the settings' file. `str()` is the sentence now; two are equal if they say the same, in
    whatever language.

    `text` is English, marked; its `values` may be such sentences themselves."""

    text: str
    values: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        return tr(self.text, **dict(self.values))


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A value that the setting does not take. `str()` says now what it is and what is allowed."""

    setting: Setting
    raw: object

    def __str__(self) -> str:
        try:
            check(self.setting, self.raw)
        except ValueError as error:
            return str(error)
        return ""


def wrong(text: str, **values: object) -> Wrong:
    """`text`, marked, with what stands for its {names}."""
    return Wrong(text, tuple(values.items()))


def allowed(setting: Setting) -> str:
    """The values it takes, in words that end a sentence."""
    if setting.kind == "choice":
        *first, last = [value for value, _ in setting.choices]
        return tr("{several} or {last}", several=", ".join(first), last=last)
    if setting.kind in ("text", "file"):
        return tr("a text of at most {n:,.0f} characters", n=setting.high)
    if setting.kind == "size":
        low, high = _size(int(setting.low)), _size(int(setting.high))
        words = tr("a size like 4GB, from {low} to {high}", low=low, high=high)
    else:
        said = mark("a whole number from {low} to {high}") if setting.kind == "whole" else WITHIN
        words = tr(said, low=f"{setting.low:,.10g}", high=f"{setting.high:,.10g}")
    return tr("{several} or {last}", several=AUTO, last=words) if setting.auto else words


def check(setting: Setting, raw: object) -> Value:
    """The value that `raw` from a file stands for; raises ValueError with a sentence that says what is allowed."""
    if setting.auto and raw == AUTO:
        return AUTO
    value = _value(setting, raw)
    if value is None:
        sentence = mark("{name} is {value}; it must be {allowed}")
        raise ValueError(tr(sentence, name=setting.name, value=_quoted(raw), allowed=allowed(setting)))
    return value


def parse(setting: Setting, text: str) -> Value:
    """The value that a user typed, nothing standing for automatic; raises ValueError as `check` does."""
    if setting.kind in ("choice", "text", "file"):
        return check(setting, text.encode("utf-8", "replace").decode())  # half an emoji pasted cannot be stored
    text = text.strip()
    if setting.auto and text.lower() in ("", AUTO):
        return AUTO
    with contextlib.suppress(ValueError):
        if setting.kind == "whole":
            return check(setting, int(text.replace(",", "")))
        if setting.kind == "number":
            return check(setting, float(text.replace(",", ".")))
    return check(setting, text)


def shown(setting: Setting, value: Value) -> str:
    """The text that `parse` reads as `value`."""
    if setting.auto and value == AUTO:
        return ""
    if setting.kind == "size":
        return _size(int(value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def stored(setting: Setting, value: Value) -> Value:
    """What stands in the file for `value`."""
    return _size(value) if setting.kind == "size" and isinstance(value, int) and value else value


def _value(setting: Setting, raw: object) -> Value | None:
    if isinstance(raw, bool):  # a bool is an int to Python
        return None
    if setting.kind == "choice":
        return raw if isinstance(raw, str) and raw in dict(setting.choices) else None
    if setting.kind in ("text", "file"):
        return raw if isinstance(raw, str) and len(raw) <= setting.high else None
    number = _bytes(raw) if setting.kind == "size" else raw
    if not isinstance(number, int | float) or not setting.low <= number <= setting.high:
        return None
    if setting.kind == "number":
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
