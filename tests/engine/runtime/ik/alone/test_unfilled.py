"""The library's buffer of logits is not filled with zeros before each pass."""

from __future__ import annotations

import numpy as np
import pytest

from engine.runtime.ik.runtime import IkRuntime
from engine.runtime.ik.unfilled import Unfilled
from engine.runtime.interface import prefill
from engine.runtime.options import ContextOptions
from engine.stop import StopFlag

MARK = 12345.0


@pytest.fixture
def fresh(model):
    target = IkRuntime(model, ContextOptions(n_ctx=256, threads=2), StopFlag())
    yield target
    target.close()


def marked(target):
    """The last row of a pass of eight, written over."""
    row = target.forward(range(300, 308), 8).row(7)
    row[:] = MARK
    return row


def test_a_pass_leaves_rows_alone_that_it_does_not_compute(fresh):
    row = marked(fresh)
    fresh.forward([310])
    assert (row == MARK).all()


def test_the_library_alone_would_fill_them(fresh, monkeypatch):
    monkeypatch.setattr("engine.runtime.ik.unfilled.KNOWN", ())
    monkeypatch.setattr("engine.runtime.ik.context.UNFILLED", Unfilled())
    row = marked(fresh)
    fresh.forward([310])
    assert (row == 0).all()


def test_what_is_computed_is_the_same(fresh, target, prompt):
    list(prefill(fresh, prompt))
    marked(fresh)
    fresh.truncate(len(prompt))
    found, expected = (one.forward([300, 310], 2) for one in (fresh, target))
    assert all(np.array_equal(found.row(i), expected.row(i)) for i in (0, 1))
