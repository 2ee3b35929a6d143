"""The store's schema as an append-only list of steps; `PRAGMA user_version` counts the steps a file has taken."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from app.store.chat import new_id
from app.store.database import open_database, transaction
from app.store.message_search import spaced
from common.failures import Failure

Step = Callable[[sqlite3.Connection], None]


def create_chats_and_messages(db: sqlite3.Connection) -> None:
    """Create both tables; a message points to the one it answers, so that answers and edits can be siblings.

    `chats.leaf_id` is the last message of the shown branch. A message without `stop_reason` was not finished.
    """
    db.execute(
        """CREATE TABLE chats (
            id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL,
            deleted_at REAL, leaf_id TEXT) STRICT"""
    )
    db.execute(
        """CREATE TABLE messages (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            chat_id TEXT NOT NULL REFERENCES chats(id) ON DELETE CASCADE, parent_id TEXT,
            role TEXT NOT NULL, content TEXT NOT NULL, created_at REAL NOT NULL,
            stop_reason TEXT, problem TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT '',
            model TEXT NOT NULL DEFAULT '', statistics TEXT NOT NULL DEFAULT '') STRICT"""
    )
    db.execute("CREATE INDEX messages_of_chat ON messages(chat_id)")
    db.execute("CREATE INDEX chats_by_time ON chats(deleted_at, updated_at)")


def create_attachments(db: sqlite3.Connection) -> None:
    """Create the table of files attached to messages, as extracted text; `parts`, `pages`, `sent` are JSON."""
    db.execute(
        """CREATE TABLE attachments (
            message_id TEXT NOT NULL REFERENCES messages(id) ON DELETE CASCADE, position INTEGER NOT NULL,
            name TEXT NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL, text TEXT NOT NULL,
            parts TEXT NOT NULL, pages TEXT NOT NULL, sent TEXT NOT NULL,
            PRIMARY KEY (message_id, position)) STRICT"""
    )
    db.execute("ALTER TABLE messages ADD COLUMN sources TEXT NOT NULL DEFAULT ''")


def create_folders_and_pins(db: sqlite3.Connection) -> None:
    """Create folders (a chat is in one at most) and pins (pinned chats come first, the latest pinned on top)."""
    db.execute(
        """CREATE TABLE folders (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at REAL NOT NULL,
            folded INTEGER NOT NULL DEFAULT 0) STRICT"""
    )
    db.execute("ALTER TABLE chats ADD COLUMN pinned_at REAL")
    db.execute("ALTER TABLE chats ADD COLUMN folder_id TEXT REFERENCES folders(id) ON DELETE SET NULL")
    db.execute("CREATE INDEX chats_of_folder ON chats(folder_id)")


def register_spaced(db: sqlite3.Connection) -> None:
    """Register the function that the message index's triggers call; without it a connection cannot write messages."""
    db.create_function("spaced", 1, spaced, deterministic=True)


def open_migrated(path: Path) -> sqlite3.Connection:
    """Return another connection to a store that is up to date already."""
    db = open_database(path)
    register_spaced(db)
    return db


def create_message_index(db: sqlite3.Connection) -> None:
    """Create the word index of all messages; it has no text of its own, so triggers name the words to remove."""
    register_spaced(db)
    db.execute(
        """CREATE VIRTUAL TABLE message_index USING fts5(
            words, content = '', columnsize = 0, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 2')"""
    )
    take_in = "INSERT INTO message_index (rowid, words) VALUES (new.number, spaced(new.content));"
    take_out = (
        "INSERT INTO message_index (message_index, rowid, words) VALUES ('delete', old.number, spaced(old.content));"
    )
    db.execute(f"CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN {take_in} END")
    db.execute(f"CREATE TRIGGER message_gone AFTER DELETE ON messages BEGIN {take_out} END")
    db.execute(
        f"""CREATE TRIGGER message_changed AFTER UPDATE OF content, number ON messages
        WHEN old.content IS NOT new.content OR old.number IS NOT new.number BEGIN {take_out} {take_in} END"""
    )
    index_messages(db)


