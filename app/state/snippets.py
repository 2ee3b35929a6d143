"""Prompt snippets: named texts with variables. Five come with the program; the user changes, adds and removes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from app.events import Event
from app.store.snippet_json import (
    MOST_NAME,
    MOST_SNIPPETS,
    MOST_TEXT,
    SnippetEntry,
    cleaned_name,
    cleaned_text,
    read_snippets,
    write_snippets,
)
from app.words import mark, tr
from common.failures import Failure
from common.files import set_aside

FILE = "snippets.json"


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text to insert under a name; `built_in` is the id of one that came with the program and is unchanged."""

    name: str
    text: str
    built_in: str = ""


# Short orders first, the text last: small models follow what they have read first, and long texts come at the end.
SHIPPED = {
    "translate": (mark("Translate"), mark(
        "Translate this text into {{language=English}}. Answer with the translation only.\n\n{{selection}}")),
    "correct": (mark("Correct my text"), mark(
        "Correct spelling, grammar and style of this text. Keep its language and its meaning. Answer with the "
        "corrected text only.\n\n{{clipboard}}")),
    "summarize": (mark("Summarize"), mark(
        "Summarize this text in at most five short points, in the language of the text.\n\n{{clipboard}}")),
    "explain": (mark("Explain simply"), mark(
        "Explain {{what}} in simple words, with one example from everyday life.")),
    "letter": (mark("Write an e-mail"), mark(
        "Today is {{date}}. Write a short, friendly e-mail to {{recipient}}. What it must say: "
        "{{what it must say}}")),
}  # fmt: skip


class Snippets:
    """The user's snippets, in the file `path`, which is read at the first use and written with every change.

    Until the first change there is no file, and the list is that of the built-in snippets. A built-in snippet follows
    the language of the window until the user changes it. `changed` is emitted after every change. Methods raise Failure
    if the file cannot be written, and ValueError with a sentence for a bad name or text; then nothing has changed.
    `problem` says why the file could not be read: the built-in snippets stand in, and a damaged file is renamed, not
    lost, with the next change.
    """

    def __init__(self, path: Path) -> None:
        self.changed: Event[()] = Event()
        self.problem: Failure | None = None
        self._path = path
        self._read: tuple[SnippetEntry, ...] | None = None
        self._locked = False  # the file is there but cannot be read, so it must not be replaced

    def all(self) -> list[Snippet]:
        """Return the snippets in the user's order, the built-in ones in the user's language."""
        return [_shown(entry) for entry in self.entries]

    @property
    def entries(self) -> tuple[SnippetEntry, ...]:
        """The snippets as they are stored; `put_back` takes them."""
        if self._read is None:
            self._read = _built_in()
            try:
                if self._path.exists():
                    known = [
                        entry for entry in read_snippets(self._path) if not entry.built_in or entry.built_in in SHIPPED
                    ]
                    self._read = tuple(known)
            except Failure as failure:
                self._locked = failure.sentence.id == "snippets.unreadable"
                id = "snippets.own_unreadable" if self._locked else "snippets.own_damaged"
                self.problem = Failure(id, failure.detail, problem=failure.sentence)
        return self._read

    def add(self, name: str, text: str) -> int:
        """Append a snippet and return its place."""
        entries = self.entries
        if len(entries) >= MOST_SNIPPETS:
            raise ValueError(tr("There is room for {most:,} snippets. Delete one first.", most=MOST_SNIPPETS))
        self._store((*entries, self._checked(name, text)))
        return len(entries)

    def change(self, place: int, name: str, text: str) -> None:
        """Give the snippet at `place` this name and text; one that is changed is no built-in snippet any more."""
        shown = _shown(self.entries[place])
        if (cleaned_name(name), cleaned_text(text)) != (shown.name, cleaned_text(shown.text)):
            entry = self._checked(name, text)
            self._store((*self.entries[:place], entry, *self.entries[place + 1 :]))

    def remove(self, place: int) -> Snippet:
        """Remove the snippet at `place` and return it."""
        gone = _shown(self.entries[place])
        self._store((*self.entries[:place], *self.entries[place + 1 :]))
        return gone

    def restore_built_in(self) -> int:
        """Append the built-in snippets that are missing; return how many those were."""
        here = {entry.built_in for entry in self.entries}
        missing = tuple(entry for entry in _built_in() if entry.built_in not in here)
        if missing:
            self._store((*self.entries, *missing))
        return len(missing)

    def put_back(self, entries: tuple[SnippetEntry, ...]) -> None:
        """Undo later changes: return to `entries` as they were."""
        self._store(entries)

    def import_file(self, path: Path) -> int:
        """Add the snippets of a file and return how many are new; one that is here with the same text is not.

        One with a known name and another text gets a number behind its name. Raises Failure, and adds nothing then.
        """
        here = self.all()
        names = {snippet.name for snippet in here}
        texts = {(_without_number(snippet.name), cleaned_text(snippet.text)) for snippet in here}
        new: list[SnippetEntry] = []
        for entry in read_snippets(path):
            shown = _shown(entry) if entry.built_in in SHIPPED or not entry.built_in else None
            if shown is None or (_without_number(shown.name), cleaned_text(shown.text)) in texts:
                continue
            name = _free_name(shown.name, names)
            names.add(name)
            texts.add((_without_number(shown.name), cleaned_text(shown.text)))
            new.append(entry if entry.built_in else SnippetEntry(name, shown.text))
        if len(here) + len(new) > MOST_SNIPPETS:
            raise Failure("snippets.too_many_in_file", file=path.name, most=MOST_SNIPPETS)
        if new:
            self._store((*self.entries, *new))
        return len(new)

    def export_file(self, path: Path) -> int:
        """Write all snippets with names and texts to `path`, for other people too; return how many."""
        snippets = self.all()
        write_snippets(path, [SnippetEntry(snippet.name, snippet.text) for snippet in snippets])
        return len(snippets)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _checked(self, name: str, text: str) -> SnippetEntry:
        name, text = cleaned_name(name), cleaned_text(text)
        if not name:
            raise ValueError(tr("A snippet needs a name."))
        if not text:
            raise ValueError(tr("A snippet needs a text."))
        if len(text) > MOST_TEXT:
            raise ValueError(
                tr("A snippet may have {most:,} characters. Attach longer texts as a file.", most=MOST_TEXT)
            )
        return SnippetEntry(name, text)

    def _store(self, entries: tuple[SnippetEntry, ...]) -> None:
        if self.problem is not None:
            if self._locked:
                raise self.problem
            try:
                set_aside(self._path)
            except OSError as error:
                raise Failure(
                    "snippets.unwritable", str(error), file=self._path.name, reason=error.strerror or str(error)
                ) from error
        write_snippets(self._path, entries)
        self._read, self.problem = entries, None
        self.changed.emit()


def _built_in() -> tuple[SnippetEntry, ...]:
    return tuple(SnippetEntry(built_in=id) for id in SHIPPED)


def _shown(entry: SnippetEntry) -> Snippet:
    if entry.built_in:
        name, text = SHIPPED[entry.built_in]
        return Snippet(tr(name), tr(text), entry.built_in)
    return Snippet(entry.name, entry.text)


def _without_number(name: str) -> str:
    """Return the name without the number that `_free_name` has put behind it."""
    return re.sub(r" \(\d+\)$", "", name)


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number behind it if it is taken."""
    number, free = 2, name
    while free in taken:
        tail = f" ({number})"
        number, free = number + 1, name[: MOST_NAME - len(tail)] + tail
    return free
