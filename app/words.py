"""The window's texts in the user's language, and which language the system speaks. Knows no Qt.

The English text is the key. `tr` translates where the text is shown, so that another language takes effect at once;
constants of a module are only marked, by `mark`, and translated by `tr` when they are shown. The .ts file of Qt
Linguist is read directly (5 ms) instead of a compiled copy: the sentence about a library that Qt lacks must be
translated before Qt can start, and a copy could be out of date.
"""

from __future__ import annotations

import contextlib
import ctypes
import locale
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from common.sentences import Sentence, Translate, no_translation, plural_texts
from models.assets import asset

# The translations of one text: one, or one for each plural form of the language; empty while unfinished.
Forms = tuple[str, ...]
# Which of its plural forms a language uses for a number, in the order that Qt Linguist asks for them.
PLURALS: dict[str, Callable[[int], int]] = {"zh_CN": lambda _n: 0}
UiText = str | Sentence | Callable[[], str]  # a text, or how to word the text in the language of the moment

_translate: Translate = no_translation


def use(translate: Translate | None) -> None:
    """Translate with `translate` from now on; None switches back to English."""
    global _translate
    _translate = translate or no_translation


def mark(text: str) -> str:
    """Return `text` unchanged; the call makes the extraction find `text`, which `tr` translates later."""
    return text


def tr(text: str, /, **values: object) -> str:
    """Translate `text` and replace its `{names}` by `values`, formatted as str.format does."""
    return _filled(_translate(text), text, values)


def tr_n(one: str, many: str, n: int, /, **values: object) -> str:
    """Translate `one` for n = 1, else `many`; `{n}` in them is replaced by the number with thousands separated.

    The translations are those of `many`, with a form for each of the language's plurals. A `one` without `{n}` is a
    text of its own, for exactly one.
    """
    return _filled(*plural_texts(one, many, n, _translate), {"n": f"{n:,}"} | values)


AND, OR = mark("{several} and {last}"), mark("{several} or {last}")


def listed(names: Sequence[str], form: str = AND) -> str:
    """Return the names as a list in a sentence: 'A, B and C'; with OR, 'A, B or C'."""
    *several, last = names
    return tr(form, several=tr(", ").join(several), last=last) if several else last


def worded(sentence: Sentence | None) -> str:
    """Word a sentence of the engine, the models or the window in the current language; return "" for None."""
    return sentence.worded(_translate) if sentence else ""


def _filled(translated: str | None, text: str, values: Mapping[str, object]) -> str:
    if translated:
        with contextlib.suppress(KeyError, IndexError, ValueError):  # a wrong name in it must not end the program
            return translated.format(**values) if values else translated
    return text.format(**values) if values else text


def current_text(text: UiText) -> str:
    """Return the text in the current language."""
    if isinstance(text, Sentence):
        return worded(text)
    return text if isinstance(text, str) else text()


def escaped_html(text: str) -> str:
    """Return HTML that shows `text` literally.

    In a tool tip Qt guesses whether a text is HTML, and a name may look like HTML.
    """
    return f"<span>{escape(text)}</span>".replace("\n", "<br>")


# --- a translation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The translations of one language: `forms` by English text, and `plural`, which picks a form for a number."""

    forms: Mapping[str, Forms]
    plural: Callable[[int], int]

    def translate(self, text: str, n: int | None = None, /) -> str | None:
        """Return the translation of `text`, in the plural form for `n` if there are several; None if there is none."""
        forms = self.forms.get(text, ())
        return forms[0 if n is None or len(forms) < 2 else self.plural(n)] if forms else None


def read_catalogue(path: Path) -> Catalogue:
    """Read a .ts file; raise OSError or xml.etree.ElementTree.ParseError if that fails (our own files are valid)."""
    forms = {text: words for texts in read_contexts(path).values() for text, words in texts.items() if words}
    return Catalogue(forms, PLURALS[path.stem])


def read_contexts(path: Path) -> dict[str, dict[str, Forms]]:
    """Read a .ts file as {context: {English text: forms}}.

    Each text is in one context only: that of the package of `app/` that uses the text.
    """
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


# --- the system's language, for sentences that are shown before there is a window -------------------------------------

ENGLISH = "en"
TRADITIONAL = ("Hant", "TW", "HK", "MO")
VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first one that is set and not empty counts


def best_of(preferred: Iterable[str]) -> str:
    """Return the first of the user's languages (like zh-Hans-CN) that has a translation; English if none has one."""
    for name in preferred:
        language, *parts = name.replace("_", "-").split("-")
        if language == "en":
            return ENGLISH
        if language == "zh" and not any(part in TRADITIONAL for part in parts):
            return "zh_CN"
    return ENGLISH


def system_languages(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the languages that the user wants to read, the preferred one first.

    They come from the POSIX variables; on Windows and macOS, if none is set, from the system's own settings.
    """
    locale_name = next((environment[name] for name in VARIABLES if environment.get(name)), "")
    if not locale_name and sys.platform == "darwin":
        return _mac_languages() or [ENGLISH]
    if not locale_name and sys.platform == "win32":
        # `locale.getlocale` would give “Chinese (Simplified)_China”.
        locale_name = locale.windows_locale.get(ctypes.windll.kernel32.GetUserDefaultUILanguage(), "")
    name = locale_name.split(".")[0].split("@")[0]
    if name in ("", "C", "POSIX"):
        return [ENGLISH]
    return [*filter(None, environment.get("LANGUAGE", "").split(":")), name]


def _mac_languages() -> list[str]:
    """Return the languages of macOS' settings, the preferred one first; none where they cannot be read."""
    import plistlib  # other systems have no use for it
    from xml.parsers.expat import ExpatError

    try:
        with (Path.home() / "Library/Preferences/.GlobalPreferences.plist").open("rb") as file:
            languages = plistlib.load(file, dict_type=dict)["AppleLanguages"]
    except (OSError, plistlib.InvalidFileException, ExpatError, KeyError, TypeError):
        return []
    return [name for name in languages if isinstance(name, str)] if isinstance(languages, list) else []


def in_system_language(sentence: Sentence) -> str:
    """Word the sentence in the system's language if there is a translation, else in English."""
    language = best_of(system_languages())
    if language == ENGLISH:
        return str(sentence)
    return sentence.worded(read_catalogue(asset(f"translations/{language}.ts")).translate)
