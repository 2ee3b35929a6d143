"""An index in a folder of the test's own, with the word vectors of the default model."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.collections.embedding import WordVectors, make_vectors
from app.collections.index import open_index
from app.collections.indexing import Indexer
from app.collections.messages import Begin, FolderProgress
from models.default import default_model


@pytest.fixture(scope="session")
def vectors() -> WordVectors:
    """Return the table of word vectors, made once."""
    return make_vectors(default_model())


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Return a folder for the user's texts."""
    folder = tmp_path / "texts"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the index."""
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


@pytest.fixture
def db(folder: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(open_index(folder, writes=True)) as db:
        yield db


def index(db: sqlite3.Connection, *folders: Path, vectors: WordVectors | None = None) -> list[FolderProgress]:
    """Bring the index up to date with the folders; return what was reported."""
    told: list[FolderProgress] = []
    Indexer(db, vectors, told.append).run(Begin(tuple(map(str, folders))))
    return told
