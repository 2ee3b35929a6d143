"""Which parts of texts match a question best: BM25 of SQLite's full-text index, made in memory for the one question."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

WORD = re.compile(r"[\u2e80-\U0003ffff]+|[^\W_]+")
COMMON_WORDS = """
a about an and any are as at be been by can could did do does for from had has have he her his how i if in is it
its me my no not of on or our please say she so some tell than that the their them then there these they this to
us was we were what when where which who why will with would you your summarize summary summarise explain file
text document der die das und ist ein eine zu von mit was wie le la les des un une et est que qui en du"""
COMMON = frozenset(COMMON_WORDS.split())
COMMON_CHINESE = "的了吗呢是在和与我你他她它这那有什么怎么请把被为"


def ranked(texts: Sequence[Sequence[str]], question: str) -> list[tuple[int, int]]:
    """(text, part) of every part that has a word of the question, the best match first, earlier ones first in a tie."""
    words = list(dict.fromkeys(query_words(question)))
    if not words:
        return []
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE part USING fts5(words, tokenize = 'porter unicode61')")
        places = [(at, index) for at, parts in enumerate(texts) for index in range(len(parts))]
        db.executemany(
            "INSERT INTO part (rowid, words) VALUES (?, ?)",
            ((row, " ".join(searched(texts[at][index]))) for row, (at, index) in enumerate(places)),
        )
        query = " OR ".join(f'"{word}"' for word in words)
        rows = db.execute("SELECT rowid FROM part WHERE part MATCH ? ORDER BY bm25(part), rowid", (query,))
        return [places[row] for (row,) in rows]
    finally:
        db.close()


def searched(text: str) -> list[str]:
    """Words in small letters; Chinese, Japanese and Korean, which have no blanks, as pairs of characters."""
    found: list[str] = []
    for word in WORD.findall(text.lower()):
        if word[0] < "\u2e80" or len(word) == 1:
            found.append(word)
        else:
            found += [word[at : at + 2] for at in range(len(word) - 1)]
    return found


def query_words(question: str) -> list[str]:
    """The words that tell something; all of them where none does."""
    words = searched(question)
    telling = [word for word in words if word not in COMMON and not set(word) <= set(COMMON_CHINESE)]
    return telling or [word for word in words if word not in COMMON]
