"""The shallow model on ik_llama.cpp, loaded once for all tests of a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.protocol.requests import Message
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik import native
from engine.runtime.ik.runtime import IkModel, IkRuntime
from engine.runtime.interface import prefill
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from models.default import default_model
from tests.engine.asking import emptied, loaded_from
from tests.engine.shallow import shallow_model

if "CHICKADEE_CHECKED" in os.environ:  # our native code with the compiler's checks: see packaging/check_native.py
    native.FILE = Path(os.environ["CHICKADEE_CHECKED"])


@pytest.fixture(scope="session")
def model() -> Iterator[IkModel]:
    model = IkModel(shallow_model())
    yield model
    model.close()


@pytest.fixture(scope="session")
def prompt(model: IkModel) -> list[int]:
    return ChatTemplate(model.template, model.vocabulary).tokens([Message("user", "Name a small bird.")])


@pytest.fixture(scope="session")
def runtime(model: IkModel) -> Iterator[IkRuntime]:
    target = IkRuntime(model, ContextOptions(n_ctx=1024, threads=1), StopFlag())
    yield target
    target.close()


@pytest.fixture
def target(runtime: IkRuntime, prompt: list[int]) -> IkRuntime:
    """Return the runtime after a short prompt."""
    runtime.truncate(0)
    list(prefill(runtime, prompt))
    return runtime


@pytest.fixture(scope="session")
def loaded() -> Iterator[Engine]:
    with loaded_from(shallow_model(), "ik") as engine:
        yield engine


@pytest.fixture
def engine(loaded: Engine) -> Engine:
    """Return the loaded shallow model with an empty session."""
    return emptied(loaded)


@pytest.fixture(scope="session")
def loaded_whole() -> Iterator[Engine]:
    with loaded_from(default_model(), "ik") as engine:
        yield engine


@pytest.fixture
def whole(loaded_whole: Engine) -> Engine:
    """Return the whole default model with an empty session, for tests that need a text that makes sense."""
    return emptied(loaded_whole)
