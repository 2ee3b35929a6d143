"""What is said to the user as an id and values: it crosses processes and is stored so, and is worded where it is shown.

In English by `str()`, from the table in `common.messages`; the window words it in its own language, numbers and sizes
included, with `worded`.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Mapping
from string import Formatter
from typing import Any, Protocol

import msgspec

from common.byte_sizes import show_bytes
from common.messages import MESSAGES
from common.paths import printable

MOST = 1 << 63  # the first whole number that the wire does not take


class Translate(Protocol):
    """The translation of an English text, for the number `n` where it has plural forms; None where there is none."""

    def __call__(self, text: str, n: int | None = None, /) -> str | None: ...


def english(_text: str, _n: int | None = None, /) -> None:
    """Translates nothing."""


def counted(one: str, many: str, n: int | None, translate: Translate) -> tuple[str | None, str]:
    """The translation, if there is one, and the English: `one` for n = 1, else `many`.

    Translated is `many`, into one form for each of the language's plurals. A `one` without the number is a text of its
    own, for exactly one: in some languages that form is that of 21 too."""
    if n == 1 and "{n" not in one:
        return translate(one), one
    return translate(many, n), one if n == 1 else many


class Sentence(msgspec.Struct, frozen=True):
    """`id` is a key of MESSAGES, `values` fill the holes of its text: texts, numbers (of bytes, where the hole says so)
    and other sentences."""

    id: str
    values: Mapping[str, str | int | float | Sentence] = {}

    @classmethod
    def of(cls, id: str, /, **values: object) -> Sentence:
        """With values of any kind; what is neither a number nor a sentence is taken as text that can be printed."""
        return cls(id, {name: _value(value) for name, value in values.items()})

    @classmethod
    def plain(cls, text: str) -> Sentence:
        """What was made in one language, by a library or an earlier version, and is shown as it is."""
        return cls.of("plain.text", text=text)

    @property
    def code(self) -> str:
        """What kind of thing happened, for programs: the id up to its dot."""
        return self.id.partition(".")[0]

    def __str__(self) -> str:
        return self.worded(english)

    def worded(self, translate: Translate) -> str:
        """In the language of `translate`; in English where that has no translation. Never fails: what is stored or sent
        may be of another version."""
        for text in filter(None, self._texts(translate)):
            with contextlib.suppress(LookupError, ValueError, TypeError, AttributeError):
                return _Filler(translate).vformat(text, (), self.values)
        return f"{self.id} {', '.join(map(str, self.values.values()))}".strip()

    def _texts(self, translate: Translate) -> tuple[str | None, ...]:
        """The translation, if there is one, and the English; none of what another version says."""
        message, n = MESSAGES.get(self.id), self.values.get("n")
        if isinstance(message, tuple):
            return counted(*message, n if isinstance(n, int) else None, translate)
        return (translate(message), message) if message else ()


def together(first: Sentence, *others: Sentence) -> Sentence:
    """One sentence behind the other."""
    for other in others:
        first = Sentence.of("sentences.two", first=first, second=other)
    return first


def stored(sentence: Sentence) -> str:
    """As text that `restored` reads; a plain one as it is."""
    text = sentence.values.get("text")
    return text if sentence.id == "plain.text" and isinstance(text, str) else msgspec.json.encode(sentence).decode()


def restored(text: str) -> Sentence:
    """What `stored` wrote. A text that it did not write is plain: earlier versions stored English sentences."""
    if text.startswith('{"id":'):
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            return msgspec.json.decode(text, type=Sentence)
    return Sentence.plain(text)


class _Filler(Formatter):
    """Fills holes: `{size:bytes}` with a size, `{n:,}` as str.format does, any with a sentence in the same language."""

    def __init__(self, translate: Translate) -> None:
        self._translate = translate

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Sentence):
            return value.worded(self._translate)
        return show_bytes(value) if format_spec == "bytes" else format(value, format_spec)


def _value(value: object) -> str | int | float | Sentence:
    if isinstance(value, Sentence):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # also NumPy's
    except TypeError:
        return printable(str(value))
    return number if abs(number) < MOST else str(number)
