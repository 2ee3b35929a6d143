"""The values of a setting: which are allowed, how they are read, shown and stored, and how wrong ones are explained."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from app.words import OR, listed, mark, tr
from common.byte_sizes import exact_bytes, parse_bytes
from engine.protocol.settings import AUTO, Setting, Value

WITHIN = mark("a number from {low} to {high}")
SHOWN = 40  # characters of a wrong value that the message repeats


@dataclass(frozen=True, slots=True)
class Wrong:
    """A problem with the settings file; `str()` words the problem in the current language.

    `text` is English, marked by `mark`; `values` fill its placeholders and may be such problems themselves. Two
    problems are equal if they say the same, whatever the language.
    """

    text: str
    values: tuple[tuple[str, object], ...] = ()

    @property
    def log_text(self) -> str:
        """Text for the log: without values, which may be the user's own words."""
        wrong_values = [value.setting.name for _, value in self.values if isinstance(value, WrongValue)]
        return " ".join((self.text, *wrong_values))

    def __str__(self) -> str:
        return tr(self.text, **dict(self.values))


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A value that the setting does not allow; `str()` names the value and what is allowed in the current language."""

    setting: Setting
    raw: object

    def __str__(self) -> str:
        try:
            check(self.setting, self.raw)
        except ValueError as error:
            return str(error)
        return ""


def wrong(text: str, **values: object) -> Wrong:
    """Build a Wrong from a marked text and the values of its {names}."""
    return Wrong(text, tuple(values.items()))


def allowed(setting: Setting) -> str:
    """Describe the allowed values in words that can end a sentence."""
    if setting.kind == "choice":
        return listed([value for value, _ in setting.choices], OR)
    if setting.kind == "folder":
        return tr("the full path of a folder")
    if setting.kind in ("text", "file", "name"):
        return tr("a text of at most {n:,.0f} characters", n=setting.high)
    if setting.kind == "size":
        low, high = _size(int(setting.low)), _size(int(setting.high))
        words = tr("a size like 4GB, from {low} to {high}", low=low, high=high)
    else:
        range_text = mark("a whole number from {low} to {high}") if setting.kind == "whole" else WITHIN
        words = tr(range_text, low=f"{setting.low:,.10g}", high=f"{setting.high:,.10g}")
    return listed([AUTO, words], OR) if setting.auto else words


def check(setting: Setting, raw: object) -> Value:
    """Return the value that `raw` from a file stands for; raise ValueError that says what is allowed."""
    if setting.auto and raw == AUTO:
        return AUTO
    value = _value(setting, raw)
    if value is None:
        sentence = mark("{name} is {value}; it must be {allowed}")
        raise ValueError(tr(sentence, name=setting.name, value=_quoted(raw), allowed=allowed(setting)))
    return value


def parse(setting: Setting, text: str) -> Value:
    """Return the value for a text that the user typed; raise ValueError as `check` does.

    An empty text stands for AUTO if the setting has it.
    """
    if setting.kind in ("choice", "text", "file", "folder", "name"):
        # A lone surrogate, half of a pasted emoji, cannot be stored.
        return check(setting, text.encode("utf-8", "replace").decode())
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
    """Return the text that `parse` reads as `value`."""
    if setting.auto and value == AUTO:
        return ""
    if setting.kind == "size":
        return _size(int(value))
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def stored(setting: Setting, value: Value) -> Value:
    """Return the form in which `value` is stored in the file: sizes as '4GB', other values unchanged."""
    return _size(value) if setting.kind == "size" and isinstance(value, int) and value else value


def _value(setting: Setting, raw: object) -> Value | None:
    if isinstance(raw, bool):  # in Python a bool is an int
        return None
    if setting.kind == "choice":
        return raw if isinstance(raw, str) and raw in dict(setting.choices) else None
    if setting.kind == "folder":
        return raw if isinstance(raw, str) and (not raw or Path(raw).is_absolute()) and "\0" not in raw else None
    if setting.kind in ("text", "file", "name"):
        fits = isinstance(raw, str) and setting.low <= len(raw) <= setting.high
        return raw if isinstance(raw, str) and fits else None
    number = _bytes(raw) if setting.kind == "size" else raw
    if not isinstance(number, int | float) or not setting.low <= number <= setting.high:
        return None
    if setting.kind == "number":
        return float(number)
    return number if isinstance(number, int) else None


def _bytes(raw: object) -> object:
    """Convert a size like '4GB' to bytes; return `raw` itself if it is not a size."""
    if not isinstance(raw, str):
        return raw
    if raw.strip() == "0":  # 0 is not a size of memory, but a valid quota
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