def index_messages(db: sqlite3.Connection) -> None:
    """Rebuild the word index of all messages."""
    db.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
    db.execute("INSERT INTO message_index (rowid, words) SELECT number, spaced(content) FROM messages")


def create_attachment_index(db: sqlite3.Connection) -> None:
    """Create the word index of files in pieces, which app.store.upkeep fills in idle time; nothing is `indexed` yet.

    `unmerged` counts deletions since upkeep last merged the indexes, which still have words of deleted text until then.
    """
    register_spaced(db)
    db.execute(
        """CREATE TABLE attachment_pieces (
            number INTEGER PRIMARY KEY, message_id TEXT NOT NULL, position INTEGER NOT NULL,
            start INTEGER NOT NULL, length INTEGER NOT NULL, indexed INTEGER NOT NULL DEFAULT 0) STRICT"""
    )
    db.execute("CREATE INDEX pieces_of_attachment ON attachment_pieces(message_id, position)")
    db.execute("CREATE INDEX pieces_to_index ON attachment_pieces(indexed) WHERE indexed = 0")
    db.execute(
        """CREATE VIRTUAL TABLE attachment_index USING fts5(
            words, content = '', columnsize = 0, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 2')"""
    )
    db.execute("CREATE TABLE unmerged (number INTEGER PRIMARY KEY, deletions INTEGER NOT NULL) STRICT")
    one_more = "INSERT INTO unmerged VALUES (1, 1) ON CONFLICT (number) DO UPDATE SET deletions = deletions + 1;"
    db.execute(f"CREATE TRIGGER words_stay AFTER DELETE ON messages BEGIN {one_more} END")
    db.execute(
        f"""CREATE TRIGGER attachment_gone BEFORE DELETE ON attachments BEGIN
            INSERT INTO attachment_index (attachment_index, rowid, words)
                SELECT 'delete', number, spaced(old.name || char(10) || substr(old.text, start + 1, length))
                FROM attachment_pieces
                WHERE message_id = old.message_id AND position = old.position AND indexed = 1;
            DELETE FROM attachment_pieces WHERE message_id = old.message_id AND position = old.position;
            {one_more} END"""
    )


def rebuild_indexes(db: sqlite3.Connection) -> None:
    """Rebuild the index of messages, and empty that of files, which upkeep fills again."""
    index_messages(db)
    db.execute("INSERT INTO attachment_index (attachment_index) VALUES ('delete-all')")
    db.execute("DELETE FROM attachment_pieces")


def keep_unsent_files_apart(db: sqlite3.Connection) -> None:
    """Move unsent files to a table of their own, so that storing typed text does not rewrite them.

    Text is stored often, and files may be 1,000 times as long. `unsent.attachments` stays empty.
    """
    db.execute(
        """CREATE TABLE unsent_files (
            number INTEGER PRIMARY KEY, chat_id TEXT NOT NULL UNIQUE, attachments TEXT NOT NULL) STRICT"""
    )
    db.execute(
        "INSERT INTO unsent_files (chat_id, attachments)"
        " SELECT chat_id, attachments FROM unsent WHERE attachments NOT IN ('', '[]')"
    )
    db.execute("UPDATE unsent SET attachments = '[]'")


def remember_models_of_chats(db: sqlite3.Connection) -> None:
    """Add the model that a chat was answered with last: its name, and the path of its file ('' if it is unknown).

    An answer of ours has statistics, which tells it from one that was imported from another program.
    """
    for name in ("model", "model_path"):
        db.execute(f"ALTER TABLE chats ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    db.execute(
        """UPDATE chats SET model = coalesce((
            SELECT model FROM messages WHERE chat_id = chats.id AND statistics <> '' ORDER BY number DESC LIMIT 1
        ), '')"""
    )


