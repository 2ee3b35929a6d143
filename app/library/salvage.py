"""Puts the rows that could be read of a damaged library into a new one, and mends what hangs in the air."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from app.library.chat import UNTITLED, title_of
from app.library.database import transaction
from app.library.pages import Pages, Row, Value

log = logging.getLogger(__name__)
KINDS: dict[str, tuple[type, ...]] = {"TEXT": (str,), "REAL": (float, int), "INTEGER": (int,), "BLOB": (bytes,)}
SPEAKERS = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: str
    required: bool
    is_rowid: bool

    def takes(self, value: Value) -> bool:
        if value is None:
            return self.is_rowid or not self.required
        return not self.is_rowid and isinstance(value, KINDS.get(self.kind, ()))


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the newest schema. Rows written by older versions are shorter: columns were only ever added."""

    name: str
    columns: tuple[Column, ...]

    def takes(self, rows: Sequence[Row]) -> bool:
        """Can all these be rows of this table?"""
        least = 1 + max(at for at, column in enumerate(self.columns) if column.required or at == 0)
        return all(
            least <= len(values) <= len(self.columns)
            and all(column.takes(value) for column, value in zip(self.columns, values, strict=False))
            for _, values in rows
        )

    def insert(self, db: sqlite3.Connection, rowid: int, values: Sequence[Value]) -> bool:
        """False if there is such a row already, or the row is not what it seems."""
        names = ", ".join(column.name for column in self.columns[: len(values)])
        whole = [rowid if column.is_rowid else value for column, value in zip(self.columns, values, strict=False)]
        marks = ", ".join("?" * len(whole))
        try:
            return db.execute(f"INSERT OR IGNORE INTO {self.name} ({names}) VALUES ({marks})", whole).rowcount > 0
        except sqlite3.Error as error:
            log.warning("a row of %s was left out: %s", self.name, error)
            return False


def salvage(pages: Pages, db: sqlite3.Connection) -> tuple[int, int]:
    """Fill the empty library `db`; returns how many chats, without deleted ones, and how many messages in them."""
    tables = _tables(db)
    db.execute("PRAGMA foreign_keys = OFF")
    with transaction(db):
        for rows in pages.tables():
            table = _table_of(rows, tables)
            if table is not None:
                for rowid, values in rows:
                    table.insert(db, rowid, values)
        _mend(db)
    db.execute("PRAGMA foreign_keys = ON")
    return whole_counts(db)


def whole_counts(db: sqlite3.Connection) -> tuple[int, int]:
    """How many chats there are, without deleted ones, and how many messages in them."""
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
    """The table these rows of one page belong to: the one they fit into with the fewest columns missing."""
    fitting = [table for table in tables if table.takes(rows)]
    return min(fitting, key=lambda table: len(table.columns) - len(rows[0][1]), default=None)


def _mend(db: sqlite3.Connection) -> None:
    """Chats for messages that have none, parents for those that lost theirs, and nothing that points nowhere."""
    db.execute(f"DELETE FROM messages WHERE role NOT IN {SPEAKERS}")
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
    lost = db.execute(
        """SELECT chat_id, min(created_at), max(created_at),
            (SELECT content FROM messages AS m WHERE m.chat_id = messages.chat_id AND role = 'user' ORDER BY number)
        FROM messages WHERE chat_id NOT IN (SELECT id FROM chats) GROUP BY chat_id"""
    )
    for chat_id, begun, ended, question in lost.fetchall():
        db.execute(
            "INSERT INTO chats (id, title, created_at, updated_at) VALUES (?, ?, ?, ?)",
            (chat_id, title_of(question or UNTITLED), begun, ended),
        )
