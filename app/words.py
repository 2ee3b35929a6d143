"""The window's words in the user's language. Knows no Qt: the wiring brings the translator.

The English text is the key. `tr` translates where the text is shown, so that another language takes effect at once;
constants of a module are only marked, by `mark`, and translated by `tr` when they are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

Translate = Callable[[str], str]
Saying = str | Callable[[], str]  # words, or how to say them in the language of the moment


def _as_it_is(text: str) -> str:
    return text


_translate: Translate = _as_it_is
_tell: Translate = _as_it_is


def use(translate: Translate | None, tell: Translate | None = None) -> None:
    """From now on translate words with `translate` and sentences with `tell`; None: English as it is."""
    global _translate, _tell
    _translate = translate or _as_it_is
    _tell = tell or _as_it_is


def mark(text: str) -> str:
    """Says that `text` will be translated by `tr` later, so that it is found for translation."""
    return text


def tr(text: str, /, **values: object) -> str:
    """`text` in the user's language with `{names}` replaced by `values`, formatted as str.format does."""
    translated = _translate(text)
    if not values:
        return translated
    try:
        return translated.format(**values)
    except (KeyError, IndexError, ValueError):  # a translation with a wrong name in it must not end the program
        return text.format(**values)


def tr_n(one: str, many: str, n: int, /, **values: object) -> str:
    """`one` for n = 1, else `many`; `{n}` in them is the number, with thousands separated."""
    return tr(one if n == 1 else many, n=f"{n:,}", **values)


def said(saying: Saying) -> str:
    """The words now."""
    return saying if isinstance(saying, str) else saying()


def as_written(text: str) -> str:
    """HTML that shows `text` letter by letter: in a tool tip Qt guesses which of the two a text is, and a name may look
    like either."""
    return f"<span>{escape(text)}</span>".replace("\n", "<br>")


def told(sentence: str) -> str:
    """What the engine or a model file's reader said, in the user's language; it was made in English, numbers and all.

    Stored in English, translated where it is shown."""
    return _tell(sentence)


def in_bytes(count: int) -> str:
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{max(1, count / 1e3):,.0f} kB"
