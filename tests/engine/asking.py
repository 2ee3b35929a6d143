"""Functions that ask the real engine, and compare greedy answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.loading.libraries import imported_library
from engine.protocol.events import WRITTEN, Finished
from engine.protocol.requests import BackendName, Generate, Load, Message, Sampling
from engine.runtime.ik import needs
from engine.stop import Stopped
from engine.tokenization.tokens import common_prefix

needs_ik = pytest.mark.skipif(
    needs.library_file() is None or bool(needs.missing_features()), reason="ik_llama.cpp cannot run on this computer"
)
GREEDY = Sampling(temperature=0, repeat_penalty=1)
QUESTION = Message("user", "Write one sentence about a small bird.")


def some_and_all(cases: Sequence[object], some: int) -> list[Any]:
    """Return parameters: the first `some` cases for every run of the tests, and all of them for `make test-slow`."""
    return [pytest.param(cases[:some], id="some"), pytest.param(cases, id="all", marks=pytest.mark.slow)]


def library() -> BackendName:
    """Return the library that this test process holds; llama.cpp if it holds none yet.

    Tests use another library only in subprocesses.
    """
    return imported_library() or "llama"


@contextmanager
def loaded_from(model: Path, backend: BackendName) -> Iterator[Engine]:
    """Yield an engine with the model loaded, computing in one thread, because as many test processes run as cores."""
    with closing(Engine()) as engine:
        engine.load(Load(0, str(model), n_ctx=1024, threads=1, backend=backend))
        yield engine


def emptied(engine: Engine) -> Engine:
    """Clear the engine's stop flag and empty its session; return the engine."""
    engine.stop.clear()
    engine.forget()
    return engine


def ask(engine: Engine, *messages: Message, sampling: Sampling = GREEDY, max_tokens: int | None = 24, **more):
    events = list(engine.generate(Generate(1, messages, sampling, max_tokens, **more)))
    finished = events[-1]
    assert isinstance(finished, Finished)
    return "".join(event.text for event in events if isinstance(event, WRITTEN)), finished


def save_in_idle_time(engine: Engine) -> None:
    """Let the engine save its chat in idle time, and stop it before it begins half a minute of measurements."""
    engine.stop.set()
    with pytest.raises(Stopped):
        engine.idle()
    engine.stop.clear()


def assert_same_but_for_near_ties(engine: Engine, messages, a, b) -> None:
    """Assert that two greedy answers are equal up to a near-tie.

    Large and small passes run different kernels, whose last bits differ, so that answers may part at a near-tie.
    """
    i = common_prefix(a, b)
    if i == min(len(a), len(b)):
        assert len(a) == len(b)
        return
    chat = engine._loaded()
    list(chat.session.prefill([*chat.template.tokens(messages), *a[:i]]))
    assert chat.session.logits
    row = chat.session.logits.row()
    assert abs(row[a[i]] - row[b[i]]) < 1e-2 * (row.max() - row.min()), (i, a[i], b[i])
