"""How often a question's passage is among the first five, and how often nothing is found where nothing is to be found.

    python -m benchmarks.retrieval [--json] [--missed]

The documents are Aesop's fables (V. S. Vernon Jones, 1912, public domain) and the histories of all countries (The World
Factbook, public domain), some 800 passages. The questions are ours: each says in other words what one section is about.
A question is answered by any passage of its section. The documents say nothing about the questions of `unanswered.tsv`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.collections.embedding import make_vectors
from app.collections.index import open_index, read_passages
from app.collections.indexing import Indexer
from app.collections.messages import Begin
from app.collections.ranking import DEPTH, PassageTable, Ranked, Ranking, fused
from benchmarks.command import benchmark_parser, print_json
from models.default import default_model

DOCUMENTS = Path(__file__).with_name("documents")
FIRST = 5
Rank = Callable[[str], list[Ranked]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the heading of the section that answers it."""

    heading: str
    question: str


def unanswered() -> list[str]:
    return (DOCUMENTS / "unanswered.tsv").read_text(encoding="utf-8").splitlines()


def questions() -> list[Asked]:
    lines = (DOCUMENTS / "questions.tsv").read_text(encoding="utf-8").splitlines()
    return [Asked(*line.split("\t")) for line in lines]


class Documents:
    """The documents' index in `folder`, and the three rankings of it."""

    def __init__(self, folder: Path) -> None:
        texts = folder / "texts"
        texts.mkdir()
        for source in DOCUMENTS.glob("*.txt"):
            (texts / source.name).write_bytes(source.read_bytes())
        self.folders = (str(texts),)
        self.vectors = make_vectors(default_model())
        self._writing = open_index(folder, writes=True)
        Indexer(self._writing, self.vectors, lambda _: None).run(Begin(self.folders))
        self.db = open_index(folder)
        self._table = PassageTable(self.db)
        self._ranking = Ranking(self.db, self._table, self.vectors)
        self._table.update()
        self._inside = self._table.inside(self.folders)
        self._headings = _headings(self.db)

    def close(self) -> None:
        self.db.close()
        self._writing.close()

    @property
    def passages(self) -> int:
        return len(self._table.numbers)

    def rankings(self) -> dict[str, Rank]:
        ranking, inside = self._ranking, self._inside
        return {
            "bm25": lambda text: ranking.described(ranking.by_words(text, inside)),
            "embedding": lambda text: ranking.described(ranking.by_vectors(text, inside)),
            "fused": lambda text: ranking.described(
                fused(ranking.by_words(text, inside), ranking.by_vectors(text, inside), DEPTH)
            ),
            "found": lambda text: ranking.described(ranking.found(text, inside)),
        }

    def heading(self, ranked: Ranked) -> str:
        return self._headings[ranked.file_id][ranked.index]


def _headings(db: sqlite3.Connection) -> dict[int, list[str]]:
    ids = [file_id for (file_id,) in db.execute("SELECT file_id FROM passages")]
    return {file_id: [passage.heading for passage, _ in read_passages(db, file_id)] for file_id in ids}


def measure(documents: Documents, asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    """Return for each ranking the questions whose section is not among the first passages."""
    return {
        name: [
            each
            for each in asked
            if not any(documents.heading(passage) == each.heading for passage in rank(each.question)[:FIRST])
        ]
        for name, rank in documents.rankings().items()
    }


def share_without(documents: Documents, texts: Sequence[str]) -> dict[str, float]:
    """Return for each ranking the share of the texts for which it finds nothing."""
    return {
        name: round(sum(not rank(text) for text in texts) / len(texts), 4)
        for name, rank in documents.rankings().items()
    }


def main() -> None:
    parser = benchmark_parser("retrieval", __doc__, models="none")
    parser.add_argument("--missed", action="store_true", help="list the questions whose passage is not found")
    options = parser.parse_args()
    asked = questions()
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Documents(Path(folder))) as documents:
        passages, missed = documents.passages, measure(documents, asked)
        nothing = share_without(documents, unanswered())
    recall = {
        name: {f"recall@{FIRST}": round(1 - len(each) / len(asked), 4), "nothing": nothing[name]}
        for name, each in missed.items()
    }
    if options.json:
        print_json(recall)
        return
    print(f"{len(asked)} questions, {passages} passages")
    for name, shares in recall.items():
        print(f"{name:12}{shares[f'recall@{FIRST}']:8.3f}{shares['nothing']:8.3f}")
    for each in missed["found"] if options.missed else ():
        print(f"{each.heading}: {each.question}")


if __name__ == "__main__":
    main()
