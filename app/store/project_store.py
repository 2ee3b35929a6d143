"""The tables of what chats of a folder begin with: files as they were read, and facts that the user approved."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

import msgspec

from app.attachments.attachment import Attachment
from app.attachments.stamp import Stamp
from app.store.chat import new_id
from app.store.chat_store import ChatStore
from common.log_format import kind_of

log = logging.getLogger(__name__)
MOST_FILES = 50  # of one project


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file that the chats of a folder begin with, as it was read.

    `path`: where the file is, as `path_text` writes it; "" for an imported one, which is never read again. `number`:
    its place in the order of the folder's files; None behind all others.
    """

    folder_id: str
    attachment: Attachment
    path: str = ""
    stamp: Stamp = field(default_factory=Stamp)
    id: str = field(default_factory=new_id)
    number: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence about the user, approved by the user; without `folder_id` it belongs to all chats."""

    text: str
    folder_id: str | None = None
    id: str = field(default_factory=new_id)


class ProjectStore:
    """The tables of projects' files and of facts; raises Failure as the store does."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store

    def files(self, folder_id: str) -> list[ProjectFile]:
        """Return the files of a folder, in the order in which they were added."""
        return self._store.with_connection(lambda db: read_files(db, folder_id))

    def save_files(self, files: Sequence[ProjectFile]) -> None:
        """Insert these files in their places, or replace those that are there."""
        with self._store.writing() as db:
            write_files(db, files)

    def delete_files(self, ids: Iterable[str]) -> None:
        with self._store.writing() as db:
            db.executemany("DELETE FROM project_files WHERE id = ?", [(each,) for each in ids])

    def facts(self) -> list[Fact]:
        """Return all facts, in the order in which they were approved, without those of deleted folders."""
        rows = self._store.with_connection(lambda db: db.execute(FACTS).fetchall())
        return [Fact(text, folder_id, id) for text, folder_id, id in rows]

    def save_fact(self, fact: Fact) -> None:
        """Insert the fact, or replace its text and its folder."""
        with self._store.writing() as db:
            db.execute(PUT_FACT, (fact.id, fact.folder_id, fact.text))

    def delete_fact(self, id: str) -> None:
        with self._store.writing() as db:
            db.execute("DELETE FROM facts WHERE id = ?", (id,))


FACTS = """SELECT text, folder_id, id FROM facts
    WHERE folder_id IS NULL OR folder_id IN (SELECT id FROM folders WHERE deleted_at IS NULL) ORDER BY number"""
PUT_FACT = """INSERT INTO facts (id, folder_id, text) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET folder_id = excluded.folder_id, text = excluded.text"""
FILES = """SELECT id, number, attachment, path, changed_at, bytes, digest FROM project_files
    WHERE folder_id = ? ORDER BY number"""
PUT_FILE = """INSERT INTO project_files (number, id, folder_id, attachment, path, changed_at, bytes, digest)
    VALUES (iif(:number IN (SELECT number FROM project_files), NULL, :number), :id, :folder_id, :attachment, :path,
    :changed_at, :bytes, :digest) ON CONFLICT (id) DO UPDATE SET attachment = excluded.attachment, path = excluded.path,
    changed_at = excluded.changed_at, bytes = excluded.bytes, digest = excluded.digest"""


def read_files(db: sqlite3.Connection, folder_id: str) -> list[ProjectFile]:
    """Return the files of a folder; one that cannot be read, from a damaged store, is left out."""
    files = []
    for id, number, packed, path, *stamp in db.execute(FILES, (folder_id,)):
        try:
            attachment = msgspec.json.decode(packed, type=Attachment)
        except (msgspec.DecodeError, ValueError) as error:  # its text may contain a piece of the file
            log.warning("a file of a project cannot be read: %s", kind_of(error))
            continue
        files.append(ProjectFile(folder_id, attachment, path, Stamp(*stamp), id, number))
    return files


def write_files(db: sqlite3.Connection, files: Iterable[ProjectFile]) -> None:
    """Insert or replace files of a folder that is stored already; call this within a transaction."""
    for file in files:
        packed = {"attachment": msgspec.json.encode(file.attachment).decode()}
        named = {name: getattr(file, name) for name in ("number", "id", "folder_id", "path")}
        db.execute(PUT_FILE, named | packed | asdict(file.stamp))
