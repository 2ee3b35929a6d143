"""Migrations: a file of any older version is brought up to date, and no released step ever changes."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from zlib import crc32

import pytest

from app.state.draft_keeper import DraftStore
from app.store.chat_store import ChatStore
from app.store.migrations import MIGRATIONS, migrate, open_migrated
from common.failures import Failure

# Without the tables that SQLite makes for an index, which may be other ones in another version of SQLite.
SCHEMA = "SELECT name, sql FROM sqlite_master WHERE name NOT GLOB '*_index_*' ORDER BY name"
# A checksum of the schema after each step. Users' files have taken these steps, so a new version adds a line here.
RELEASED = (
    0x61173524, 0xe447f037, 0xe537c656, 0xb459d31f, 0xb5ca7028, 0x72201095, 0xe2cebd24, 0x76209607,
    0xa26b97b5, 0x12c0a524, 0xd5233844, 0x037c8fea, 0x542ebbc4, 0x1fe6b886, 0x9b907a8c, 0xbda8ad76,
    0xfa35df44, 0xff2bfc61, 0xc80425d5, 0x7ef579c9, 0xe7d0aa8c, 0x9f3e79f2, 0xa534f8a0, 0xc275993c,
    0xef026c5a, 0x4ae3cdae, 0x2c87ab45, 0x331415d5, 0x2277595e, 0x93348d1f,
    0x93348d1f,
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.sqlite3"


def older(path: Path | str, steps: int) -> sqlite3.Connection:
    """Return a store as the version with this many steps left it."""
    db = sqlite3.connect(path, isolation_level=None)
    for step in MIGRATIONS[:steps]:
        step(db)
    db.execute(f"PRAGMA user_version = {steps}")
    return db


def test_a_released_step_never_changes() -> None:
    db = older(":memory:", 0)
    for step, released in zip(MIGRATIONS, RELEASED, strict=True):
        step(db)
        assert crc32(repr(db.execute(SCHEMA).fetchall()).encode()) == released, step
    db.close()


def test_a_step_that_fails_is_taken_back_whole(path: Path) -> None:
    db = older(path, 4)
    db.execute("CREATE TABLE personas (name)")  # what the second statement of step 5 cannot do now
    before = db.execute(SCHEMA).fetchall()
    with pytest.raises(sqlite3.OperationalError, match="personas already exists"):
        migrate(db)
    assert db.execute(SCHEMA).fetchall() == before
    assert db.execute("PRAGMA user_version").fetchone() == (4,)
    db.execute("DROP TABLE personas")
    migrate(db)
    db.close()
    ChatStore(path).close()


def test_a_chats_model_is_that_of_its_last_answer_that_is_ours(path: Path) -> None:
    """An imported answer has no statistics."""
    db = older(path, 14)
    for chat in ("ours", "imported"):
        db.execute("INSERT INTO chats (id, title, created_at, updated_at) VALUES (?, '', 1, 2)", (chat,))
    for chat, model, numbers in (
        ("ours", "first", "{}"), ("ours", "last", "{}"), ("ours", "theirs", ""), ("imported", "theirs", ""),
    ):  # fmt: skip
        db.execute(
            "INSERT INTO messages (id, chat_id, role, content, created_at, model, statistics)"
            " VALUES (?, ?, 'assistant', '', 1, ?, ?)",
            (chat + model, chat, model, numbers),
        )
    migrate(db)
    assert dict(db.execute("SELECT id, model FROM chats")) == {"ours": "last", "imported": ""}
    db.close()


@pytest.mark.parametrize("steps", range(len(MIGRATIONS) + 1))
def test_every_older_schema_is_brought_up_to_date(path: Path, steps: int) -> None:
    db = older(path, steps)
    if steps:
        db.execute("INSERT INTO chats (id, title, created_at, updated_at) VALUES ('old', 'Old chat', 1, 2)")
    migrate(db)
    assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    schema = db.execute(SCHEMA).fetchall()
    db.close()
    store = ChatStore(path)
    assert [chat.title for chat in store.chats()] == (["Old chat"] if steps else [])
    assert store.recent_models() == []
    store.close()
    blank = sqlite3.connect(":memory:", isolation_level=None)
    migrate(blank)
    assert blank.execute(SCHEMA).fetchall() == schema
    blank.close()


def test_files_that_were_not_sent_come_along(path: Path) -> None:
    db = older(path, 6)
    file = '[{"name": "a.txt", "kind": "text", "size": 5, "text": "words"}]'
    for row in (("", "a question", file), ("c", "no files", "[]"), ("d", "none either", "")):
        db.execute("INSERT INTO unsent VALUES (?, ?, ?)", row)
    db.close()
    store = ChatStore(path)
    (id,) = store.unsent_ids()
    draft = DraftStore(store).load(id)
    assert (draft.text, [each.text for each in draft.attachments]) == ("a question", ["words"])
    for table, column in (("unsent", "[]"), ("unsent_files", file)):
        assert store._db.execute(f"SELECT chat_id, attachments FROM {table}").fetchall() == [(id, column)]
    store.close()


def test_a_newer_file_is_left_alone(path: Path) -> None:
    older(path, len(MIGRATIONS)).close()
    ChatStore(path).close()
    db = open_migrated(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(Failure, match="newer version of Chickadee"):
        ChatStore(path)
