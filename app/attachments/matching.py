"""Which parts of texts match a question best: BM25 of SQLite's full-text index, made in memory for the one question."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

WORD = re.compile(r"[\u2e80-\U0003ffff]+|[^\W_]+")
NEAR = 0.25  # of the best score
NOTHING = -1e-3  # a score; a word that tells something gives -0.5 or more
COMMON_WORDS = """
a about an and any are as at be been by can could did do does for from had has have he her his how i if in is it
its me my no not of on or our please say she so some tell than that the their them then there these they this to
us was we were what when where which who why will with would you your summarize summary summarise explain file
text document der die das und ist ein eine zu von mit was wie le la les des un une et est que qui en du"""
COMMON = frozenset(COMMON_WORDS.split())
COMMON_CHINESE = "的了吗呢是在和与我你他她它这那有什么怎么请把被为"


def ranked(texts: Sequence[Sequence[str]], question: str) -> list[tuple[int, int]]:
    """(text, part) of the parts that match the question, the best one first, in a tie the earlier one.

    Left out is what shares only words with the question that are everywhere in the texts: it tells nothing, and is
    read slowly. Empty where no part tells more than the others."""
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
        rows = db.execute("SELECT rowid, bm25(part) FROM part WHERE part MATCH ? ORDER BY 2, 1", (query,)).fetchall()
        return [places[row] for row in _telling(rows, len(places))]
    finally:
        db.close()


def _telling(rows: Sequence[tuple[int, float]], parts: int) -> list[int]:
    """Of (row, score), best and most negative first, the rows that are near the best."""
    if not rows:
        return []
    best = rows[0][1]
    if best > NOTHING and len(rows) > parts / 2:  # SQLite gives a word that is in most parts almost no weight
        return []
    return [row for row, score in rows if score <= NEAR * best]


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
