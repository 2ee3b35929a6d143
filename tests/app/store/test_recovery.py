"""A damaged store is set aside and its readable rows come back; a sound one is never set aside."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.folders import Folders
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore
from app.store.database import damage_mark
from app.store.message_search import Search
from app.store.migrations import MIGRATIONS
from app.store.pages import Pages
from app.store.recovery import Recovery, check, open_store
from app.store.upkeep import run_upkeep
from common.failures import Failure
from tests.app.conftest import Opener
from tests.app.unprivileged import permissions_hold

CHATS, TURNS = 40, 6
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "library.sqlite3"
    fill(path)
    return path


def fill(path: Path) -> None:
    """Add CHATS chats of TURNS messages, every fifth message longer than a page; chat 0 is permanently deleted."""
    store, _ = open_store(path)
    folder = Folder("Work", id="folder")
    store.save_folder(folder)
    for number in range(CHATS + 1):
        chat = Chat(f"chat {number}", id=f"chat{number}", folder_id="folder" if number % 3 == 0 else None)
        branch: list[ChatMessage] = []
        for turn in range(TURNS):
            parent = branch[-1].id if branch else None
            text = f"words of {number}/{turn} 答案 " * (300 if turn == 4 else 3)
            role = "assistant" if turn % 2 else "user"
            branch.append(ChatMessage(chat.id, parent, role, text, id=f"m{number}-{turn}"))  # type: ignore[arg-type]
        store.save(replace(chat, leaf_id=branch[-1].id), branch)
    store.remember_model(Path("a model"))
    store.delete("chat0")
    store.delete_for_good("chat0")
    run_upkeep(path)
    store.close()


def recovered(path: Path) -> tuple[ChatStore, Recovery]:
    store, recovery = open_store(path)
    assert recovery is not None
    assert check(path)
    return store, recovery


def whole(store: ChatStore) -> set[str]:
    """Return the ids of the chats whose messages are all there, in one branch, with the right text."""
    good = set()
    for chat in store.chats():
        messages = store.messages(chat)
        number = chat.id.removeprefix("chat")
        right = [message.content.startswith(f"words of {number}/{at} ") for at, message in enumerate(messages)]
        if len(messages) == TURNS and all(right) and chat.title == f"chat {number}":
            good.add(chat.id)
    return good


def pages_of(path: Path) -> tuple[bytearray, int]:
    data = bytearray(path.read_bytes())
    return data, int.from_bytes(data[16:18])


def test_a_sound_store_is_left_alone(path: Path) -> None:
    before = path.read_bytes()
    store, recovery = open_store(path)
    assert recovery is None
    assert len(whole(store)) == CHATS
    store.close()
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} == {"library.sqlite3"}


def test_the_header_overwritten(path: Path) -> None:
    data, _ = pages_of(path)
    data[:100] = random.Random(1).randbytes(100)
    path.write_bytes(data)
    store, recovery = recovered(path)
    assert len(whole(store)) == CHATS == recovery.chats
    assert recovery.messages == CHATS * TURNS
    assert [folder.name for folder in store.folders()] == ["Work"]
    assert {chat.id for chat in store.chats() if chat.folder_id} == {f"chat{n}" for n in range(3, CHATS + 1, 3)}
    assert store.recent_models() == [Path("a model")]
    assert recovery.damaged.read_bytes() == data
    assert recovery.damaged.name.startswith("library-damaged-20")
    assert str(recovery.damaged) in str(recovery)
    assert "Recovered: 40 chats with 240 messages" in str(recovery)
    store.close()
    search = Search(path)
    assert len(search.search('"7/2 答案"')) == 1
    search.close()
    again, nothing = open_store(path)
    assert nothing is None
    again.close()


@pytest.mark.parametrize("seed", range(6))
def test_pages_in_the_middle_overwritten(path: Path, seed: int) -> None:
    data, size = pages_of(path)
    dice = random.Random(seed)
    hit = dice.sample(range(1, len(data) // size), 4)
    for page in hit:
        data[page * size : (page + 1) * size] = dice.randbytes(size) if seed % 2 else bytes(size)
    path.write_bytes(data)
    damage_mark(path).touch()
    store, recovery = open_store(path)
    assert recovery is not None
    assert check(path)
    assert len(whole(store)) >= CHATS - 4 * 20
    for chat in store.chats():
        for message in store.messages(chat):
            assert message.parent_id is None or message.parent_id in {each.id for each in store.messages(chat)}
    assert recovery.chats >= CHATS - 4
    store.close()


def test_the_first_page_of_a_table_overwritten(path: Path) -> None:
    db = sqlite3.connect(path)
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()
    db.close()
    data, size = pages_of(path)
    data[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(data)
    store, _ = open_store(path)
    with pytest.raises(Failure, match="Restart Chickadee"):
        store.messages(Chat(id="chat1"))
    store.close()
    store, _ = recovered(path)
    assert len(whole(store)) == CHATS
    assert not damage_mark(path).exists()
    store.close()


@pytest.mark.parametrize("table", ["chats", "folders"])
def test_damage_of_what_each_start_reads_is_met_at_once(path: Path, table: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    data, size = pages_of(path)
    data[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(data)
    store, recovery = recovered(path)
    assert recovery.messages == CHATS * TURNS
    store.close()


def test_damage_of_the_word_index_alone_is_repaired(path: Path) -> None:
    with closing(ChatStore(path)) as store, store.connection() as db:
        db.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
    damage_mark(path).touch()
    store, recovery = open_store(path)
    store.close()
    assert recovery is None
    assert not damage_mark(path).exists()
    search = Search(path)
    assert len(search.search('"7/2 答案"')) == 1
    search.close()


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_a_truncated_file(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    store, _ = recovered(path)
    assert len(whole(store)) > CHATS * (share - 0.35)
    store.close()


def test_messages_without_their_chat_come_back_as_one(path: Path) -> None:
    data, size = pages_of(path)
    data[:100] = bytes(100)
    for page in range(len(data) // size):
        if (
            b"chat 1" in data[page * size : (page + 1) * size]
            and b"words of" not in data[page * size : (page + 1) * size]
        ):
            data[page * size : (page + 1) * size] = bytes(size)
    path.write_bytes(data)
    store, recovery = recovered(path)
    assert recovery.messages == CHATS * TURNS
    assert {chat.title for chat in store.chats() if chat.id == "chat1"} == {
        "words of 1/0 答案 words of 1/0 答案 words of 1/0 答案"
    }
    store.close()


LATE = 5
LATE_CHATS = f"""
import os, sys
from pathlib import Path
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore

