from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

import pytest

from app.attachments.extraction import Extracted, read_text
from app.collections import indexing
from app.collections.index import is_damaged, known_files, merge_words, open_index, read_passages
from app.collections.indexing import Indexer
from app.collections.messages import Begin, Question, Survey
from app.collections.search import Searcher
from app.collections.texts import DamagedBlock
from tests.app.attachments.samples import pdf_of
from tests.app.collections.conftest import index


def stored(db: sqlite3.Connection, texts: Path) -> dict[str, str]:
    """Return the text of each indexed file by its path in the folder."""
    rows = db.execute("SELECT path, id FROM files WHERE refused = ''").fetchall()
    return {
        Path(path).relative_to(texts).as_posix(): "".join(text for _, text in read_passages(db, file_id))
        for path, file_id in rows
    }


def occurrences(db: sqlite3.Connection, word: str) -> list[int]:
    return [
        len(db.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (word,)).fetchall())
        for table in ("words", "repeated")
    ]


def test_new_changed_renamed_and_deleted_files_are_noticed(db: sqlite3.Connection, texts: Path) -> None:
    (texts / "deep").mkdir()
    (texts / "a.txt").write_text("oak oak acorn")
    (texts / "deep" / "b.txt").write_text("elm")
    assert [each.step for each in index(db, texts)] == ["scanning", "indexing", "done"]
    assert stored(db, texts) == {"a.txt": "oak oak acorn", "deep/b.txt": "elm"}
    assert occurrences(db, "oak") == [1, 1]
    (texts / "a.txt").write_text("larch")
    os.utime(texts / "a.txt", ns=(0, 0))
    (texts / "deep" / "b.txt").rename(texts / "c.txt")
    last = index(db, texts)[-1]
    assert (last.files, last.done, last.refused) == (2, 2, 0)
    assert stored(db, texts) == {"a.txt": "larch", "c.txt": "elm"}
    assert occurrences(db, "oak") == occurrences(db, "acorn") == [0, 0]
    assert occurrences(db, "elm") == [1, 0]
    (texts / "a.txt").unlink()
    index(db, texts)
    assert stored(db, texts) == {"c.txt": "elm"}


def test_nothing_is_left_of_forgotten_files(db: sqlite3.Connection, folder: Path, texts: Path) -> None:
    (texts / "a.txt").write_text("Zanzibar " * 500)
    (texts / "b.txt").write_text("elm")
    index(db, texts)
    size = (folder / "index.sqlite3").stat().st_size
    (texts / "a.txt").unlink()
    index(db, texts)
    assert list(merge_words(db)) == []
    left = b"".join(path.read_bytes() for path in folder.glob("index.sqlite3*")).lower()
    assert b"zanzibar" not in left
    assert (folder / "index.sqlite3").stat().st_size <= size


def test_a_folder_that_is_away_keeps_its_texts_and_one_that_was_removed_does_not(
    db: sqlite3.Connection, texts: Path
) -> None:
    for name in ("stick", "other"):
        (texts / name).mkdir()
        (texts / name / "a.txt").write_text(name)
    index(db, texts / "stick", texts / "other")
    (texts / "stick").rename(texts / "pulled out")
    assert [each.step for each in index(db, texts / "stick", texts / "other")][1] == "missing"
    assert stored(db, texts) == {"stick/a.txt": "stick", "other/a.txt": "other"}
    index(db, texts / "other")
    assert stored(db, texts) == {"other/a.txt": "other"}


def test_paused_folders_stay_as_they_are(db: sqlite3.Connection, texts: Path) -> None:
    (texts / "a.txt").write_text("before")
    index(db, texts)
    (texts / "a.txt").write_text("afterwards")
    Indexer(db, None, lambda _: None).run(Begin((), kept=(str(texts),)))
    assert stored(db, texts) == {"a.txt": "before"}


HOSTILE = {
    "empty.pdf": b"%PDF-1.4 nothing",
    "bomb.docx": b"PK\x03\x04" + bytes(300),
    "zeros.txt": bytes(10_000),
    "surrogates.txt": "broken \ud800 text".encode("utf-16-le", "surrogatepass"),
    "deep.html": b"<div>" * 50_000 + b"deep",
    "line.txt": b"a" * 200_000,
    "marks.md": b"#" * 5_000 + b" heading\n" + b"# " * 5_000,
    "zero.txt": b"seed\x00 more " * 40,
    "\u202egnp.txt": "right \u202e to left \u2066 seed".encode(),
    "picture.txt": b"\x89PNG\r\n\x1a\n" + bytes(100),
}


def test_hostile_files_are_read_or_refused_and_others_are_found(db: sqlite3.Connection, texts: Path) -> None:
    for name, content in HOSTILE.items():
        (texts / name).write_bytes(content)
    (texts / "good.txt").write_text("Chickadees store sunflower seeds.")
    if sys.platform != "win32":
        os.mkfifo(texts / "pipe.txt")
        (texts / "link.txt").symlink_to("/etc/passwd")
    last = index(db, texts)[-1]
    assert last.step == "done"
    assert last.done == last.files == len(HOSTILE) + 1
    known = {Path(path).name: refused for path, (_, _, refused) in known_files(db).items()}
    assert known["empty.pdf"] == "damaged"
    assert known["good.txt"] == ""
    assert not {"pipe.txt", "link.txt"} & set(known)
    searcher = Searcher(db, None)
    answer = searcher.answer(Question(1, "Who stores sunflower seeds?", (str(texts),), 3_000))
    assert str(texts / "good.txt") in [file.path for file in answer.files]
    surveyed = searcher.survey(Survey(2, (str(texts),)))
    assert surveyed.files + len(surveyed.unreadable) == last.files


