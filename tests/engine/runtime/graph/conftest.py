"""Fixtures with the shallow model on our own graph and on llama.cpp, whose logits ours must equal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.protocol.requests import Message
from engine.runtime.contexts import ContextOptions
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.runtime import GraphRuntime
from engine.runtime.interface import prefill
from engine.runtime.llama.runtime import LlamaRuntime, Model
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from tests.engine.shallow import shallow_model

OPTIONS = ContextOptions(n_ctx=1024, threads=2)


@pytest.fixture(scope="session")
def model() -> Iterator[GraphModel]:
    model = GraphModel(shallow_model())
    yield model
    model.close()


@pytest.fixture(scope="session")
def prompt(model: GraphModel) -> list[int]:
    return ChatTemplate(model.template, model.vocabulary).tokens([Message("user", "Name a small bird.")])


@pytest.fixture(scope="session")
def opened(model: GraphModel) -> Iterator[GraphRuntime]:
    target = GraphRuntime(model, OPTIONS, StopFlag())
    yield target
    target.close()


@pytest.fixture(scope="session")
def oracle_opened() -> Iterator[LlamaRuntime]:
    model = Model(shallow_model())
    target = LlamaRuntime(model, OPTIONS, StopFlag())
    yield target
    target.close()
    model.close()


@pytest.fixture
def target(opened: GraphRuntime, prompt: list[int]) -> GraphRuntime:
    """Return our runtime after it has read a short prompt."""
    opened.truncate(0)
    list(prefill(opened, prompt))
    return opened


@pytest.fixture
def oracle(oracle_opened: LlamaRuntime, prompt: list[int]) -> LlamaRuntime:
    """Return llama.cpp's runtime after it has read the same prompt."""
    oracle_opened.truncate(0)
    list(prefill(oracle_opened, prompt))
    return oracle_opened
