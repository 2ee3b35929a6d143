"""Answers a question about collections: which passages, or whole files, are sent to the model."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from app.attachments.attachment import LETTERS_A_TOKEN, estimated_tokens
from app.collections.embedding import WordVectors
from app.collections.index import StoredFile, is_below, read_file, read_passage, read_passages, refused_below
from app.collections.messages import Answer, FoundFile, FoundPassage, Question, Survey, Surveyed, Unreadable
from app.collections.passages import Passage
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
        self._table.update()  # now rather than with the first question
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
        files: dict[int, StoredFile | None] = {}
        whole: set[int] = set()
        passages: dict[int, dict[int, tuple[Passage, str]]] = {}
        wholes = room // WHOLE_SHARE
        count = 0
        for each in ranked:
            if count >= MOST_PASSAGES or room <= HEADING:
                break
            if each.file_id in whole:
                continue
            if each.file_id not in files:
                files[each.file_id] = read_file(self._db, each.file_id)
            file = files[each.file_id]
            if file is None:  # forgotten meanwhile
                continue
            taken = sum(tokens_of(text) + HEADING for _, text in passages.get(each.file_id, {}).values())
            text = self._small_text(each.file_id, file, min(wholes, room + taken) - HEADING)
            if text:
                tokens = tokens_of(text) + HEADING
                room += taken - tokens
                wholes -= tokens
                whole.add(each.file_id)
                passages[each.file_id] = {0: (Passage(0, len(text)), text)}
                count += 1
                continue
            passage = read_passage(self._db, each.file_id, each.index)
            tokens = tokens_of(passage[1]) + HEADING if passage else 0
            if passage and tokens <= room:
                room -= tokens
                passages.setdefault(each.file_id, {})[each.index] = passage
                count += 1
        return [_file(files[file_id], passages[file_id], file_id in whole) for file_id in passages]

    def _small_text(self, file_id: int, file: StoredFile, tokens: int) -> str:
        """Return all of a file's text if it takes at most so many tokens, else an empty text."""
        if file.characters / LETTERS_A_TOKEN > tokens:  # no text has fewer tokens
            return ""
        text = "".join(text for _, text in read_passages(self._db, file_id))
        return text if tokens_of(text) <= tokens else ""


def tokens_of(text: str) -> int:
    return round(estimated_tokens(text) * MARGIN)


def _file(file: StoredFile | None, passages: dict[int, tuple[Passage, str]], whole: bool) -> FoundFile:
    assert file is not None
    if whole:
        ((passage, text),) = passages.values()
        return FoundFile(file.path, file.kind, file.size, (FoundPassage(0, passage.end, text),), whole=True)
    return FoundFile(file.path, file.kind, file.size, tuple(joined(passages)))


def joined(passages: dict[int, tuple[Passage, str]]) -> Iterator[FoundPassage]:
    """Yield the passages of a file, by their numbers, in order; those that follow each other in a section as one."""
    numbers = sorted(passages)
    while numbers:
        first, text = passages[numbers[0]]
        last, number = first, numbers.pop(0)
        while numbers and numbers[0] == number + 1 and _belong_together(first, passages[numbers[0]][0]):
            number = numbers.pop(0)
            last, more = passages[number]
            text += more
        yield FoundPassage(first.begin, last.end, text.strip(), first.heading, first.page)


def _belong_together(one: Passage, other: Passage) -> bool:
    return (one.heading, one.page) == (other.heading, other.page)
