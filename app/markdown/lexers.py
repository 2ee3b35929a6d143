"""Loads Pygments' lexers in a thread: compiling the first one takes 130 ms beside a busy engine."""

from __future__ import annotations

import threading
from typing import Any

_asked: set[str] = set()
_known: dict[str, bool] = {}


def is_ready(language: str) -> bool:
    """Is it known whether there is a lexer? The first call for a language starts to find out."""
    if language not in _asked:
        _asked.add(language)
        threading.Thread(target=_load, args=(language,), name="lexers", daemon=True).start()
    return language in _known


def lexer_of(language: str) -> Any:
    """A lexer of one's own, None if Pygments has none; takes no time once it is ready."""
    return _make(language) if _known.get(language) else None


def _load(language: str) -> None:
    found = False
    try:
        found = _make(language) is not None
    finally:
        _known[language] = found


def _make(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
