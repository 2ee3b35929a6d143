"""The window's words in the user's language. Knows no Qt: the wiring brings the translator.

The English text is the key. `tr` translates where the text is shown, so that another language takes effect at once;
constants of a module are only marked, by `mark`, and translated by `tr` when they are shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from html import escape

from common.sentences import Sentence, Translate, counted, english

Saying = str | Sentence | Callable[[], str]  # words, or how to say them in the language of the moment


_translate: Translate = english


def use(translate: Translate | None) -> None:
    """From now on translate with `translate`; None: English as it is."""
    global _translate
    _translate = translate or english


def mark(text: str) -> str:
    """Says that `text` will be translated by `tr` later, so that it is found for translation."""
    return text


def tr(text: str, /, **values: object) -> str:
    """`text` in the user's language with `{names}` replaced by `values`, formatted as str.format does."""
    return _filled(_translate(text), text, values)


def tr_n(one: str, many: str, n: int, /, **values: object) -> str:
    """`one` for n = 1, else `many`; `{n}` in them is the number, with thousands separated.

    Translations are of `many`, with a form for each of the language's plurals; a `one` without `{n}` is a text of its
    own, for exactly one."""
    return _filled(*counted(one, many, n, _translate), {"n": f"{n:,}"} | values)


def worded(sentence: Sentence | None) -> str:
    """What engine, models or window say by a code and values, in the user's language now; None: nothing."""
    return sentence.worded(_translate) if sentence else ""


def _filled(translated: str | None, text: str, values: Mapping[str, object]) -> str:
    if translated:
        with contextlib.suppress(KeyError, IndexError, ValueError):  # a wrong name in it must not end the program
            return translated.format(**values) if values else translated
    return text.format(**values) if values else text


def said(saying: Saying) -> str:
    """The words now."""
    if isinstance(saying, Sentence):
        return worded(saying)
    return saying if isinstance(saying, str) else saying()


def as_written(text: str) -> str:
    """HTML that shows `text` letter by letter: in a tool tip Qt guesses which of the two a text is, and a name may look
    like either."""
    return f"<span>{escape(text)}</span>".replace("\n", "<br>")


def in_bytes(count: int) -> str:
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:,.0f} MB" if count >= 1e6 else f"{max(1, count / 1e3):,.0f} kB"
