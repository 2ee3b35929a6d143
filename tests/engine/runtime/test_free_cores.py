"""The number of threads that other programs leave room for, with clocks that the tests set."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.engine import Engine
from engine.protocol.events import Finished
from engine.protocol.requests import Generate, Load, Message, Sampling
from engine.runtime.capi import context
from engine.runtime.capi.context import EVERY_SECONDS, FreeCores
from tests.engine.shallow import shallow_model


class Machine:
    """A computer with `cores` cores, whose clocks advance by what this process and the others are said to use."""

    def __init__(self, cores: float) -> None:
        self.cores, self.now, self.own, self.idle = cores, 100.0, 10.0, 1000.0
        self.others_now = 0.0
        clocks = (lambda: self.now, lambda: self.own, lambda: self.idle)
        self.free_cores = FreeCores(*clocks, self.sleep, lambda: self.others_now > 0)

    def elapse(self, own: float, others: float, seconds: float) -> None:
        """Let time pass in which this process and the others use so many cores."""
        self.now += seconds
        self.own += own * seconds
        self.idle += max(0.0, self.cores - own - others) * seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass without our own work, beside `others_now`."""
        self.elapse(0, self.others_now, seconds)

    def threads(self, most: int, own: float, others: float, seconds: float = 1.0) -> int:
        """Run a pass and return the threads of the one that follows at once."""
        self.elapse(own, others, seconds)
        self.free_cores.pass_ended()
        return self.free_cores.threads(most)


def test_all_are_used_before_anything_is_known() -> None:
    assert Machine(4).free_cores.threads(4) == 4


def test_a_quiet_machine_and_a_desktop_that_draws_leave_all() -> None:
    machine = Machine(2)
    assert machine.threads(2, own=2, others=0) == 2
    assert machine.threads(2, own=1.75, others=0.25) == 2


def test_a_busy_core_is_left_to_others_until_it_is_free() -> None:
    machine = Machine(2)
    assert machine.threads(2, own=1, others=1) == 1
    assert machine.threads(2, own=1, others=0.9) == 1
    assert machine.threads(2, own=1, others=0.2) == 2


def test_one_is_used_however_busy_it_is() -> None:
    assert Machine(2).threads(2, own=0.2, others=1.8) == 1


def test_other_cores_than_ours_do_not_count() -> None:
    machine = Machine(8)
    assert machine.threads(4, own=4, others=4) == 4
    assert machine.threads(4, own=4, others=2) == 4
    assert machine.threads(4, own=2, others=6) == 2


def test_a_load_that_has_ended_takes_no_thread() -> None:
    machine = Machine(2)
    assert machine.threads(2, own=1, others=1) == 1
    machine.elapse(own=0, others=2, seconds=30)
    before = machine.now
    assert machine.free_cores.threads(2) == 2
    assert machine.now == before, "where nobody else runs, no glance is needed"
    assert machine.threads(2, own=1, others=1) == 1


def test_a_load_that_goes_on_behind_a_pause_is_seen_before_the_first_pass() -> None:
    machine = Machine(2)
    machine.others_now = 1
    machine.elapse(own=0, others=1, seconds=30)
    assert machine.free_cores.threads(2) == 1
    assert machine.threads(2, own=1, others=1) == 1
    assert machine.threads(2, own=1, others=0) == 2


def test_it_looks_a_few_times_a_second_only() -> None:
    machine = Machine(2)
    assert machine.threads(2, own=2, others=0, seconds=EVERY_SECONDS / 4) == 2
    assert machine.threads(2, own=0.1, others=1.9, seconds=EVERY_SECONDS / 4) == 2
    assert machine.threads(2, own=0.1, others=1.9, seconds=EVERY_SECONDS) == 1


@given(st.integers(1, 64), st.floats(0, 128), st.floats(0, 128))
def test_never_none_and_never_more_than_asked_for(most: int, own: float, others: float) -> None:
    assert 1 <= Machine(16).threads(most, own, others) <= most


def test_the_answer_is_the_same_with_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real model answers once with busy cores from its first pass on, and once with free cores."""
    answers = []
    for free in (1, 64):
        machine = Machine(64)
        machine.threads(64, own=0, others=64 - free)
        monkeypatch.setattr(context, "free_cores", lambda machine=machine: machine.free_cores)
        with closing(Engine()) as engine:
            model = engine.load(Load(1, str(shallow_model()), n_ctx=512, backend="llama")).model
            request = Generate(2, (Message("user", "Count to ten."),), Sampling(temperature=0), 24, draft="off")
            *_, finished = engine.generate(request)
            assert isinstance(finished, Finished)
            logits = engine._loaded().session.logits
            assert logits
            assert logits.timing_unreliable == (free == 1 and model.threads > 1)
            answers.append(finished.tokens)
    assert answers[0] == answers[1]


def test_the_clocks_are_the_systems() -> None:
    assert context.idle_seconds() > 0
    assert context.free_cores().threads(3) in (1, 2, 3)
