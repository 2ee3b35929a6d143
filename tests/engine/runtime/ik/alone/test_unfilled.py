"""The library's buffer of logits is not filled with zeros before each pass."""

from __future__ import annotations

import numpy as np
import pytest

from engine.runtime.capi.context import ContextOptions
from engine.runtime.ik.target import IkTarget
from engine.runtime.ik.unfilled import Unfilled
from engine.stop import StopFlag

MARK = 12345.0


@pytest.fixture
def fresh(model):
    target = IkTarget(model, ContextOptions(n_ctx=256, threads=2), StopFlag())
    yield target
    target.close()


def marked(target):
    """The last row of a pass of eight, written over."""
    target.run(range(300, 308), rows=8)
    row = target.logits(7)
    row[:] = MARK
    return row


def test_a_pass_leaves_rows_alone_that_it_does_not_compute(fresh):
    row = marked(fresh)
    fresh.run([310])
    assert (row == MARK).all()


def test_the_library_alone_would_fill_them(fresh, monkeypatch):
    monkeypatch.setattr("engine.runtime.ik.unfilled.KNOWN", ())
    monkeypatch.setattr("engine.runtime.ik.context.UNFILLED", Unfilled())
    row = marked(fresh)
    fresh.run([310])
    assert (row == 0).all()


def test_what_is_computed_is_the_same(fresh, target, prompt):
    list(fresh.prefill(prompt))
    marked(fresh)
    fresh.drop_after(len(prompt))
    fresh.run([300, 310], rows=2)
    rows = [fresh.logits(i).copy() for i in (0, 1)]
    target.run([300, 310], rows=2)
    assert all(np.array_equal(row, target.logits(i)) for i, row in enumerate(rows))
