"""What of the files fits into the context: how much room there is, and which parts are sent if it is too little."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from app.attachments.attachment import Attachment, estimated_tokens

ANSWER_SHARE = 4  # at most 1/4 of the context is kept free for the answer
ANSWER_TOKENS = 1024
MOST_PARTS = 12  # matching parts that are sent; more take long to read and confuse a small model
HEADING = 24  # tokens of an attachment's name and fence, and of a part's mark
MARGIN = 1.05  # a part's tokens are estimated from the whole text's


@dataclass(frozen=True)
class CountedFile:
    """A file and the tokens of its whole text."""

    attachment: Attachment
    tokens: int

    @cached_property
    def _ratio(self) -> float:
        return self.tokens / max(1.0, estimated_tokens(self.attachment.text))

    def part_tokens(self, index: int) -> int:
        """Estimate the tokens of a part from the number that the whole text has."""
        return round(estimated_tokens(self.attachment.part(index)) * self._ratio * MARGIN) + 8


def room_for_files(n_ctx: int, chat_tokens: int) -> int:
    """Return how many tokens of files and question fit beside `chat_tokens` and an answer."""
    return max(0, n_ctx - chat_tokens - min(n_ctx // ANSWER_SHARE, ANSWER_TOKENS) - HEADING)


def room_beside_question(room: int, question: str) -> int:
    """Return how much of `room` the question, as typed so far, leaves for files."""
    return max(0, room - round(estimated_tokens(question) * 1.3))


def tokens_needed(files: Sequence[CountedFile]) -> int:
    """Return the tokens of all files, including headings."""
    return sum(file.tokens + HEADING for file in files)


def from_the_beginning(files: Sequence[CountedFile], room: int) -> tuple[Attachment, ...]:
    """Return the files with as many of their first parts as fit; files that fit whole stay whole."""
    chosen = []
    for file in files:
        if file.tokens + HEADING <= room:
            chosen.append(file.attachment)
            room -= file.tokens + HEADING
            continue
        sent = _parts_that_fit(file, room)
        room -= HEADING + sum(file.part_tokens(index) for index in sent)
        chosen.append(replace(file.attachment, sent=tuple(sent)))
    return tuple(chosen)


def best_matching(files: Sequence[CountedFile], question: str, room: int) -> tuple[Attachment, ...]:
    """Return the files with the parts that match the question best.

    If no part matches, the beginning and parts from all over the file are sent. Small files, up to half the room
    together, stay whole. Takes up to a second, so do not call this in the window's thread.
    """
    whole = _small(files, room // 2)
    room -= tokens_needed([files[number] for number in whole])
    large = [number for number in range(len(files)) if number not in whole]
    order = ranked([_part_texts(files[number].attachment) for number in large], question)
    matched = bool(order)
    sent: dict[int, list[int]] = {number: [] for number in large}
    room -= HEADING * len(large)
    for at, index in (order or _spread([files[number] for number in large]))[:MOST_PARTS]:
        number = large[at]
        tokens = files[number].part_tokens(index)
        if tokens > room:
            if matched:
                continue  # a shorter one may still fit
            break
        room -= tokens
        sent[number].append(index)
    return tuple(
        file.attachment if number in whole else replace(file.attachment, sent=tuple(sorted(sent[number])))
        for number, file in enumerate(files)
    )


def _parts_that_fit(file: CountedFile, room: int) -> list[int]:
    room -= HEADING
    sent = []
    for index in range(len(file.attachment.parts)):
        room -= file.part_tokens(index)
        if room < 0:
            break
        sent.append(index)
    return sent


def _small(files: Sequence[CountedFile], room: int) -> set[int]:
    """Return the numbers of the smallest files that fit into `room` together; never all of them."""
    smallest: set[int] = set()
    for number in sorted(range(len(files)), key=lambda number: files[number].tokens)[:-1]:
        room -= files[number].tokens + HEADING
        if room < 0:
            break
        smallest.add(number)
    return smallest


def _part_texts(attachment: Attachment) -> list[str]:
    return [attachment.part(index) for index in range(len(attachment.parts))]


def _spread(files: Sequence[CountedFile]) -> list[tuple[int, int]]:
    """Return (file, part): the beginning of each file, then parts at even distances, the widest gaps first."""
    order = []
    for at, file in enumerate(files):
        count = len(file.attachment.parts)
        steps = sorted({0, *(round(k * (count - 1) / (MOST_PARTS - 1)) for k in range(MOST_PARTS))} & set(range(count)))
        order += [(rank, at, index) for rank, index in enumerate(_halves(steps))]
    return [(at, index) for _, at, index in sorted(order)]


def _halves(steps: list[int]) -> list[int]:
    """Order steps as first, last, then the middles, so that even a few of them are spread over the file."""
    if len(steps) < 3:
        return steps
    queue, order = [(0, len(steps) - 1)], [steps[0], steps[-1]]
    while queue:
        low, high = queue.pop(0)
        if high - low < 2:
            continue
        middle = (low + high) // 2
        order.append(steps[middle])
        queue += [(low, middle), (middle, high)]
    return order


# --- which parts match a question: BM25 of SQLite's full-text index, made in memory for the one question --------------

WORD = re.compile(r"[\u2e80-\U0003ffff]+|[^\W_]+")
NEAR = 0.25  # of the best score
NOTHING = -1e-3  # a score; a distinguishing word gives -0.5 or less
COMMON_WORDS = """
a about an and any are as at be been by can could did do does for from had has have he her his how i if in is it
its me my no not of on or our please say she so some tell than that the their them then there these they this to
us was we were what when where which who why will with would you your summarize summary summarise explain file
text document der die das und ist ein eine zu von mit was wie le la les des un une et est que qui en du"""
COMMON = frozenset(COMMON_WORDS.split())
COMMON_CHINESE = "的了吗呢是在和与我你他她它这那有什么怎么请把被为"


def ranked(texts: Sequence[Sequence[str]], question: str) -> list[tuple[int, int]]:
    """Return (text, part) of the parts that match the question, the best first; ties go to the earlier part.

    Parts that share only words with the question that are in most parts are left out: such words do not distinguish
    parts, and reading costs time. Empty if no part matches better than the others.
    """
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
        return [places[row] for row in _near_best(rows, len(places))]
    finally:
        db.close()


def _near_best(rows: Sequence[tuple[int, float]], parts: int) -> list[int]:
    """Return the rows with a score near the best one; `rows` are (row, score), the best and most negative first."""
    if not rows:
        return []
    best = rows[0][1]
    if best > NOTHING and len(rows) > parts / 2:  # SQLite gives a word that is in most parts almost no weight
        return []
    return [row for row, score in rows if score <= NEAR * best]


def searched(text: str) -> list[str]:
    """Split text into lower-case words; Chinese, Japanese and Korean, without blanks, into pairs of characters."""
    words: list[str] = []
    for word in WORD.findall(text.lower()):
        if word[0] < "\u2e80" or len(word) == 1:
            words.append(word)
        else:
            words += [word[at : at + 2] for at in range(len(word) - 1)]
    return words


def query_words(question: str) -> list[str]:
    """Return the question's words that carry meaning; if there are none, all that are not in COMMON."""
    words = searched(question)
    telling = [word for word in words if word not in COMMON and not set(word) <= set(COMMON_CHINESE)]
    return telling or [word for word in words if word not in COMMON]
