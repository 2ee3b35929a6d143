"""Sentences to the user as a message id with values; the text is made in the reader's language where it is shown.

A `Sentence` crosses processes and is stored in that form. `str()` gives its English text, from the table in
`common.messages`; the window calls `worded` with its own translation, which also formats numbers and sizes.
"""

from __future__ import annotations

import contextlib
import math
import operator
import re
from collections.abc import Mapping
from string import Formatter
from typing import Any, Protocol

import msgspec

from common.byte_sizes import show_bytes
from common.messages import MESSAGES
from common.paths import printable, shortened

LONGEST_VALUE = 2000  # characters: a value may come from a hostile file, and crosses processes and logs
STOPS = (".", "!", "?", ":", "。", "！", "？")
VALUE_END = "\0"  # marks the end of a value that ends with a stop; no value has this character
WIRE_INT_LIMIT = 1 << 63  # integers must be smaller: the wire's encoding takes 64 bits with a sign


class Translate(Protocol):
    """Function that translates an English text, in the plural form for `n`; returns None without a translation."""

    def __call__(self, text: str, n: int | None = None, /) -> str | None: ...


def no_translation(_text: str, _n: int | None = None, /) -> None:
    """Return no translation, so that the English text is used."""


def plural_texts(one: str, many: str, n: int | None, translate: Translate) -> tuple[str | None, str]:
    """Return the translation (None if there is none) and the English text, in the form for `n`.

    English uses `one` for n = 1 and `many` otherwise. Translated is `many`, which has one form for each plural of the
    language. Only a `one` without the number in it is translated on its own, for exactly 1: some languages use their
    singular form for 21 too.
    """
    if n == 1 and "{n" not in one:
        return translate(one), one
    return translate(many, n), one if n == 1 else many


class Sentence(msgspec.Struct, frozen=True):
    """Message to the user as an `id`, a key of MESSAGES, and the `values` that fill the holes of its text.

    A value is a text, a number (of bytes, if the hole says so) or another sentence.
    """

    id: str
    values: Mapping[str, str | int | float | Sentence] = {}

    @classmethod
    def of(cls, id: str, /, **values: object) -> Sentence:
        """Build a sentence from values of any kind.

        What is neither a number nor a sentence becomes printable text of at most LONGEST_VALUE characters.
        """
        return cls(id, {name: _value(value) for name, value in values.items()})

    @classmethod
    def plain(cls, text: str) -> Sentence:
        """Build a sentence that is shown as `text` in every language: for texts of a library or an earlier version."""
        return cls.of("plain.text", text=text)

    @property
    def code(self) -> str:
        """Kind of event, for programs: the id up to its dot."""
        return self.id.partition(".")[0]

    def __str__(self) -> str:
        return self.worded(no_translation)

    def worded(self, translate: Translate) -> str:
        """Return the text in the language of `translate`, or in English if that has no translation.

        Never raises: a stored or received sentence may be of another version, and is then shown as its id and values. A
        message without words of its own, like "{reason}", is as empty as its values.
        """
        for text in filter(None, self._texts(translate)):
            with contextlib.suppress(LookupError, ValueError, TypeError, AttributeError):
                return one_full_stop(_Filler(translate).vformat(text, (), self.values))
        return f"{self.id} {', '.join(map(str, self.values.values()))}".strip()

    def _texts(self, translate: Translate) -> tuple[str | None, ...]:
        """Return the translation (None if there is none) and the English text; nothing for an id of another version."""
        message, n = MESSAGES.get(self.id), self.values.get("n")
        if isinstance(message, tuple):
            return plural_texts(*message, n if isinstance(n, int) else None, translate)
        return (translate(message), message) if message else ()


def join_sentences(first: Sentence, *others: Sentence) -> Sentence:
    """Join sentences into one that shows them one after the other."""
    for other in others:
        first = Sentence.of("sentences.two", first=first, second=other)
    return first


def encode_sentence(sentence: Sentence) -> str:
    """Encode a sentence as text for `decode_sentence`: JSON, or just the text of a plain sentence."""
    text = sentence.values.get("text")
    return text if sentence.id == "plain.text" and isinstance(text, str) else msgspec.json.encode(sentence).decode()


def decode_sentence(text: str) -> Sentence:
    """Decode what `encode_sentence` wrote; any other text becomes a plain sentence.

    Earlier versions stored English texts.
    """
    if text.startswith('{"id":'):
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            return msgspec.json.decode(text, type=Sentence)
    return Sentence.plain(text)


class _Filler(Formatter):
    """Formatter for the holes of a text: `{size:bytes}` shows a size, `{n:,}` works as in str.format.

    A value that is a sentence is worded in the same language.
    """

    def __init__(self, translate: Translate) -> None:
        self._translate = translate

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Sentence):
            text = value.worded(self._translate)
        else:
            text = show_bytes(value) if format_spec == "bytes" else format(value, format_spec)
        return text + VALUE_END if text.endswith(STOPS) else text


def one_full_stop(text: str) -> str:
    """Return a filled text where no full stop follows a value that ends a sentence itself, as a library's words may."""
    return re.sub(f"{VALUE_END}[.。]?", "", re.sub(f":{VALUE_END}(?=[.。])", "", text))


def _value(value: object) -> str | int | float | Sentence:
    if isinstance(value, Sentence):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # also NumPy's
    except TypeError:
        return shortened(printable(str(value)), LONGEST_VALUE)
    return number if abs(number) < WIRE_INT_LIMIT else str(number)
