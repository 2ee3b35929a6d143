"""Opens the store; a damaged file is set aside and its readable rows are copied into a new one. Knows no windows.

A normal start makes only cheap checks: whether the file can be opened and its chats listed, whether it has the length
it claims, whether damage was met since the last start (a file beside the store says so), and whether the log beside it,
which a killed program leaves, belongs to another store (because a backup was copied here). Only if a check fails, the
whole file is read. If it is damaged, the store is rebuilt beside the old one, so that nothing is lost if the program is
killed meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from app.store.chat import UNTITLED, title_of
from app.store.chat_store import ChatStore
from app.store.database import beside, damage_mark, failures, open_for_reading, transaction
from app.store.merging import complete_import
from app.store.migrations import rebuild_indexes
from app.store.pages import MAGIC, Pages, Row, Value, is_damaged_log, page_size
from app.words import tr, tr_n
from common.failures import Failure
from common.log_format import kind_of

log = logging.getLogger(__name__)
# From SQLite 3.44 on its check reads the word indexes too. They lose nothing: `_opened` fills them anew.
INDEX_DAMAGE = ("malformed inverted index for FTS5", "unable to validate the inverted index for FTS5")
# SQLite errors that do not mean damage.
UNRELATED_ERRORS = ("SQLITE_BUSY", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")


@dataclass(frozen=True, slots=True)
class Recovery:
    """The numbers of chats and messages recovered from a damaged store; `str()` is what the user reads.

    `damaged` is where the damaged file is now.
    """

    damaged: Path
    chats: int = 0
    messages: int = 0

    def __str__(self) -> str:
        kept = tr("The damaged file was kept as {path}.", path=self.damaged)
        if not self.chats:
            return tr("The file with your chats was damaged, and none of its chats could be read.") + " " + kept
        back = tr(
            "The file with your chats was damaged. Recovered: {chats} with {messages}.",
            chats=tr_n("{n} chat", "{n} chats", self.chats),
            messages=tr_n("{n} message", "{n} messages", self.messages),
        )
        return f"{back} {kept}"


def open_store(path: Path) -> tuple[ChatStore, Recovery | None]:
    """Open the store at `path`, creating it if there is none; also return what was recovered if it was damaged.

    Raises Failure if the file can be neither opened nor set aside: locked, not writable, or of a newer version.
    """
    with failures(path):
        _install_rebuilt(path)
        if path.is_dir():
            damaged = _set_aside(path, path.rename)
            _create(path)
            return ChatStore(path), Recovery(damaged)
        if not path.exists():
            _create(path)
        foreign = _set_foreign_log_aside(path)
        sound = check(path) if foreign else _is_sound(path) and not _has_damaged_log(path)
        store = _opened(path) if sound else None
        if store is not None:
            return store, Recovery(foreign, *store.with_connection(count_visible)) if foreign else None
        recovery = _recover(path)
    return ChatStore(path), recovery


def check(path: Path) -> bool:
    """Read the whole file, which may take seconds, and return whether it is sound. May be called from any thread."""
    try:
        with contextlib.closing(open_for_reading(path)) as db:
            said = [text for (text,) in db.execute("PRAGMA integrity_check")]
            return all(text == "ok" or text.startswith(INDEX_DAMAGE) for text in said)
    except UnicodeDecodeError:  # SQLite's message contains a piece of the damaged file
        return False
    except sqlite3.DatabaseError as error:
        log.warning("the store could not be checked: %s", kind_of(error))
        return (getattr(error, "sqlite_errorname", "") or "").startswith(UNRELATED_ERRORS)


def _opened(path: Path) -> ChatStore | None:
    """Open the store; return None if it is damaged."""
    store: ChatStore | None = None
    try:
        store = ChatStore(path)
        store.chats()
        store.folders()
        complete_import(store)
        if damage_mark(path).exists():  # the file itself is sound, so the damage was in the word index
            store.with_connection(rebuild_indexes)
            damage_mark(path).unlink()
        return store
    except Failure as failure:
        if store is not None:
            store.close()
        if failure.code != "store_damaged":
            raise
        log.warning("%s", failure.log_text)
        return None


def _is_sound(path: Path) -> bool:
    """Return False if the file is certainly damaged; the whole file is read only if a cheap check fails."""
    with path.open("rb") as file:
        head = file.read(100)
    if head[: len(MAGIC)] != MAGIC:
        return False
    page_size = int.from_bytes(head[16:18])
    whole = int.from_bytes(head[28:32]) * (65536 if page_size == 1 else page_size)
    return (path.stat().st_size >= whole and not damage_mark(path).exists()) or check(path)


# --- a log of another store ---------------------------------------------------------------------------------------


def _set_foreign_log_aside(path: Path) -> Path | None:
    """Rename a log that belongs to another store; return its new name, or None if there is no such log.

    SQLite would use any complete log, and put the other store's pages over this one's.
    """
    wal = beside(path, "-wal")
    if not wal.exists() or not wal.stat().st_size or not _is_foreign(path):
        return None
    name = beside(_set_aside(path, lambda name: wal.rename(beside(name, "-wal"))), "-wal")
    beside(path, "-shm").unlink(missing_ok=True)
    return name


def _is_foreign(path: Path) -> bool:
    """Return whether the log would replace all chats that the file has without it. Writes nothing."""
    alone = _read_only(path, "immutable=1", CHAT_IDS)
    if not alone:
        return False
    together = _read_only(path, "mode=ro", CHAT_IDS)
    if together is None:
        return _read_only(path, "immutable=1", "PRAGMA integrity_check(1)") == {"ok"}
    return alone.isdisjoint(together)


def _has_damaged_log(path: Path) -> bool:
    """Return whether the log is damaged; call this before SQLite opens it, which drops everything after the damage."""
    wal = _read(beside(path, "-wal"))
    if not wal:
        return False
    with contextlib.closing(_mapped(path)) as content:
        return is_damaged_log(wal, page_size(content, wal))


CHAT_IDS = "SELECT id FROM chats"


def _read_only(path: Path, how: str, question: str) -> set[str] | None:
    """Return the first column of the query's result; None if the file is damaged."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as db:
            return {row[0] for row in db.execute(question)}
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if (getattr(error, "sqlite_errorname", "") or "").startswith(UNRELATED_ERRORS):
            raise
        log.info("%s, %s: %s", path.name, how, kind_of(error))
        return None


