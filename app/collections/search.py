"""Answers a question about collections: which passages, or whole files, are sent to the model."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from app.attachments.attachment import estimated_tokens
from app.collections.embedding import WordVectors
from app.collections.index import StoredText, is_below, read_text, refused_below
from app.collections.messages import Answer, FoundFile, FoundPassage, Question, Survey, Surveyed, Unreadable
from app.collections.ranking import PassageTable, Ranked, Ranking

MARGIN = 1.15  # estimated tokens may be too few
HEADING = 24  # tokens of a file's name and fence, and of a passage's mark
MOST_PASSAGES = 10  # more take long to read and confuse a small model
WHOLE_SHARE = 2  # a file is sent whole if it takes at most 1/2 of the room
MOST_UNREADABLE = 200  # files that are named


class Searcher:
    """The searching side of the index in `db`."""

    def __init__(self, db: sqlite3.Connection, vectors: WordVectors | None) -> None:
        self._db = db
        self._table = PassageTable(db)
        self._ranking = Ranking(db, self._table, vectors)
        self.blind = vectors is None  # the indexing process may still be making the table of vectors

    def answer(self, question: Question) -> Answer:
        """Return the passages that help most and fit into the question's tokens."""
        ranked = self._ranking.best(question.text, question.folders)
        chosen = self._chosen(ranked, question.tokens)
        return Answer(question.id, tuple(sorted(chosen, key=lambda each: each.path)), len(self._table.numbers))

    def survey(self, survey: Survey) -> Surveyed:
        """Return what the index has of the folders."""
        rows = self._db.execute("SELECT path, characters FROM files WHERE refused = ''").fetchall()
        inside = [length for path, length in rows if any(is_below(path, folder) for folder in survey.folders)]
        refused = refused_below(self._db, survey.folders)[:MOST_UNREADABLE]
        return Surveyed(survey.id, len(inside), sum(inside), tuple(Unreadable(*each) for each in refused))

    def _chosen(self, ranked: Sequence[Ranked], room: int) -> Iterable[FoundFile]:
        """Choose passages from the best on while there is room; a file that is small enough is taken whole."""
        texts: dict[int, StoredText | None] = {}
        whole: set[int] = set()
        passages: dict[int, dict[int, FoundPassage]] = {}
        wholes = room // WHOLE_SHARE
        count = 0
        for each in ranked:
            if count >= MOST_PASSAGES or room <= HEADING:
                break
            if each.file_id in whole:
                continue
            if each.file_id not in texts:
                texts[each.file_id] = read_text(self._db, each.file_id)
            stored = texts[each.file_id]
            if stored is None:  # forgotten meanwhile
                continue
            tokens = tokens_of(stored.text) + HEADING
            taken = sum(tokens_of(p.text) + HEADING for p in passages.get(each.file_id, {}).values())
            if tokens <= min(wholes, room + taken):
                room += taken - tokens
                wholes -= tokens
                whole.add(each.file_id)
                passages[each.file_id] = {0: FoundPassage(0, len(stored.text), stored.text)}
                count += 1
                continue
            found = _passage(stored, each.index)
            tokens = tokens_of(found.text) + HEADING if found else 0
            if found and tokens <= room:
                room -= tokens
                passages.setdefault(each.file_id, {})[each.index] = found
                count += 1
        return [_file(texts[file_id], passages[file_id], file_id in whole) for file_id in passages]


def tokens_of(text: str) -> int:
    return round(estimated_tokens(text) * MARGIN)


def _passage(stored: StoredText, index: int) -> FoundPassage | None:
    passages = stored.passages()
    if index >= len(passages):  # of another version
        return None
    each = passages[index]
    return FoundPassage(each.begin, each.end, stored.text[each.begin : each.end], each.heading, each.page)


def _file(stored: StoredText | None, passages: dict[int, FoundPassage], whole: bool) -> FoundFile:
    assert stored is not None
    return FoundFile(stored.path, stored.kind, stored.size, tuple(passages[at] for at in sorted(passages)), whole)
