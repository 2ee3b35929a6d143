"""The window's words in the user's language, and which language the system speaks. Knows no Qt.

The English text is the key. `tr` translates where the text is shown, so that another language takes effect at once;
constants of a module are only marked, by `mark`, and translated by `tr` when they are shown. A file of Qt Linguist's
(.ts) is read itself (5 ms), not a compiled copy of it: what is missing for Qt to start must be said in the user's
language too, and a copy could be an older one.
"""

from __future__ import annotations

import contextlib
import locale
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from common.sentences import Sentence, Translate, counted, english
from models.assets import asset

Forms = tuple[str, ...]  # of one text: one, or one for each plural form of the language; none while unfinished
# Which of its plural forms a language uses for a number, in the order that Qt Linguist asks for them.
PLURALS: dict[str, Callable[[int], int]] = {"zh_CN": lambda _n: 0}
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


# --- a translation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Catalogue:
    """`forms` by their English text."""

    forms: Mapping[str, Forms]
    plural: Callable[[int], int]

    def translate(self, text: str, n: int | None = None, /) -> str | None:
        """The translation, in the form for the number `n` where there are several; None where there is none."""
        forms = self.forms.get(text, ())
        return forms[0 if n is None or len(forms) < 2 else self.plural(n)] if forms else None


def read_catalogue(path: Path) -> Catalogue:
    """Raises OSError or xml.etree.ElementTree.ParseError when the file cannot be read; ours always can."""
    forms = {text: said for texts in read_contexts(path).values() for text, said in texts.items() if said}
    return Catalogue(forms, PLURALS[path.stem])


def read_contexts(path: Path) -> dict[str, dict[str, Forms]]:
    """Forms by English text by context. A text is in one context only: that of the room that says it."""
    contexts: dict[str, dict[str, Forms]] = {}
    for context in ElementTree.parse(path).getroot().iter("context"):
        texts = contexts.setdefault(context.findtext("name", ""), {})
        for message in context.iter("message"):
            texts[message.findtext("source", "")] = _forms(message.find("translation"))
    return contexts


def _forms(translation: ElementTree.Element | None) -> Forms:
    if translation is None:
        return ()
    forms = [form.text or "" for form in translation.iter("numerusform")] or [translation.text or ""]
    return tuple(forms) if all(forms) else ()


# --- the system's language, for what is said before there is a window -------------------------------------------------

ENGLISH = "en"
TRADITIONAL = ("Hant", "TW", "HK", "MO")
VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first that says something counts


def best_of(preferred: Iterable[str]) -> str:
    """The first of the user's languages (like zh-Hans-CN) that there is; English if there is none."""
    for name in preferred:
        language, *parts = name.replace("_", "-").split("-")
        if language == "en":
            return ENGLISH
        if language == "zh" and not any(part in TRADITIONAL for part in parts):
            return "zh_CN"
    return ENGLISH


def system_languages(environment: Mapping[str, str] = os.environ) -> list[str]:
    """What the user wants to read, the dearest first, as POSIX systems say it; elsewhere the system's own."""
    said = next((environment[name] for name in VARIABLES if environment.get(name)), "")
    if not said and sys.platform in ("win32", "darwin"):
        said = locale.getlocale()[0] or ""
    name = said.split(".")[0].split("@")[0]
    if name in ("", "C", "POSIX"):
        return [ENGLISH]
    return [*filter(None, environment.get("LANGUAGE", "").split(":")), name]


def in_system_language(sentence: Sentence) -> str:
    """Translated if the system speaks one of our languages."""
    language = best_of(system_languages())
    if language == ENGLISH:
        return str(sentence)
    return sentence.worded(read_catalogue(asset(f"translations/{language}.ts")).translate)
