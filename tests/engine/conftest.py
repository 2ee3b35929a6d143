"""Models that are loaded once for all tests of a process, and GGUF files that are no chat models.

The models compute in one thread; tests of the runtimes, and processes that tests start, use several.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest

from engine.engine import Engine
from engine.loading import first_look, library_choice
from models.default import default_model
from tests.engine.asking import emptied, loaded_from
from tests.engine.shallow import shallow_model
from tests.windows_exceptions import is_wine


@pytest.fixture(scope="session", autouse=True)
def looks_have_time() -> Iterator[None]:
    """Count no processor time of first looks under Wine, which gives that of the asking process instead."""
    usage = first_look._usage
    with pytest.MonkeyPatch.context() as patch:
        if is_wine():
            patch.setattr(first_look, "_usage", lambda pid: (0.0, usage(pid)[1]))
        yield


@pytest.fixture(autouse=True)
def llama_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make llama.cpp compute with `auto` on any processor, because the test process holds llama.cpp."""
    monkeypatch.setattr(library_choice, "prior_timings", lambda *_: None)


@pytest.fixture(scope="session")
def loaded() -> Iterator[Engine]:
    with loaded_from(shallow_model(), "llama") as engine:
        yield engine


@pytest.fixture
def engine(loaded: Engine) -> Engine:
    """Return the loaded shallow model with an empty session."""
    return emptied(loaded)


@pytest.fixture(scope="session")
def loaded_whole() -> Iterator[Engine]:
    with loaded_from(default_model(), "llama") as engine:
        yield engine


@pytest.fixture
def whole(loaded_whole: Engine) -> Engine:
    """Return the default model with an empty session, for tests that need text with some sense in it."""
    return emptied(loaded_whole)


def write_gguf(path: Path, architecture: str, **metadata: object) -> Path:
    """Write a small well-formed GGUF file of some architecture, with one tensor."""
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