def test_a_pass_that_was_interrupted_goes_on_where_it_was(
    db: sqlite3.Connection, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "BATCH_CHARACTERS", 1)  # each file is stored at once
    for number in range(6):
        (texts / f"{number}.txt").write_text(f"text {number}")
    waited = 0

    def stop_at_the_fourth() -> None:
        nonlocal waited
        waited += 1
        if waited == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Indexer(db, None, lambda _: None, stop_at_the_fourth).run(Begin((str(texts),)))
    before = stored(db, texts)
    assert len(before) == 3
    read: list[str] = []

    def noted(path: Path) -> Extracted:
        read.append(path.name)
        return read_text(path)

    monkeypatch.setattr(indexing, "read_text", noted)
    index(db, texts)
    assert read == ["3.txt", "4.txt", "5.txt"]
    assert len(stored(db, texts)) == 6


def test_pages_and_headings_are_found_with_the_passage(db: sqlite3.Connection, texts: Path) -> None:
    (texts / "book.pdf").write_bytes(pdf_of(["An oak stands here. " * 15, "A jay buries acorns. " * 15] * 20))
    index(db, texts)
    answer = Searcher(db, None).answer(Question(1, "acorns", (str(texts),), 600))
    passages = answer.files[0].passages
    assert passages[0].page == 2
    assert "acorns" in passages[0].text


def test_a_small_file_is_sent_whole_and_neighbours_as_one(db: sqlite3.Connection, texts: Path) -> None:
    (texts / "small.txt").write_text("\n Jays bury acorns.\n")
    (texts / "large.md").write_text(
        "# Acorns\n\n" + "Acorns are the nuts of oaks. " * 200 + "\n\n# Rest\n\n" + "Rain. " * 4_000
    )
    index(db, texts)
    answer = Searcher(db, None).answer(Question(1, "acorns", (str(texts),), 3_000))
    large, small = answer.files
    assert small.whole
    assert small.passages[0].text == "\n Jays bury acorns.\n"
    assert not large.whole
    assert len({(each.heading, each.page) for each in large.passages}) < 6
    text = (texts / "large.md").read_text()
    for each in large.passages:
        assert text[each.begin : each.end] == each.text
    ends = [each.end for each in large.passages[:-1]]
    assert all(
        begin.begin > end + 1 or begin.heading != "Acorns" for begin, end in zip(large.passages[1:], ends, strict=True)
    )


def test_the_same_passages_have_the_same_order_whatever_was_asked(db: sqlite3.Connection, texts: Path) -> None:
    """A question that finds the same passages again then continues what the model has read."""
    for name in "abc":
        (texts / f"{name}.txt").write_text(f"{name} oak acorn jay. " + f"Filler {name}. " * 2_000)
    index(db, texts)
    searcher = Searcher(db, None)
    first = searcher.answer(Question(1, "jay oak acorn", (str(texts),), 1_500))
    second = searcher.answer(Question(2, "acorn acorn oak", (str(texts),), 1_500))
    assert first.files == second.files
    assert [Path(file.path).name for file in first.files] == ["a.txt", "b.txt", "c.txt"]


def test_what_was_found_fits(db: sqlite3.Connection, texts: Path) -> None:
    from app.collections.search import tokens_of

    for number in range(30):
        (texts / f"{number}.txt").write_text(f"oak {number} " * 50 * number)
    index(db, texts)
    for room in (0, 30, 200, 1_000, 5_000):
        answer = Searcher(db, None).answer(Question(1, "oak", (str(texts),), room))
        assert sum(tokens_of(each.text) for file in answer.files for each in file.passages) <= room


def test_an_index_of_another_version_is_made_anew(folder: Path, texts: Path) -> None:
    db = open_index(folder, writes=True)
    db.execute("PRAGMA user_version = 1")
    db.execute("DROP TABLE texts")
    db.close()
    (texts / "a.txt").write_text("oak")
    db = open_index(folder, writes=True)
    index(db, texts)
    assert stored(db, texts) == {"a.txt": "oak"}
    if sys.platform != "win32":
        assert (folder / "index.sqlite3").stat().st_mode & 0o777 == 0o600
    db.close()


def test_damage_is_told_from_other_errors(folder: Path, texts: Path) -> None:
    (texts / "a.txt").write_text("oak " * 9_000)
    db = open_index(folder, writes=True)
    index(db, texts)
    db.execute("UPDATE texts SET block = x'00'")
    with pytest.raises(DamagedBlock) as block:
        Searcher(db, None).answer(Question(1, "oak", (str(texts),), 300))
    db.close()
    (folder / "index.sqlite3").write_bytes(b"no database" * 500)
    with pytest.raises(sqlite3.DatabaseError) as file:
        open_index(folder, writes=True)
    assert is_damaged(block.value)
    assert is_damaged(file.value)
    assert not is_damaged(sqlite3.OperationalError("database is locked"))
