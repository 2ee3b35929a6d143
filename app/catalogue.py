"""Our translations: which language the system speaks, and its words and sentences, read from a .ts file. Knows no Qt.

The .ts file itself is read (3 ms for 600 entries), not a compiled copy of it that could be an older one.
"""

from __future__ import annotations

import locale
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from models.assets import asset

WINDOW, ENGINE = "Chickadee", "Engine"  # the contexts: what the window says, and sentences of engine and models
HOLE = re.compile(r"\{(\d+)\}")
NESTED = 3  # a sentence in a sentence, and a hole in that


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence with holes {1}, {2}…: `pattern` finds what filled them, `translation` has the same holes."""

    pattern: re.Pattern[str]
    translation: str

    def filled(self, values: list[str]) -> str:
        return HOLE.sub(lambda hole: values[int(hole[1]) - 1], self.translation)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """`words` by their English text; `templates` from the one with most words of its own to the one with fewest."""

    words: dict[str, str] = field(default_factory=dict)
    templates: tuple[Template, ...] = ()

    def translate(self, text: str) -> str:
        """The translation of one of the window's words, else the English."""
        return self.words.get(text) or text

    def sentence(self, text: str, depth: int = NESTED) -> str:
        """The translation of what the engine said, sentence after sentence; all of it English if one is unknown."""
        done, rest = "", text
        while rest.strip() and depth:
            for template in self.templates:
                found = template.pattern.match(rest)
                if found and found.end():
                    break
            else:
                return text
            done += template.filled([self.sentence(value, depth - 1) for value in found.groups()])
            rest = rest[found.end() :]
        return done or text


def read_catalogue(path: Path) -> Catalogue:
    """Raises OSError or xml.etree.ElementTree.ParseError when the file cannot be read; ours always can."""
    contexts = read_contexts(path)
    sentences = {source: said for source, said in contexts.get(ENGINE, {}).items() if said}
    ordered = sorted(sentences, key=lambda source: len(HOLE.sub("", source)), reverse=True)
    words = {source: said for source, said in contexts.get(WINDOW, {}).items() if said}
    return Catalogue(words, tuple(Template(_pattern(source), sentences[source]) for source in ordered))


def read_contexts(path: Path) -> dict[str, dict[str, str]]:
    """Translations by English text by context; an unfinished one is empty."""
    contexts: dict[str, dict[str, str]] = {}
    for context in ElementTree.parse(path).getroot().iter("context"):
        entries = contexts.setdefault(context.findtext("name", ""), {})
        for message in context.iter("message"):
            entries[message.findtext("source", "")] = message.findtext("translation") or ""
    return contexts


def _pattern(source: str) -> re.Pattern[str]:
    """Holes may be empty, and pieces of a sentence lie a space apart."""
    parts = [re.escape(part) for part in HOLE.split(source.strip())[::2]]
    return re.compile(r"\s?" + "(.*?)".join(parts) + r"(?=[\s,.;:]|$)", re.DOTALL)


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


def in_system_language(sentence: str) -> str:
    """A sentence of ours, translated if the system speaks one of our languages."""
    language = best_of(system_languages())
    return sentence if language == ENGLISH else read_catalogue(asset(f"translations/{language}.ts")).sentence(sentence)
