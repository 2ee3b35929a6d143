"""Speed of the store with many chats: search, listing, filling the index of an older file, deleting permanently.

    python -m benchmarks.store [--chats N] [--messages N] [--files N] [--json]

The store is a new one in a temporary folder: chats of random words, a tenth of the messages in Chinese, and files of
10,000 words beside some of the questions. Every query is timed from the text to the marked snippets; the slowest of its
kind counts.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.attachments.attachment import Attachment
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.message_search import Search
from app.store.migrations import index_messages
from app.store.upkeep import run_upkeep
from benchmarks.command import benchmark_parser, print_json

WORDS = 20_000
TARGET_MS = 100
QUERIES = {
    "a common word": "the",
    "a rare word": "w19999",
    "its first letter": "w",
    "two letters": "th",
    "two words": "the w1",
    "a phrase": '"the the"',
    "two Chinese characters": "电脑",
    "one Chinese character": "电",
    "nothing": "qqqqqq",
}


def main() -> None:
    parser = benchmark_parser("store", __doc__, models="none")
    parser.add_argument("--chats", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--files", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder) / "library.sqlite3", options.chats, options.messages, options.files)
    if options.json:
        print_json(rows)
        return
    print(f"{options.chats:,} chats, {options.messages:,} messages, {options.files:,} files; milliseconds\n")
    for name, milliseconds in rows.items():
        print(f"{name:36}{milliseconds:9.1f}")


def measure(path: Path, chats: int, messages: int, files: int) -> dict[str, float]:
    store = ChatStore(path)
    rows = {"store (per message)": timed(lambda: fill(store, chats, messages)) / messages}
    before = size_of(store)
    rows["store (per file)"] = timed(lambda: attach(store, files)) / max(files, 1)
    stored = size_of(store)
    rows["index (per file, in idle time)"] = timed(lambda: run_upkeep(path)) / max(files, 1)
    rows["list all chats"] = timed(store.chats)
    search = Search(path)
    search.search("warm")
    for name, query in QUERIES.items():
        rows[f"search: {name}"] = max(timed(lambda query=query: search.search(query)) for _ in range(5))  # type: ignore[misc]
    rows["index all messages anew"] = timed(lambda: store.with_connection(index_messages))
    rows |= {"MB of messages": before, "MB of files": stored - before, "MB of their index": size_of(store) - stored}
    gone = store.chats()[: chats // 10]
    store.delete(*(chat.id for chat in gone))
    rows[f"delete {len(gone)} chats for good"] = timed(lambda: store.delete_for_good(*(chat.id for chat in gone)))
    rows["take them out of the file (in idle time)"] = timed(lambda: run_upkeep(path))
    search.close()
    store.close()
    return rows


def fill(store: ChatStore, chats: int, messages: int) -> None:
    dice = random.Random(6)
    for number in range(chats):
        chat = Chat(f"chat {number} {word(dice)}", created_at=number, updated_at=number)
        parent: str | None = None
        branch: list[ChatMessage] = []
        for turn in range(messages // chats):
            message = ChatMessage(chat.id, parent, "assistant" if turn % 2 else "user", text(dice), stop_reason="end")
            parent = message.id
            branch.append(message)
        store.save(replace(chat, leaf_id=parent), branch)


def attach(store: ChatStore, files: int) -> None:
    """Attach a file to the first question of each of the latest chats."""
    dice = random.Random(7)
    for chat in store.chats()[:files]:
        text = " ".join(word(dice) for _ in range(10_000))
        question = store.messages(chat)[0]
        store.save(chat, [replace(question, attachments=(Attachment("notes.txt", "text", len(text), text),))])


def size_of(store: ChatStore) -> float:
    """Return the size of the store in MB, after writing the write-ahead log into its file."""
    store.with_connection(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
    return store.path.stat().st_size / 1e6


def word(dice: random.Random) -> str:
    """Draw a word with the frequencies of a language: the n-th most frequent word occurs 1/n as often as the first."""
    rank = int(WORDS ** dice.random())
    return "the" if rank == 1 else f"w{rank}"


def text(dice: random.Random) -> str:
    if dice.random() < 0.1:
        return "".join(chr(0x4E00 + int(3000 ** dice.random())) for _ in range(200)) + dice.choice(("电脑", ""))
    return " ".join(word(dice) for _ in range(100))


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds that `work` takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
