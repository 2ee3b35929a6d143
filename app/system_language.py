"""Which of our languages the user's system speaks, for what is said before there is a window. Knows no Qt."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Iterable, Mapping

from app.catalogue import read_catalogue
from common.sentences import Sentence
from models.assets import asset

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
    return (
        str(sentence)
        if language == ENGLISH
        else sentence.worded(read_catalogue(asset(f"translations/{language}.ts")).translate)
    )