store = ChatStore(Path(sys.argv[1]))
for number in range({LATE}):
    chat = Chat("late", id=f"late{{number}}")
    store.save(chat, [ChatMessage(chat.id, None, "user", f"late words {{number}}", id=f"late{{number}}")])
os._exit(9)
"""


def logged_by_a_killed_program(path: Path) -> Path:
    """Write LATE more chats and return the log that has them."""
    subprocess.run([sys.executable, "-c", LATE_CHATS, str(path)], cwd=ROOT, check=False)
    wal = path.with_name(path.name + "-wal")
    assert wal.stat().st_size > 0
    return wal


def late(store: ChatStore) -> list[str]:
    return [message.content for number in range(LATE) for message in store.messages(Chat("late", id=f"late{number}"))]


LATE_WORDS = [f"late words {number}" for number in range(LATE)]


@pytest.mark.parametrize("at", range(0, 32, 3))
def test_a_log_with_a_damaged_head_is_read(path: Path, at: int) -> None:
    """SQLite would drop everything in it."""
    wal = logged_by_a_killed_program(path)
    log = bytearray(wal.read_bytes())
    log[at] ^= 0x41
    wal.write_bytes(log)
    store, _ = recovered(path)
    assert late(store) == LATE_WORDS
    store.close()


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(lambda log: log[15:], id="the beginning lost"),
        pytest.param(lambda log: log[:9] + b"something" + log[9:], id="bytes put into the head"),
        pytest.param(lambda log: log[:40] + b"something" + log[40:], id="bytes put into the first frame"),
        pytest.param(lambda log: b"\0" * 56 + log[56:], id="zeros over the first mark"),
        pytest.param(lambda log: log[:2000] + log[2001:], id="a byte lost"),
    ],
)
def test_a_log_whose_bytes_moved_is_read(path: Path, damaged: Callable[[bytes], bytes]) -> None:
    """At least the last chat's pages are complete, and none of the log is deleted from the disk."""
    wal = logged_by_a_killed_program(path)
    wal.write_bytes(damaged(wal.read_bytes()))
    before = wal.read_bytes()
    store, recovery = recovered(path)
    assert late(store)[-1:] == LATE_WORDS[-1:]
    assert recovery.damaged.with_name(recovery.damaged.name + "-wal").read_bytes() == before
    store.close()


@pytest.mark.parametrize("log", [b"", b"\0" * 9000], ids=["empty", "zeros"])
def test_a_log_that_says_nothing_damages_nothing(path: Path, log: bytes) -> None:
    path.with_name(path.name + "-wal").write_bytes(log)
    store, recovery = open_store(path)
    assert recovery is None
    assert len(whole(store)) == CHATS
    store.close()


def test_what_stands_only_in_the_log_comes_back(path: Path) -> None:
    wal = logged_by_a_killed_program(path)
    path.write_bytes(b"")
    logged = wal.read_bytes()
    store, recovery = recovered(path)
    assert late(store) == LATE_WORDS
    assert recovery.damaged.with_name(recovery.damaged.name + "-wal").read_bytes() == logged
    store.close()


