"""Finds messages and titles in all chats; may be called from any thread.

SQLite's tokenizer `unicode61` folds case and accents and splits at everything that is not a letter or digit. Text in
languages without spaces between words is split into characters here first, and a query in them is searched as a phrase.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.store.database import failures, open_for_reading

# Thai to Lao, Burmese, Khmer, kana, Chinese characters, Korean syllables. The index of every store is built with
# these: a changed range needs a migration that rebuilds the index, or deleted words would stay in it.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_SINGLE = re.compile(f"([{UNSPACED}])")
_WORD = re.compile(f"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\\W_])+")
_TYPED = re.compile(r'"([^"]*)"?|([^\s"]+)')
MOST_WORDS = 16
LONGEST_QUERY = 400


def spaced(text: str | None) -> str:
    """Return the text as it is indexed: with blanks around characters of languages without spaces."""
    if not text or text.isascii():
        return text or ""
    return _SINGLE.sub(r" \1 ", text)


@dataclass(frozen=True, slots=True)
class Term:
    """Neighbouring words of a query; with `whole` False the last word may be the beginning of a longer one."""

    words: tuple[str, ...]
    whole: bool = False

    @property
    def match(self) -> str:
        """The term in FTS5's query language; words have only letters and digits, so that none can end the string."""
        return '"' + " ".join(self.words) + '"' + ("" if self.whole else "*")


def terms_of(text: str) -> list[Term]:
    """Split a query into terms: all words must occur, "quoted ones" as a phrase."""
    terms: list[Term] = []
    for quoted, bare in _TYPED.findall(text[:LONGEST_QUERY]):
        words = tuple(_WORD.findall(unicodedata.normalize("NFC", quoted or bare)))
        if words:
            terms.append(Term(words, whole=bool(quoted)))
    return terms[:MOST_WORDS]


class _Fold(dict[int, str]):
    """A translation table to lower case without accents, one character for each, so that positions stay the same.

    An accent on its own becomes U+0300.
    """

    def __missing__(self, code: int) -> str:
        letters = unicodedata.normalize("NFD", chr(code).lower())
        letter, rest = letters[0], letters[1:]
        if unicodedata.combining(letter):
            letter = "\u0300"
        elif not all(map(unicodedata.combining, rest)) or _SINGLE.match(chr(code)):
            letter = chr(code)  # keep a Korean syllable whole, and が distinct from か
        self[code] = letter
        return letter


_FOLD = _Fold()


def folded(text: str) -> str:
    """Return `text` in lower case without accents, with the same length."""
    return text.translate(_FOLD)


def pattern_of(term: Term) -> re.Pattern[str]:
    """Return a pattern that finds the term in folded text, at the beginning of a word."""
    words = ["".join(re.escape(letter) + "\u0300*" for letter in folded(word)) for word in term.words]
    start = f"(?:(?<![^\\W_])|(?<=[{UNSPACED}])|(?=[{UNSPACED}]))"
    end = f"(?![^\\W_{UNSPACED}])" if term.whole else ""
    return re.compile(start + "[\\W_]*".join(words) + end)


def marks_in(text: str, terms: list[Term]) -> list[tuple[int, int]]:
    """Return the positions of the terms in `text` as (start, end), sorted, without overlaps."""
    plain = folded(text)
    spans = sorted({match.span() for term in terms for match in pattern_of(term).finditer(plain)})
    marks: list[tuple[int, int]] = []
    for start, end in spans:
        if marks and start <= marks[-1][1]:
            marks[-1] = (marks[-1][0], max(end, marks[-1][1]))
        else:
            marks.append((start, end))
    return marks


# --- search -----------------------------------------------------------------------------------------------------------

MOST_TITLES = 20
MOST_FILES = 30  # messages found by a file, because each file has to be read
BEFORE, SNIPPET = 32, 160  # characters of a snippet before the first mark, and in all
MOST_ORDERED = 3_000  # of the latest stored hits; these are then ordered by time, because imported messages may be old
LONGEST_READ = 200_000  # characters of one message that are looked through for its marks


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found, or a chat whose title matches if `message_id` is None.

    `marks` are (start, end) in `snippet`.
    """

    chat_id: str
    message_id: str | None
    title: str
    snippet: str
    marks: tuple[tuple[int, int], ...]
    role: str
    created_at: float


class Search:
    """Search in the store's file through a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def search_texts(self, text: str, limit: int, length: int, any_word: bool) -> list[Hit]:
        """Return the latest messages with all words, or any of them, each with `length` characters of its text.

        Raises Failure when the file cannot be read.
        """
        terms = terms_of(text)
        if not terms:
            return []
        with self._lock, failures(self._path):
            self._db = db = self._db or open_for_reading(self._path)
            return _messages(db, terms, limit, " OR " if any_word else " AND ", length)

    def search(self, text: str, limit: int = 100) -> list[Hit]:
        """Return chats whose title has all the words, then messages, the latest first; at most `limit`.

        Any text is a query; one without a letter or digit finds nothing. Raises Failure when the file cannot be read.
        """
        terms = terms_of(text)
        if not terms or limit < 1:
            return []
        with self._lock, failures(self._path):
            self._db = db = self._db or open_for_reading(self._path)
            hits = _titles(db, terms)[: min(limit, MOST_TITLES)]
            matching = _messages(db, terms, limit) + _files(db, terms, limit)
            unique = {hit.message_id: hit for hit in reversed(matching)}.values()
            return hits + sorted(unique, key=lambda hit: hit.created_at, reverse=True)[: limit - len(hits)]

    def interrupt(self) -> None:
        """End the search that is under way in another thread; it raises Failure there."""
        db = self._db
        if db is not None:
            db.interrupt()

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None