def create_collections(db: sqlite3.Connection) -> None:
    """Create the table of collections, of which a chat has some switched on, and of what was found for a message.

    `folders` is JSON. A collection with `deleted_at` is forgotten at the next start, unless its removal is undone.
    """
    db.execute(
        """CREATE TABLE collections (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, folders TEXT NOT NULL, created_at REAL NOT NULL,
            paused INTEGER NOT NULL DEFAULT 0, deleted_at REAL) STRICT"""
    )
    db.execute("ALTER TABLE chats ADD COLUMN collections TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE attachments ADD COLUMN path TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE attachments ADD COLUMN places TEXT NOT NULL DEFAULT ''")


def keep_queued_messages(db: sqlite3.Connection) -> None:
    """Add the message that waits for an answer to end, and the paths of files that were still being read."""
    db.execute("ALTER TABLE unsent ADD COLUMN queued TEXT NOT NULL DEFAULT ''")
    for column in ("unread", "queued", "queued_unread"):
        db.execute(f"ALTER TABLE unsent_files ADD COLUMN {column} TEXT NOT NULL DEFAULT '[]'")


def create_projects(db: sqlite3.Connection) -> None:
    """Add what the chats of a folder begin with: options, collections, a model, files, and facts about the user.

    `attachment` is JSON of a file as it was read: from `path` ('' for an imported one), which then had these bytes. A
    fact without a folder belongs to all chats. A folder with `deleted_at` is forgotten at the next start.
    """
    for column in ("options", "collections", "model", "model_path"):
        db.execute(f"ALTER TABLE folders ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE folders ADD COLUMN deleted_at REAL")
    db.execute("ALTER TABLE unsent ADD COLUMN folder_id TEXT NOT NULL DEFAULT ''")
    db.execute(
        """CREATE TABLE project_files (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            folder_id TEXT NOT NULL REFERENCES folders(id) ON DELETE CASCADE, attachment TEXT NOT NULL,
            path TEXT NOT NULL, changed_at INTEGER NOT NULL, bytes INTEGER NOT NULL, digest TEXT NOT NULL) STRICT"""
    )
    db.execute("CREATE INDEX files_of_project ON project_files(folder_id)")
    db.execute(
        """CREATE TABLE facts (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            folder_id TEXT REFERENCES folders(id) ON DELETE CASCADE, text TEXT NOT NULL) STRICT"""
    )
    db.execute("CREATE INDEX facts_of_project ON facts(folder_id)")


def give_new_chats_ids(db: sqlite3.Connection) -> None:
    """Keep each draft under its chat's id, also while the chat has no messages.

    All such chats had the id '', so that one of them replaced the draft of another.
    """
    id = new_id()
    for table in ("unsent", "unsent_files"):
        db.execute(f"DELETE FROM {table} WHERE chat_id <> '' AND chat_id NOT IN (SELECT id FROM chats)")
        db.execute(f"UPDATE {table} SET chat_id = ? WHERE chat_id = ''", (id,))


def done_by(*statements: str) -> Step:
    """Return the step that executes these statements."""

    def execute(db: sqlite3.Connection) -> None:
        for statement in statements:
            db.execute(statement)

    return execute


def added(table: str, *columns: str) -> Step:
    """Return the step that adds these columns to the table."""
    return done_by(*(f"ALTER TABLE {table} ADD COLUMN {column}" for column in columns))


