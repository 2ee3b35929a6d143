"""Two libraries, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.chat_store import Library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path / "library.sqlite3")
    yield library
    library.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Library]:
    (tmp_path / "other").mkdir()
    library = Library(tmp_path / "other" / "library.sqlite3")
    yield library
    library.close()