def _titles(db: sqlite3.Connection, terms: Sequence[Term]) -> list[Hit]:
    patterns = [pattern_of(term) for term in terms]
    rows = db.execute("SELECT id, title, updated_at FROM chats WHERE deleted_at IS NULL ORDER BY updated_at DESC")
    return [
        Hit(chat_id, None, title, title, tuple(marks_in(title, list(terms))), "", moment)
        for chat_id, title, moment in rows
        if all(pattern.search(folded(title)) for pattern in patterns)
    ]


def _messages(
    db: sqlite3.Connection, terms: Sequence[Term], limit: int, joined: str = " AND ", length: int = SNIPPET
) -> list[Hit]:
    rows = db.execute(
        """SELECT messages.chat_id, messages.id, chats.title, messages.content, messages.role, messages.created_at
        FROM (SELECT rowid FROM message_index WHERE message_index MATCH ? ORDER BY rowid DESC LIMIT ?) AS found
        JOIN messages ON messages.number = found.rowid JOIN chats ON chats.id = messages.chat_id
        WHERE chats.deleted_at IS NULL AND messages.deleted_at IS NULL ORDER BY messages.created_at DESC LIMIT ?""",
        (joined.join(term.match for term in terms), MOST_ORDERED, limit),
    )
    return [
        Hit(chat_id, message_id, title, *snippet_of(content, terms, length), role, moment)
        for chat_id, message_id, title, content, role, moment in rows
    ]


def _files(db: sqlite3.Connection, terms: Sequence[Term], limit: int) -> list[Hit]:
    """Return the messages with a file in which the words stand near each other, each message once."""
    rows = db.execute(
        """SELECT messages.id, min(found.rowid) FROM
        (SELECT rowid FROM attachment_index WHERE attachment_index MATCH ? ORDER BY rowid DESC LIMIT ?) AS found
        JOIN attachment_pieces ON attachment_pieces.number = found.rowid
        JOIN messages ON messages.id = attachment_pieces.message_id JOIN chats ON chats.id = messages.chat_id
        WHERE chats.deleted_at IS NULL AND messages.deleted_at IS NULL
        GROUP BY messages.id ORDER BY messages.created_at DESC LIMIT ?""",
        (" AND ".join(term.match for term in terms), MOST_ORDERED, min(limit, MOST_FILES)),
    )
    return [_file(db, number, terms) for _, number in rows.fetchall()]


def _file(db: sqlite3.Connection, number: int, terms: Sequence[Term]) -> Hit:
    chat_id, message_id, title, name, text, role, moment = db.execute(
        """SELECT messages.chat_id, messages.id, chats.title, attachments.name,
            substr(attachments.text, start + 1, length), messages.role, messages.created_at
        FROM attachment_pieces JOIN messages ON messages.id = attachment_pieces.message_id
        JOIN chats ON chats.id = messages.chat_id
        JOIN attachments ON attachments.message_id = messages.id
            AND attachments.position = attachment_pieces.position
        WHERE attachment_pieces.number = ?""",
        (number,),
    ).fetchone()
    line, _ = snippet_of(text, terms)
    line = f"{name}: {line}"
    return Hit(chat_id, message_id, title, line, tuple(marks_in(line, list(terms))), role, moment)


def snippet_of(content: str, terms: Sequence[Term], length: int = SNIPPET) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return one line of text around the first match of a term, and the positions of all terms in the line."""
    text = " ".join(content[:LONGEST_READ].split())
    first = min(
        (match.start() for match in (pattern_of(term).search(folded(text)) for term in terms) if match), default=0
    )
    start = _word_start(text, max(0, first - BEFORE)) if first > BEFORE else 0
    cut = text[start : start + length]
    line = ("…" if start else "") + cut.rstrip() + ("…" if start + length < len(text) else "")
    return line, tuple(marks_in(line, list(terms)))


def _word_start(text: str, at: int) -> int:
    space = text.find(" ", at, at + BEFORE // 2)
    return at if space < 0 else space + 1