MIGRATIONS: tuple[Step, ...] = (
    create_chats_and_messages,
    # The model files that were opened, for the model menu and the next start.
    done_by("CREATE TABLE recent_models (path TEXT PRIMARY KEY, opened_at REAL NOT NULL) STRICT"),
    # How many of a chat's oldest turns the user chose to leave out when the context was full.
    added("chats", "forget_turns INTEGER NOT NULL DEFAULT 0"),
    create_attachments,
    # A chat's own options, and the table of options saved under a name; both are JSON.
    done_by(
        "ALTER TABLE chats ADD COLUMN options TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE personas (name TEXT PRIMARY KEY, options TEXT NOT NULL) STRICT",
    ),
    # The unsent text in each chat's composer. The chat without messages had the id '' until `give_new_chats_ids`.
    done_by("CREATE TABLE unsent (chat_id TEXT PRIMARY KEY, text TEXT NOT NULL, attachments TEXT NOT NULL) STRICT"),
    # The deletion mark of messages, which are kept for a while, and the branches that were shown last.
    done_by(
        "ALTER TABLE messages ADD COLUMN deleted_at REAL",
        "ALTER TABLE chats ADD COLUMN chosen TEXT NOT NULL DEFAULT ''",
    ),
    create_folders_and_pins,
    create_message_index,
    # How long the model thought before it answered.
    added("messages", "thought_seconds REAL"),
    # A start that looks for messages deleted long ago does not read all messages.
    done_by("CREATE INDEX deleted_messages ON messages(deleted_at) WHERE deleted_at IS NOT NULL"),
    create_attachment_index,
    # The unsent edit of a sent message; NULL if none is open.
    done_by(
        "ALTER TABLE messages ADD COLUMN edit TEXT",
        "CREATE INDEX edited_messages ON messages(chat_id) WHERE edit IS NOT NULL",
    ),
    keep_unsent_files_apart,
    remember_models_of_chats,
    # The mark of a model that a start is loading; it stays when that start crashes.
    added("recent_models", "loading INTEGER NOT NULL DEFAULT 0"),
    # The options that were chosen for the chat that is not stored yet, before its first message.
    added("unsent", "options TEXT NOT NULL DEFAULT ''"),
    # When an answer ended while another chat was open; NULL once the chat was opened.
    added("chats", "unread_at REAL"),
    # When the user wrote a version of an answer by hand; NULL for what a model wrote.
    added("messages", "edited_at REAL"),
    # The hosts of servers that the user lets read a chat, one a line.
    added("chats", "agreed TEXT NOT NULL DEFAULT ''"),
    create_collections,
    # Attached pictures, as PNG or JPEG files, with their sizes in pixels; NULL for files of text.
    added("attachments", "picture BLOB", "width INTEGER NOT NULL DEFAULT 0", "height INTEGER NOT NULL DEFAULT 0"),
    # The address of an attached web page and when it was fetched, in Unix seconds; "" and 0 for files.
    added("attachments", "address TEXT NOT NULL DEFAULT ''", "read_at REAL NOT NULL DEFAULT 0"),
    # The collections that were chosen for a chat before its first message, as `chats.collections`.
    added("unsent", "collections TEXT NOT NULL DEFAULT ''"),
    # Who wrote a chat's title: the user, or a model; '' for the first line, or if it is unknown.
    added("chats", "title_from TEXT NOT NULL DEFAULT ''"),
    keep_queued_messages,
    # The text that the model reads in place of a message and all above it; '' if it reads the messages.
    added("messages", "summary TEXT NOT NULL DEFAULT ''"),
    # Calls of tools: those of an answer, or the one that a result is from; and the tools of a chat. Both are JSON.
    done_by(
        "ALTER TABLE messages ADD COLUMN calls TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE chats ADD COLUMN tools TEXT NOT NULL DEFAULT ''",
    ),
    create_projects,
    # The tools that were chosen for a chat before its first message, as `chats.tools`.
    added("unsent", "tools TEXT NOT NULL DEFAULT ''"),
    give_new_chats_ids,
)


def migrate(db: sqlite3.Connection) -> None:
    """Run the steps that the file has not taken yet, each in its own transaction; raise Failure for a newer file."""
    register_spaced(db)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise Failure("store_newer.file")
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        with transaction(db):
            step(db)
            db.execute(f"PRAGMA user_version = {number}")
