"""The two processes of collections, over hostile files, kills and damage."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from app.collections import INDEX_FILES, SEARCH_INDEX, VECTORS_NAME
from app.collections.index import READING, known_files, open_index
from app.collections.messages import DAMAGED, Answer, Begin, Damaged, FolderProgress, Question, Survey, Surveyed
from tests.app.attachments.samples import pdf_of

CHECKOUT = Path(__file__).parents[3]
PLAIN = [sys.executable, "-m", "app.collections.process"]
PATIENCE = 120.0


def start(verb: str, folder: Path, program: str = "") -> subprocess.Popen[bytes]:
    """Start a process; `program` changes its limits first."""
    changed = f"import sys, app.collections.process as p\n{program}\nsys.exit(p.main(*sys.argv[1:]))"
    command = [sys.executable, "-c", changed] if program else PLAIN
    return subprocess.Popen([*command, verb, str(folder)], cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def run_indexing(begin: Begin, folder: Path, program: str = "") -> tuple[int, list[FolderProgress | Damaged]]:
    """Index to the end; return the exit code and what was told."""
    with start(INDEX_FILES, folder, program) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(msgspec.json.encode(begin) + b"\n")
        process.stdin.flush()
        told = [msgspec.json.decode(line, type=FolderProgress | Damaged) for line in process.stdout]
        return process.wait(PATIENCE), told


def refused(folder: Path) -> dict[str, str]:
    with contextlib.closing(open_index(folder)) as db:
        return {Path(path).name: reason for path, (_, _, reason) in known_files(db).items()}


@pytest.fixture
def slow_file(texts: Path) -> Path:
    """Write a PDF that takes a second to read, between two texts."""
    (texts / "a.txt").write_text("oak")
    (texts / "z.txt").write_text("elm")
    path = texts / "many.pdf"
    path.write_bytes(pdf_of(["A jay buries acorns"] * 1_900))
    return path


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("p.MOST_SECONDS = 0", "slow"),
        ("p.confine = lambda rights: None; p.MOST_MEMORY = 1", "memory"),  # a limit of a byte would end it at once
    ],
)
def test_the_watchdog_ends_the_process_over_a_file_which_is_refused_then(
    folder: Path, texts: Path, slow_file: Path, program: str, reason: str
) -> None:
    begin = Begin((str(texts),))
    code, _ = run_indexing(begin, folder, program)
    assert code == 1
    code, told = run_indexing(begin, folder)
    assert code == 0
    assert refused(folder) == {"a.txt": "", "many.pdf": reason, "z.txt": ""}
    assert isinstance(told[-1], FolderProgress)
    assert (told[-1].step, told[-1].refused) == ("done", 1)
    slow_file.touch()  # a changed file is tried again
    os.utime(slow_file, ns=(0, 0))
    run_indexing(begin, folder)
    assert refused(folder)["many.pdf"] == ""


def test_a_killed_process_leaves_a_whole_index_and_the_next_one_goes_on(
    folder: Path, texts: Path, slow_file: Path
) -> None:
    begin = Begin((str(texts),))
    with start(INDEX_FILES, folder) as process:
        assert process.stdin
        process.stdin.write(msgspec.json.encode(begin) + b"\n")
        process.stdin.flush()
        end = time.monotonic() + PATIENCE
        while READING not in refused_so_far(folder):
            assert time.monotonic() < end
            time.sleep(0.005)
        process.kill()
        process.wait(PATIENCE)
    code, _ = run_indexing(begin, folder)
    assert code == 0
    assert refused(folder) == {"a.txt": "", "many.pdf": "crashed", "z.txt": ""}
    with contextlib.closing(open_index(folder)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def refused_so_far(folder: Path) -> set[str]:
    try:
        return set(refused(folder).values())
    except Exception:  # noqa: BLE001 - the index is not made yet
        return set()


def test_a_closed_window_ends_the_process(folder: Path, texts: Path, slow_file: Path) -> None:
    process = start(INDEX_FILES, folder)
    process.communicate(msgspec.json.encode(Begin((str(texts),))) + b"\n", PATIENCE)
    assert process.returncode == 0


def test_a_damaged_index_is_told_and_made_anew(folder: Path, texts: Path) -> None:
    (texts / "a.txt").write_text("Jays bury acorns.")
    begin = Begin((str(texts),))
    assert run_indexing(begin, folder)[0] == 0
    (folder / "index.sqlite3").write_bytes(b"no database" * 500)
    (answer,) = ask(folder, Question(1, "acorns", (str(texts),), 500))
    assert isinstance(answer, Answer)
    assert answer.problem == DAMAGED
    code, told = run_indexing(begin, folder)
    assert code == 1
    assert told == [Damaged()]
    code, told = run_indexing(msgspec.structs.replace(begin, anew=True), folder)
    assert code == 0
    (answer,) = ask(folder, Question(1, "acorns", (str(texts),), 500))
    assert isinstance(answer, Answer)
    assert [file.path for file in answer.files] == [str(texts / "a.txt")]


def test_without_an_index_of_this_version_nothing_is_searched(folder: Path) -> None:
    assert ask(folder, Question(1, "acorns", ("/",), 500)) == [Answer(1)]
    with contextlib.closing(open_index(folder, writes=True)) as db:
        db.execute("PRAGMA user_version = 1")
    assert ask(folder, Survey(2, ("/",))) == [Surveyed(2)]


def test_the_searching_process_follows_an_index_that_was_made_anew(folder: Path, texts: Path) -> None:
    (texts / "a.txt").write_text("Jays bury acorns.")
    begin = Begin((str(texts),))
    run_indexing(begin, folder)
    question = msgspec.json.encode(Question(1, "nuthatches acorns", (str(texts),), 500)) + b"\n"
    with start(SEARCH_INDEX, folder) as process:
        assert process.stdin
        assert process.stdout
        for name in ("a.txt", "b.txt"):
            process.stdin.write(question)
            process.stdin.flush()
            answer = msgspec.json.decode(process.stdout.readline(), type=Answer)
            assert [Path(file.path).name for file in answer.files] == [name]
            (texts / "a.txt").unlink(missing_ok=True)
            (texts / "b.txt").write_text("Nuthatches eat acorns, too.")
            run_indexing(msgspec.structs.replace(begin, anew=True), folder)
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def ask(folder: Path, *asked: Question | Survey) -> list[Answer | Surveyed]:
    process = start(SEARCH_INDEX, folder)
    out, _ = process.communicate(b"".join(msgspec.json.encode(each) + b"\n" for each in asked), PATIENCE)
    assert process.returncode == 0
    return [msgspec.json.decode(line, type=Answer | Surveyed) for line in out.splitlines()]


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux' own")
def test_the_processes_may_open_nothing_else(folder: Path, texts: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("acorns")
    (texts / "a.txt").write_text("oak")
    program = f"""
import app.collections.indexing as indexing
def read(path, reading=indexing.read_text):
    open({json.dumps(str(secret))}).read()
indexing.read_text = read
"""
    code, _ = run_indexing(Begin((str(texts),)), folder, program)
    assert code == 0
    assert refused(folder) == {"a.txt": "damaged"}  # what a library raises


def test_a_model_that_cannot_be_read_leaves_the_words(folder: Path, texts: Path) -> None:
    (texts / "a.txt").write_text("Jays bury acorns.")
    (texts.parent / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    code, _ = run_indexing(Begin((str(texts),), model=str(texts.parent / "bad.gguf")), folder)
    assert code == 0
    assert not (folder / VECTORS_NAME).exists()
    (answer,) = ask(folder, Question(1, "acorns", (str(texts),), 500))
    assert isinstance(answer, Answer)
    assert answer.files
