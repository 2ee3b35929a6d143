"""What of the files goes into the context: how much room there is, and which parts are sent where it is too little."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from app.attachments.attachment import Attachment, estimated_tokens

ANSWER_SHARE = 4  # of the context at most is kept free for the answer
ANSWER_TOKENS = 1024
MOST_PARTS = 12  # that match: more are read slowly and confuse a small model
HEADING = 24  # tokens of an attachment's name and fence, and of a part's mark
MARGIN = 1.05  # a part's tokens are estimated from the whole text's


@dataclass(frozen=True)
class Counted:
    """A file and the tokens of its whole text."""

    attachment: Attachment
    tokens: int

    @cached_property
    def _ratio(self) -> float:
        return self.tokens / max(1.0, estimated_tokens(self.attachment.text))

    def part_tokens(self, index: int) -> int:
        """Estimated from how many the whole text has."""
        return round(estimated_tokens(self.attachment.part(index)) * self._ratio * MARGIN) + 8


def room_for_files(n_ctx: int, history: int) -> int:
    """Tokens of files and question that fit beside `history` tokens of chat and an answer."""
    return max(0, n_ctx - history - min(n_ctx // ANSWER_SHARE, ANSWER_TOKENS) - HEADING)


def without_question(room: int, question: str) -> int:
    """What of `room` the question, as typed so far, leaves for files."""
    return max(0, room - round(estimated_tokens(question) * 1.3))


def needed(files: Sequence[Counted]) -> int:
    """Tokens of all files, headings included."""
    return sum(file.tokens + HEADING for file in files)


def from_the_beginning(files: Sequence[Counted], room: int) -> tuple[Attachment, ...]:
    """As many parts of each file, in order, as fit; files that fit as they are stay whole."""
    chosen = []
    for file in files:
        if file.tokens + HEADING <= room:
            chosen.append(file.attachment)
            room -= file.tokens + HEADING
            continue
        sent = _as_fit(file, room)
        room -= HEADING + sum(file.part_tokens(index) for index in sent)
        chosen.append(replace(file.attachment, sent=tuple(sent)))
    return tuple(chosen)


def best_matching(files: Sequence[Counted], question: str, room: int) -> tuple[Attachment, ...]:
    """The parts that match the question best; where none does, the beginning and parts from all over the file.

    Small files, up to half the room together, stay whole. Takes up to a second: not for the window's thread."""
    whole = _small(files, room // 2)
    room -= needed([files[number] for number in whole])
    large = [number for number in range(len(files)) if number not in whole]
    order = ranked([_texts(files[number].attachment) for number in large], question)
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


def _as_fit(file: Counted, room: int) -> list[int]:
    room -= HEADING
    sent = []
    for index in range(len(file.attachment.parts)):
        room -= file.part_tokens(index)
        if room < 0:
            break
        sent.append(index)
    return sent


def _small(files: Sequence[Counted], room: int) -> set[int]:
    """The numbers of the smallest files that fit into `room` together; never all of them."""
    found: set[int] = set()
    for number in sorted(range(len(files)), key=lambda number: files[number].tokens)[:-1]:
        room -= files[number].tokens + HEADING
        if room < 0:
            break
        found.add(number)
    return found


def _texts(attachment: Attachment) -> list[str]:
    return [attachment.part(index) for index in range(len(attachment.parts))]


def _spread(files: Sequence[Counted]) -> list[tuple[int, int]]:
    """(file, part): the beginning of each file, then parts at even distances, the widest gaps first."""
    order = []
    for at, file in enumerate(files):
        count = len(file.attachment.parts)
        steps = sorted({0, *(round(k * (count - 1) / (MOST_PARTS - 1)) for k in range(MOST_PARTS))} & set(range(count)))
        order += [(rank, at, index) for rank, index in enumerate(_halves(steps))]
    return [(at, index) for _, at, index in sorted(order)]


def _halves(steps: list[int]) -> list[int]:
    """First, last, then the middles: so that what fits is spread, however little it is."""
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
