"""Draft trees on llama.cpp, with the real default model."""

from __future__ import annotations

from contextlib import closing

import pytest

from common.failures import Failure
from engine.runtime.capi.context import CContext
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import MOST_BRANCHES, Tree, prefill
from engine.runtime.llama.runtime import LlamaRuntime
from engine.stop import StopFlag
from tests.engine.asking import QUESTION
from tests.engine.runtime.trees import *  # noqa: F403  its tests, for the target below
from tests.engine.runtime.trees import assert_alike


@pytest.fixture
def target(engine):
    """Yield the default model's runtime after a short prompt."""
    chat = engine._loaded()
    list(chat.session.prefill(chat.template.tokens([QUESTION])))
    yield chat.target
    engine.forget()


def test_room_for_branches_is_made_by_the_first_tree(engine):
    """Sequences cost memory: in a model with sliding windows each takes a window of its own."""
    chat = engine._loaded()
    with closing(LlamaRuntime(chat.model, ContextOptions(512, 2), StopFlag())) as fresh:
        prompt = chat.template.tokens([QUESTION])
        *_, logits = prefill(fresh, prompt)
        fresh.truncate(len(prompt) - 1)
        expected = fresh.forward(prompt[-1:]).row().copy()
        fresh.truncate(len(prompt) - 1)
        assert fresh.context.options.sequences == 1
        logits = fresh.forward_tree(prompt[-1:], Tree.merged([[300], [301, 302]]))
        assert fresh.context.options.sequences == MOST_BRANCHES + 1
        assert_alike(logits.row(0), expected)
        fresh.keep_path(1)
        assert fresh.size == len(prompt)


def test_without_memory_for_branches_the_chat_stays_in_its_cache(engine, monkeypatch):
    chat = engine._loaded()
    with closing(LlamaRuntime(chat.model, ContextOptions(512, 2), StopFlag())) as fresh:
        prompt = chat.template.tokens([QUESTION])
        *_, logits = prefill(fresh, prompt)
        expected, open_context = logits.row().copy(), fresh.open_context

        def short(options: ContextOptions) -> CContext:
            if options.sequences > 1:
                raise Failure("out_of_memory.context", n_ctx=options.n_ctx)
            return open_context(options)

        monkeypatch.setattr(fresh, "open_context", short)
        fresh.truncate(len(prompt) - 1)
        with pytest.raises(Failure, match="not enough free memory"):
            fresh.forward_tree(prompt[-1:], Tree.merged([[300], [301, 302]]))
        assert fresh.size == len(prompt) - 1
        assert_alike(fresh.forward(prompt[-1:]).row(), expected)


def test_rows_of_a_pass_that_is_not_the_last_are_not_given(target):
    logits = target.forward([300])
    target.forward([301])
    with pytest.raises(AssertionError):
        logits.row()
