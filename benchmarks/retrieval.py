"""How often a question's passage is among the first five, and how often nothing is found where nothing is to be found.

    python -m benchmarks.retrieval [--json] [--missed]

The documents are Aesop's fables (V. S. Vernon Jones, 1912, public domain) and the histories of all countries (The World
Factbook, public domain), some 800 passages. The questions are ours: each says in other words what one section is about.
A question is answered by any passage of its section. The documents say nothing about the questions of `unanswered.tsv`.
The same is measured in Chinese, with six laws of China (which have no copyright), 300 passages; then with TRIALS small
collections for each language: one to eight sections, of which one answers the question. At last TRIALS questions that
need two sections: how often both are among the first ten passages of one search for the whole question, and among the
first five of a search for each half, as a model with the tool for searching can ask.
"""

from __future__ import annotations

import contextlib
import random
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.collections.embedding import WordVectors, make_vectors
from app.collections.index import open_index, read_passages
from app.collections.indexing import Indexer
from app.collections.messages import Begin
from app.collections.ranking import DEPTH, FEW, PassageTable, Ranked, Ranking, fused
from benchmarks.command import benchmark_parser, print_json
from models.default import default_model

DOCUMENTS = Path(__file__).with_name("documents")
LANGUAGES = {"English": DOCUMENTS, "Chinese": DOCUMENTS / "chinese"}
TRIALS = 180  # small collections of each language
FIRST = 5
Rank = Callable[[str], list[Ranked]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the heading of the section that answers it."""

    heading: str
    question: str


def unanswered(source: Path = DOCUMENTS) -> list[str]:
    return (source / "unanswered.tsv").read_text(encoding="utf-8").splitlines()


def questions(source: Path = DOCUMENTS) -> list[Asked]:
    lines = (source / "questions.tsv").read_text(encoding="utf-8").splitlines()
    return [Asked(*line.split("\t")) for line in lines]


class Documents:
    """An index of documents in `folder`, and its rankings; `contents` are the texts of the files by their names."""

    def __init__(self, folder: Path, contents: Mapping[str, str], vectors: WordVectors) -> None:
        texts = folder / "texts"
        texts.mkdir()
        for name, content in contents.items():
            (texts / name).write_text(content, encoding="utf-8")
        self.folders, self.vectors = (str(texts),), vectors
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


def measure_two(documents: Documents, asked: Sequence[Asked]) -> dict[str, float]:
    """Return how often both sections of a question that needs two are found: by one search, and by two."""
    rank, dice = documents.rankings()["found"], random.Random(6)
    pairs = [dice.sample(asked, 2) for _ in range(TRIALS)]

    def found(wanted: Sequence[Asked], passages: Sequence[Ranked]) -> bool:
        return {each.heading for each in wanted} <= set(map(documents.heading, passages))

    once = sum(found(pair, rank(" ".join(each.question for each in pair))[: 2 * FIRST]) for pair in pairs)
    twice = sum(found(pair, [each for half in pair for each in rank(half.question)[:FIRST]]) for pair in pairs)
    return {"one search": round(once / TRIALS, 4), "two searches": round(twice / TRIALS, 4)}


def contents_of(source: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in source.glob("*.txt")}


@contextlib.contextmanager
def indexed(contents: Mapping[str, str], vectors: WordVectors) -> Iterator[Documents]:
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Documents(Path(folder), contents, vectors)) as it:
        yield it


def measure_few(source: Path, vectors: WordVectors) -> dict[str, float]:
    """Return how often small collections find the section that they have, and nothing for a question without answer."""
    sections = {}
    for text in contents_of(source).values():
        for section in re.split("^# ", text, flags=re.MULTILINE)[1:]:
            sections[section.partition("\n")[0].strip()] = f"# {section}"
    asked, nothing, dice = questions(source), unanswered(source), random.Random(5)
    found = quiet = tried = 0
    for _ in range(TRIALS):
        wanted = dice.choice(asked)
        chosen = [wanted.heading, *dice.sample(sorted(sections), dice.choice((0, 1, 2, 3, 5, 7)))]
        with indexed({"few.txt": "\n\n".join(map(sections.__getitem__, chosen))}, vectors) as documents:
            if documents.passages >= FEW:
                continue
            rank, tried = documents.rankings()["found"], tried + 1
            found += any(documents.heading(each) == wanted.heading for each in rank(wanted.question)[:FIRST])
            quiet += sum(not rank(text) for text in dice.sample(nothing, 12))
    return {f"recall@{FIRST}": round(found / tried, 4), "nothing": round(quiet / tried / 12, 4)}


def main() -> None:
    parser = benchmark_parser("retrieval", __doc__, models="none")
    parser.add_argument("--missed", action="store_true", help="list the questions whose passage is not found")
    options = parser.parse_args()
    vectors, result = make_vectors(default_model()), {}
    for language, source in LANGUAGES.items():
        asked = questions(source)
        with indexed(contents_of(source), vectors) as documents:
            passages, missed = documents.passages, measure(documents, asked)
            nothing, two = share_without(documents, unanswered(source)), measure_two(documents, asked)
        shares = {
            name: {f"recall@{FIRST}": round(1 - len(each) / len(asked), 4), "nothing": nothing[name]}
            for name, each in missed.items()
        }
        result[language] = shares | {"few": measure_few(source, vectors), "two sections": two}
        if options.json:
            continue
        print(f"{language}: {len(asked)} questions, {passages} passages")
        for name, each in result[language].items():
            print(f"{name:12}" + "".join(f"{share:8.3f}" for share in each.values()))
        for one in missed["found"] if options.missed else ():
            print(f"{one.heading}: {one.question}")
    if options.json:
        print_json(result)


if __name__ == "__main__":
    main()