@pytest.mark.parametrize("content", [b"", b"x", b"not a database, " * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_garbage_gives_a_new_store(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "library.sqlite3"
    path.write_bytes(content)
    store, recovery = recovered(path)
    assert store.chats() == []
    assert recovery.damaged.read_bytes() == content
    assert "none of its chats could be read" in str(recovery)
    store.save(Chat("new"))
    store.close()


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite3"
    path.mkdir()
    (path / "mine").write_text("kept")
    store, recovery = recovered(path)
    assert (recovery.damaged / "mine").read_text() == "kept"
    store.close()


def test_a_file_that_may_only_be_read_is_not_set_aside(path: Path) -> None:
    path.chmod(0o400)
    with permissions_hold(), pytest.raises(Failure, match=r"is read-only|cannot be saved") as caught:
        open_store(path)
    assert str(path) in str(caught.value)
    assert [file.name for file in path.parent.glob("*damaged*")] == []


def test_a_locked_file_is_not_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite3"
    db = sqlite3.connect(path, isolation_level=None)
    for step in MIGRATIONS[:1]:
        step(db)
    db.execute("PRAGMA user_version = 1")
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Failure, match="Another program") as caught:
        open_store(path)
    assert caught.value.code == "store_locked"
    db.close()
    open_store(path)[0].close()
    assert [file.name for file in path.parent.glob("*damaged*")] == []


def test_a_newer_file_is_not_set_aside(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 999")
    db.close()
    with pytest.raises(Failure, match="newer version of Chickadee"):
        open_store(path)
    assert {file.name for file in path.parent.iterdir()} <= {
        "library.sqlite3",
        "library.sqlite3-wal",
        "library.sqlite3-shm",
    }


@pytest.mark.parametrize("steps", [1, 3, 5, 7])
def test_rows_of_older_versions_are_understood(tmp_path: Path, steps: int) -> None:
    path = tmp_path / "library.sqlite3"
    db = sqlite3.connect(path, isolation_level=None)
    for step in MIGRATIONS[:steps]:
        step(db)
    db.execute(f"PRAGMA user_version = {steps}")
    db.execute("INSERT INTO chats (id, title, created_at, updated_at, leaf_id) VALUES ('c', 'Old chat', 1, 2, 'm')")
    db.execute("INSERT INTO messages (id, chat_id, role, content, created_at) VALUES ('m', 'c', 'user', 'hi', 1)")
    db.close()
    path.write_bytes(bytes(100) + path.read_bytes()[100:])
    store, recovery = recovered(path)
    assert (recovery.chats, recovery.messages) == (1, 1)
    assert [message.content for message in store.messages(store.chats()[0])] == ["hi"]
    store.close()


def test_being_killed_between_the_steps_loses_nothing(path: Path) -> None:
    path.rename(path.with_name(path.name + ".rebuilt"))
    path.with_name(path.name + "-wal").write_bytes(b"of the damaged one")
    store, recovery = open_store(path)
    assert recovery is None
    assert len(whole(store)) == CHATS
    store.close()


def test_a_damaged_index_of_words_is_filled_anew(path: Path) -> None:
    store, _ = open_store(path)
    store._db.execute("DELETE FROM message_index_data WHERE id > 10")
    store.close()
    search = Search(path)
    with pytest.raises(Failure):
        search.search('"7/2 答案"')
    assert damage_mark(path).exists()
    store, recovery = open_store(path)
    assert recovery is None
    assert len(search.search('"7/2 答案"')) == 1
    search.close()
    store.close()


def test_a_log_of_another_store_is_set_aside(path: Path, tmp_path: Path) -> None:
    """A backup was copied to where a program was killed: with that program's log SQLite would lose all of it."""
    other = tmp_path / "other.sqlite3"
    store = ChatStore(other)
    store.save(Chat("another", id="another"), [ChatMessage("another", None, "user", "of another", id="of-another")])
    log_file = Path(f"{other}-wal").read_bytes()
    store.close()
    Path(f"{path}-wal").write_bytes(log_file)
    store, recovery = open_store(path)
    assert recovery is not None
    assert (recovery.chats, recovery.messages) == (CHATS, CHATS * TURNS)
    assert recovery.damaged.read_bytes() == log_file
    assert len(whole(store)) == CHATS
    store.close()
    assert check(path)
    store, recovery = open_store(path)
    assert recovery is None
    store.close()


@pytest.mark.parametrize("seed", range(20))
def test_reading_pages_never_fails(path: Path, seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(200):
        data[dice.randrange(len(data))] = dice.randrange(256)
    for wal in (b"", dice.randbytes(5000)):
        assert sum(len(rows) for rows in Pages(bytes(data), wal).tables()) > 0


def test_the_user_is_told(open_window: Opener, folders: Folders) -> None:
    fill(folders.store)
    data = bytearray(folders.store.read_bytes())
    data[:16] = bytes(16)
    folders.store.write_bytes(data)
    chickadee = open_window()
    assert chickadee.window.notice.isVisible()
    assert "Recovered: 40 chats with 240 messages" in chickadee.window.notice.text.text()
    assert len(chickadee.window.sidebar.titles()) == CHATS
    (damaged,) = folders.data.glob("library-damaged-*.sqlite3")
    if os.name == "posix":
        assert stat.S_IMODE(damaged.stat().st_mode) == 0o600
        assert stat.S_IMODE(folders.store.stat().st_mode) == 0o600
