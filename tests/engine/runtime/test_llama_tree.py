"""Draft trees on llama.cpp, with the real default model."""

from __future__ import annotations

import pytest

from tests.engine.asking import QUESTION
from tests.engine.runtime.trees import *  # noqa: F403  its tests, for the target below


@pytest.fixture
def target(engine):
    """The default model after a short prompt."""
    chat = engine._loaded()
    list(chat.session.read(chat.template.tokens([QUESTION])))
    yield chat.target
    engine.forget()
