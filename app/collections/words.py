"""Words of a passage as the full-text index has them, and those of a question that tell passages apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import filterfalse

from app.attachments.fitting import COMMON, query_words

WIDE_WORD = re.compile(r"[\u2e80-\U0003ffff]+")
WORD = re.compile(r"[^\W_]+")
LONGEST = 64  # characters of a word; longer ones are data
MOST_WORDS = 24  # of a question


def indexed_words(text: str) -> Counter[str]:
    """Count the words in lower case; Chinese, Japanese and Korean, without blanks, as pairs of characters.

    Common words are left out: no question is searched for them, and they would be a third of all entries of the index.
    """
    text = text.lower()
    wide = [] if text.isascii() else WIDE_WORD.findall(text)
    words = WORD.findall(WIDE_WORD.sub(" ", text) if wide else text)
    counts = Counter(filterfalse(COMMON.__contains__, words))
    for run in wide:
        counts.update(_pairs(run))
    return counts


def question_words(question: str) -> list[str]:
    """Return up to MOST_WORDS words of the question without common ones, in their order."""
    return list(dict.fromkeys(word for word in query_words(question) if len(word) <= LONGEST))[:MOST_WORDS]


def _pairs(run: str) -> Iterator[str]:
    run = "".join(WORD.findall(run))
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]
