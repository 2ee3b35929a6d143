"""Search: what is found, what is marked, and that no text of a user or a model can break it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.message_search import Hit, Search, folded, marks_in, snippet_of, terms_of
from app.store.migrations import MIGRATIONS
from app.store.upkeep import run_upkeep


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = ChatStore(tmp_path / "library.sqlite3")
    yield store
    store.close()


@pytest.fixture
def search(store: ChatStore) -> Iterator[Search]:
    search = Search(store.path)
    yield search
    search.close()


def put(store: ChatStore, *contents: str, title: str = "a chat") -> Chat:
    chat = Chat(title)
    messages: list[ChatMessage] = []
    for content in contents:
        parent = messages[-1].id if messages else None
        messages.append(ChatMessage(chat.id, parent, "user", content, created_at=float(len(messages))))
    chat = replace(chat, leaf_id=messages[-1].id if messages else None)
    store.save(chat, messages)
    return chat


def found(search: Search, text: str) -> list[str]:
    return [hit.snippet for hit in search.search(text) if hit.message_id]


def marked(hit: Hit) -> list[str]:
    return [hit.snippet[start:end] for start, end in hit.marks]


@pytest.mark.parametrize(
    ("content", "query", "marks"),
    [
        ("Where do chickadees nest?", "chick", ["chick"]),
        ("Where do chickadees nest?", "NEST where", ["Where", "nest"]),
        ("Ein schöner Weg über Zürich", "uber zurich", ["über", "Zürich"]),
        ("cafe\u0301 au lait", "café", ["cafe\u0301"]),
        ("如何修理我的电脑屏幕", "电脑", ["电脑"]),
        ("如何修理我的电脑屏幕", "屏 修理", ["修理", "屏"]),
        ("東京タワーはどこですか", "タワー", ["タワー"]),
        ("학교에서 공부한다", "학교", ["학교"]),
        ("がんばって", "がん", ["がん"]),
        ("안녕하세요", "하세", ["하세"]),
        ("Qt窗口的大小", "qt窗口", ["Qt窗口"]),
        ("state-of-the-art", "of-the", ["of-the"]),
        ("snake_case_name", "case", ["case"]),
        ("exactly these words", '"these words"', ["these words"]),
        ("Привет, мир", "привет", ["Привет"]),
        ("50% & more: C++", "50%", ["50"]),
    ],
)
def test_what_is_typed_is_found_and_marked(
    store: ChatStore, search: Search, content: str, query: str, marks: list[str]
) -> None:
    put(store, content, "something else")
    (hit,) = search.search(query)
    assert hit.snippet == content
    assert marked(hit) == marks


@pytest.mark.parametrize("query", ["", "   ", '"', "***", "()", "hello world", '"hel lo"', '"hell"', "ello"])
def test_what_is_not_there_is_not_found(store: ChatStore, search: Search, query: str) -> None:
    put(store, "hello there")
    assert search.search(query) == []


@pytest.mark.parametrize(
    ("query", "marks"),
    [
        ('"', None), ('""', None), ("'; --", None), ("a AND", ["and", "a"]), ("NOT", ["not"]), ("NEAR(", ["near"]),
        ("words:", ["words"]), ("a OR b", ["or", "a", "a", "b"]), ("-x", ["x"]), ("^a", ["a", "a"]), ("a*b", ["a b"]),
        ("{a b}: c", ["a", "a", "b", "c"]), ("a\0b", ["a b"]),
    ],
)  # fmt: skip
def test_a_query_s_signs_are_no_operators(
    store: ChatStore, search: Search, query: str, marks: list[str] | None
) -> None:
    put(store, "not or and near words a b c x", title="t")
    assert [marked(hit) for hit in search.search(query)] == ([] if marks is None else [marks])


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_text_is_a_query(content: str, query: str) -> None:
    terms = terms_of(query)
    line, marks = snippet_of(content, terms)
    assert all(0 <= start < end <= len(line) for start, end in marks)
    assert len(folded(content)) == len(content)
    ends = [place for mark in marks_in(content, terms) for place in mark]
    assert ends == sorted(ends)
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(words)")
    for term in terms:
        db.execute("SELECT * FROM t WHERE t MATCH ?", (term.match,)).fetchall()
    db.close()


def test_the_index_follows_every_change(store: ChatStore, search: Search) -> None:
    chat = put(store, "alpha", "beta")
    message = store.messages(chat)[-1]
    store.save(chat, [replace(message, content="gamma")])
    assert found(search, "beta") == []
    assert found(search, "gamma") == ["gamma"]
    store.save(chat, [replace(message, content="gamma", deleted_at=2e9)])
    assert search.search("gamma") == []
    store.save(chat, [replace(message, content="gamma")])
    store.delete(chat.id)
    assert search.search("gamma") == []
    store.restore(chat.id)
    assert found(search, "gamma") == ["gamma"]
    store.delete(chat.id)
    store.delete_for_good(chat.id)
    store.restore(chat.id)
    assert search.search("alpha") == []
    run_upkeep(store.path)
    assert search.search("alpha") == []
    store._db.execute("INSERT INTO message_index (message_index) VALUES ('integrity-check')")


def test_titles_come_first_then_messages_the_latest_first(store: ChatStore, search: Search) -> None:
    put(store, "old words", "new words", title="talk")
    put(store, "nothing", title="Words of a title")
    hits = search.search("words")
    assert [hit.snippet for hit in hits] == ["Words of a title", "new words", "old words"]
    assert hits[0].message_id is None
    assert len(search.search("words", limit=2)) == 2
    assert search.search("words", limit=0) == []


def test_a_snippet_is_one_line_around_the_match() -> None:
    text = "start " * 50 + "\n\n<b>needle</b>\n" + "end " * 100
    line, marks = snippet_of(text, terms_of("needle"))
    assert line.startswith("…start")
    assert "<b>needle</b> end" in line
    assert line.endswith("…")
    assert len(line) < 170
    assert [line[start:end] for start, end in marks] == ["needle"]


def test_an_older_store_is_searched_at_once(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite3"
    db = sqlite3.connect(path, isolation_level=None)
    for step in MIGRATIONS[:3]:
        step(db)
    db.execute("PRAGMA user_version = 3")
    db.execute("INSERT INTO chats (id, title, created_at, updated_at) VALUES ('c', 'Old chat', 1, 2)")
    db.execute(
        "INSERT INTO messages (id, chat_id, role, content, created_at) VALUES ('m', 'c', 'user', 'this 旧版本', 1)"
    )
    db.close()
    ChatStore(path).close()
    search = Search(path)
    assert [(hit.chat_id, hit.message_id) for hit in search.search("版本 this")] == [("c", "m")]
    search.close()
