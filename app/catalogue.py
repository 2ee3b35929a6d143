"""One language's words, read from its .ts file, a file of Qt Linguist's. Knows neither Qt nor which language is in use.

The .ts file itself is read (5 ms), not a compiled copy of it: what is missing for Qt to start must be said in the
user's language too, and a copy could be an older one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

Forms = tuple[str, ...]  # of one text: one, or one for each plural form of the language; none while unfinished
# Which of its plural forms a language uses for a number, in the order that Qt Linguist asks for them.
PLURALS: dict[str, Callable[[int], int]] = {"zh_CN": lambda _n: 0}


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
