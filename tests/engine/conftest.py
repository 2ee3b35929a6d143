"""Models that are loaded once for all tests of a process, and GGUF files that are no chat models.

They compute in one thread: as many processes test at once as there are cores. In several threads they compute for the
tests of the runtimes, and in the processes that tests start.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest

from engine.engine import Engine
from engine.loading import library_choice
from engine.protocol import Load
from models.default import default_model
from tests.engine.shallow import shallow_model


@pytest.fixture(autouse=True)
def llama_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `auto` too, on any processor: a process holds one library, and the one that tests holds llama.cpp."""
    monkeypatch.setattr(library_choice, "prior", lambda *_: None)


@pytest.fixture(scope="session")
def loaded() -> Iterator[Engine]:
    engine = Engine()
    engine.load(Load(0, str(shallow_model()), n_ctx=1024, threads=1, backend="llama"))
    yield engine
    engine.close()


@pytest.fixture
def engine(loaded: Engine) -> Engine:
    """The loaded shallow model with an empty session."""
    loaded.stop.clear()
    loaded.forget()
    return loaded


@pytest.fixture(scope="session")
def loaded_whole() -> Iterator[Engine]:
    engine = Engine()
    engine.load(Load(0, str(default_model()), n_ctx=1024, threads=1, backend="llama"))
    yield engine
    engine.close()


@pytest.fixture
def whole(loaded_whole: Engine) -> Engine:
    """The default model with an empty session: for tests that need text with some sense in it."""
    loaded_whole.stop.clear()
    loaded_whole.forget()
    return loaded_whole


def write_gguf(path: Path, architecture: str, **metadata: object) -> Path:
    """A small well-formed GGUF file of some architecture, with one tensor."""
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in metadata.items():
        name = key.replace("__", ".")
        if isinstance(value, bool):
            writer.add_bool(name, value)
        elif isinstance(value, int):
            writer.add_uint32(name, value)
        else:
            writer.add_string(name, str(value))
    writer.add_tensor("token_embd.weight", np.zeros((8, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
