"""Two stores, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.chat_store import ChatStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = ChatStore(tmp_path / "library.sqlite3")
    yield store
    store.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[ChatStore]:
    (tmp_path / "other").mkdir()
    store = ChatStore(tmp_path / "other" / "library.sqlite3")
    yield store
    store.close()