# --- rebuilding -----------------------------------------------------------------------------------------------------


def _recover(path: Path) -> Recovery:
    part = beside(path, ".part")
    _remove(part)
    store = ChatStore(part)
    try:
        with contextlib.closing(_mapped(path)) as content:
            pages = Pages(content, _read(beside(path, "-wal")))
            chats, messages = store.with_connection(lambda db: salvage(pages, db))
    finally:
        store.close()
    part.replace(beside(path, ".rebuilt"))
    recovery = Recovery(_set_aside(path, lambda name: _move(path, name)), chats, messages)
    _install_rebuilt(path)
    return recovery


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return mmap.mmap(-1, 1)  # an empty file cannot be mapped; one zero byte has no content either


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _move(path: Path, name: Path) -> None:
    log_file = beside(path, "-wal")
    if log_file.exists():  # commits that are not in the file yet; copied, so that file and log are never separated
        shutil.copy2(log_file, beside(name, "-wal"))
    path.rename(name)


def _set_aside(path: Path, move: Callable[[Path], object]) -> Path:
    """Give the file an unused name with date and time; return the new path."""
    stamp = datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    name = path.with_name(f"{path.stem}-damaged-{stamp}{path.suffix}")
    number = 2
    while name.exists():
        name = path.with_name(f"{path.stem}-damaged-{stamp}-{number}{path.suffix}")
        number += 1
    move(name)
    log.warning("the damaged store is %s now", name)
    return name


def _install_rebuilt(path: Path) -> None:
    """Move a rebuilt store to where the damaged one was, also if the program was killed meanwhile."""
    rebuilt = beside(path, ".rebuilt")
    if rebuilt.exists() and not path.exists():
        for end in ("-wal", "-shm"):
            beside(path, end).unlink(missing_ok=True)
        rebuilt.replace(path)
        damage_mark(path).unlink(missing_ok=True)


def _create(path: Path) -> None:
    """Create the store in one step, so that an empty file always means lost data."""
    part = beside(path, ".part")
    _remove(part)
    ChatStore(part).close()
    part.replace(path)


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        beside(path, end).unlink(missing_ok=True)


# --- copying readable rows of a damaged file into a new one, and repairing references ---------------------------------

