"""Brings the index up to date with the folders, file by file; can be stopped at any time, and goes on where it was."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from app.attachments.attachment import Refused
from app.attachments.extraction import Extracted, read_text
from app.attachments.kinds import KINDS, kind_of
from app.collections.embedding import NO_CODE, WordVectors
from app.collections.index import (
    READING,
    FileEntry,
    IndexedPassage,
    entries_of,
    forget_file,
    is_below,
    known_files,
    merge_words,
    put_entry,
    put_file,
    transaction,
    words_of,
)
from app.collections.messages import Begin, FolderProgress
from app.collections.passages import Passage, passages_of
from app.collections.scanning import Scan, TextFile, scan

BATCH_CHARACTERS = 4_000_000  # of text that are written in one transaction
BATCH_SECONDS = 2.0
REPORT_SECONDS = 0.3  # between two reports about a folder
FORGOTTEN_AT_ONCE = 20  # files
RISKY_SIZE = 1 << 20  # bytes of any other file
Report = Callable[[FolderProgress], object]


class Watch:
    """Present work of the process, for a watchdog: the file that is read, and since when (monotonic)."""

    def __init__(self) -> None:
        self.path, self.since = "", 0.0

    def begin(self, path: str) -> None:
        self.since, self.path = time.monotonic(), path

    def end(self) -> None:
        self.path = ""


class Indexer:
    """One pass over all folders. `wait` is called between files; it may sleep while the computer is needed."""

    def __init__(
        self,
        db: sqlite3.Connection,
        vectors: WordVectors | None,
        report: Report,
        wait: Callable[[], object] = lambda: None,
        watch: Watch | None = None,
    ) -> None:
        self._db, self._vectors, self._report, self._wait = db, vectors, report, wait
        self._watch = watch or Watch()

    def run(self, begin: Begin, over: str = "crashed") -> None:
        """Index the folders; `over` is why the last run ended over a file, if it did."""
        self._settle(over)
        self._forget_outside((*begin.folders, *begin.kept))
        for folder in begin.folders:
            self._report(FolderProgress(folder, "scanning"))
            self._index(scan(folder), again=folder in begin.again)
        for _ in merge_words(self._db):
            self._wait()
        self._db.execute("PRAGMA incremental_vacuum").fetchall()  # a page is freed by each step
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _settle(self, over: str) -> None:
        """Refuse the file that the last run ended over, until it changes."""
        self._db.execute("UPDATE files SET refused = ? WHERE refused = ?", (over, READING))

    def _forget_outside(self, folders: tuple[str, ...]) -> None:
        known = known_files(self._db)
        self._forget([path for path in known if not any(is_below(path, folder) for folder in folders)])

    def _forget(self, paths: list[str]) -> None:
        for begin in range(0, len(paths), FORGOTTEN_AT_ONCE):
            with transaction(self._db):
                for path in paths[begin : begin + FORGOTTEN_AT_ONCE]:
                    forget_file(self._db, path)
            self._wait()

    def _index(self, scanned: Scan, again: bool) -> None:
        known = {path: row for path, row in known_files(self._db).items() if is_below(path, scanned.folder)}
        if scanned.missing:
            self._report(FolderProgress(scanned.folder, "missing", len(known), len(known)))
            return
        self._forget(scanned.gone(known))
        new = scanned.files if again else scanned.new(known)
        old = {each.path for each in scanned.files} - {each.path for each in new}
        refused = sum(bool(known[path][2]) for path in old)
        total, done, told = len(scanned.files), len(old), 0.0
        for was_refused in self._read_all(new):
            done, refused = done + 1, refused + was_refused
            if time.monotonic() - told > REPORT_SECONDS:
                told = time.monotonic()
                self._report(FolderProgress(scanned.folder, "indexing", total, done, refused))
        step = "full" if scanned.full else "done"
        self._report(FolderProgress(scanned.folder, step, total, done, refused, tuple(scanned.folders)))  # type: ignore[arg-type]

    def _read_all(self, files: Iterable[TextFile]) -> Iterator[bool]:
        """Read and store the files in batches; yield for each whether it was refused."""
        batch: list[tuple[FileEntry, Extracted | None]] = []
        characters, since = 0, time.monotonic()
        for file in files:
            self._wait()
            entry, text = self._read(file)
            batch.append((entry, text))
            characters += len(text.text) if text else 0
            if characters >= BATCH_CHARACTERS or time.monotonic() - since > BATCH_SECONDS:
                self._store(batch)
                batch, characters, since = [], 0, time.monotonic()
            yield text is None
        self._store(batch)

    def _read(self, file: TextFile) -> tuple[FileEntry, Extracted | None]:
        entry = FileEntry(file.path, file.size, file.modified)
        path = Path(file.path)
        if KINDS[kind_of(path)].risky or file.size > RISKY_SIZE:
            with transaction(self._db):
                forget_file(self._db, file.path)
                put_entry(self._db, replace(entry, refused=READING))
        self._watch.begin(file.path)
        try:
            text = read_text(path)
            plain = text.text.encode("utf-8", "replace").decode()  # lone surrogates of damaged files can't be stored
            return replace(entry, kind=text.kind), replace(text, text=plain)
        except Refused as refused:
            return replace(entry, refused=refused.code, details=refused.values), None
        except MemoryError:
            return replace(entry, refused="memory"), None
        except Exception:  # noqa: BLE001 - a hostile file can make the libraries raise anything
            return replace(entry, refused="damaged"), None
        finally:
            self._watch.end()

    def _store(self, batch: list[tuple[FileEntry, Extracted | None]]) -> None:
        if not batch:
            return
        with transaction(self._db):
            for entry, text in batch:
                if text is None:
                    forget_file(self._db, entry.path)
                    put_entry(self._db, entry)
                else:
                    passages = passages_of(text.text, text.kind, text.pages)
                    put_file(self._db, entry, text.text, passages, self._indexed(entry, text.text, passages))

    def _indexed(self, entry: FileEntry, text: str, passages: Iterable[Passage]) -> list[IndexedPassage]:
        name = Path(entry.path).stem
        indexed = []
        for passage in passages:
            words = words_of(text[passage.begin : passage.end], passage.heading, name)
            code = self._vectors.code(words) if self._vectors is not None else b""
            indexed.append(IndexedPassage(*entries_of(words), words.total(), code or NO_CODE))
        return indexed