KINDS: dict[str, tuple[type, ...]] = {"TEXT": (str,), "REAL": (float, int), "INTEGER": (int,), "BLOB": (bytes,)}
ROLES = ("user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: str
    required: bool
    is_rowid: bool

    def accepts(self, value: Value) -> bool:
        if value is None:
            return self.is_rowid or not self.required
        return not self.is_rowid and isinstance(value, KINDS.get(self.kind, ()))


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the newest schema; rows of older versions are shorter, because columns were only ever added."""

    name: str
    columns: tuple[Column, ...]

    def accepts(self, rows: Sequence[Row]) -> bool:
        """Return whether all these rows can be rows of this table."""
        least = 1 + max(at for at, column in enumerate(self.columns) if column.required or at == 0)
        return all(
            least <= len(values) <= len(self.columns)
            and all(column.accepts(value) for column, value in zip(self.columns, values, strict=False))
            for _, values in rows
        )

    def insert(self, db: sqlite3.Connection, rowid: int, values: Sequence[Value]) -> bool:
        """Insert a row; return False if its key exists already or SQLite refuses it."""
        names = ", ".join(column.name for column in self.columns[: len(values)])
        whole = [rowid if column.is_rowid else value for column, value in zip(self.columns, values, strict=False)]
        marks = ", ".join("?" * len(whole))
        try:
            return db.execute(f"INSERT OR IGNORE INTO {self.name} ({names}) VALUES ({marks})", whole).rowcount > 0
        except sqlite3.Error as error:
            log.warning("a row of %s was left out: %s", self.name, kind_of(error))
            return False


def salvage(pages: Pages, db: sqlite3.Connection) -> tuple[int, int]:
    """Fill the empty store `db`; return how many chats, without deleted ones, it has and how many messages in them."""
    tables = _tables(db)
    db.execute("PRAGMA foreign_keys = OFF")
    with transaction(db):
        for rows in pages.tables():
            table = _table_of(rows, tables)
            if table is not None:
                for rowid, values in rows:
                    table.insert(db, rowid, values)
        _repair(db)
    db.execute("PRAGMA foreign_keys = ON")
    return count_visible(db)


def count_visible(db: sqlite3.Connection) -> tuple[int, int]:
    """Return how many chats there are, without deleted ones, and how many messages in them."""
    (chats,) = db.execute("SELECT count(*) FROM chats WHERE deleted_at IS NULL").fetchone()
    (messages,) = db.execute(
        "SELECT count(*) FROM messages JOIN chats ON chats.id = chat_id WHERE chats.deleted_at IS NULL"
    ).fetchone()
    return chats, messages


def _tables(db: sqlite3.Connection) -> list[Table]:
    names = db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        " AND name NOT LIKE 'message_index%' AND name NOT LIKE 'attachment_index%'"
        " AND name NOT IN ('attachment_pieces', 'unmerged')"
    )
    return [Table(name, _columns(db, name)) for (name,) in names.fetchall()]


def _columns(db: sqlite3.Connection, table: str) -> tuple[Column, ...]:
    return tuple(
        Column(name, kind, required=bool(not_null) and default is None, is_rowid=bool(key) and kind == "INTEGER")
        for _, name, kind, not_null, default, key in db.execute(f"PRAGMA table_info({table})")
    )


def _table_of(rows: Sequence[Row], tables: Sequence[Table]) -> Table | None:
    """Return the table that the rows of one page belong to.

    Of the tables that accept the rows, that is the one with the fewest columns missing in them.
    """
    fitting = [table for table in tables if table.accepts(rows)]
    return min(fitting, key=lambda table: len(table.columns) - len(rows[0][1]), default=None)


def _repair(db: sqlite3.Connection) -> None:
    """Add chats for messages without one, new parents for messages that lost theirs, and remove dangling references."""
    db.execute(f"DELETE FROM messages WHERE role NOT IN {ROLES}")
    _give_chats(db)
    db.execute("CREATE INDEX temporary_order ON messages(chat_id, number)")
    db.execute(
        """UPDATE messages AS orphan SET parent_id = (
            SELECT id FROM messages WHERE chat_id = orphan.chat_id AND number < orphan.number
            ORDER BY number DESC LIMIT 1)
        WHERE parent_id IS NOT NULL AND parent_id NOT IN (SELECT id FROM messages)"""
    )
    db.execute(
        """UPDATE chats SET leaf_id = (
            SELECT id FROM messages WHERE chat_id = chats.id AND deleted_at IS NULL ORDER BY number DESC LIMIT 1)
        WHERE leaf_id IS NULL OR leaf_id NOT IN (SELECT id FROM messages)"""
    )
    db.execute("DROP INDEX temporary_order")
    db.execute("UPDATE chats SET folder_id = NULL WHERE folder_id NOT IN (SELECT id FROM folders)")
    for table, key, parent, parent_key in db.execute(FOREIGN).fetchall():
        if table != "chats":
            db.execute(f"DELETE FROM {table} WHERE {key} NOT IN (SELECT {parent_key} FROM {parent})")


FOREIGN = """SELECT m.name, f."from", f."table", f."to" FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f
    WHERE m.type = 'table'"""


def _give_chats(db: sqlite3.Connection) -> None:
    orphans = db.execute(
        """SELECT chat_id, min(created_at), max(created_at),
            (SELECT content FROM messages AS m WHERE m.chat_id = messages.chat_id AND role = 'user' ORDER BY number)
        FROM messages WHERE chat_id NOT IN (SELECT id FROM chats) GROUP BY chat_id"""
    )
    for chat_id, first, last, question in orphans.fetchall():
        db.execute(
            "INSERT INTO chats (id, title, created_at, updated_at) VALUES (?, ?, ?, ?)",
            (chat_id, title_of(question or UNTITLED), first, last),
        )
