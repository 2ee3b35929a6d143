"""Calibration: times the right passes on any target, and timings are stored only for what they are valid for."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence

import msgspec
import pytest

from common.failures import Failure
from common.store import Store
from engine.__main__ import main
from engine.costs.calibration import DEPTHS, FEW_KS, LOW_DEPTH, Calibration, fit_depth_cost
from engine.costs.cost_model import KS, CostModel, Timings
from engine.costs.measurements import (
    CALIBRATIONS,
    CalibrationKey,
    StoredCalibration,
    store_calibration,
    stored_calibration,
)
from engine.costs.threads import power_saving_counts
from engine.machine import fingerprint
from engine.runtime.contexts import PROMPT_PASS, ThreadCounts
from engine.runtime.interface import RowLogits
from engine.stop import Stopped
from tests.engine.fake_runtime import FakeRuntime
from tests.engine.shallow import shallow_model


class ClockedTarget(FakeRuntime):
    """A fake runtime whose passes advance its own clock by a formula."""

    def __init__(self, seconds: Callable[[int, int, int], float], n_ctx: int = 2112) -> None:
        super().__init__(choose=lambda tokens: 97, n_ctx=n_ctx, max_batch=512)
        self.seconds = seconds
        self.now = 0.0
        self.worked = 0.0

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> RowLogits:
        before = self.size
        logits = super().forward(tokens, n_logits)
        seconds = self.seconds(len(tokens), before, n_logits)
        self.now += seconds
        self.worked += 2 * min(seconds, self.seconds(len(tokens), before, n_logits))
        return logits


def usual(k: int, depth: int, rows: int) -> float:
    return 0.02 + 0.010 * k + 0.001 * rows + 1e-5 * k * depth


def calibrate(target: ClockedTarget, budget: float = 6.5) -> Timings:
    *progress, last = calibration(target, budget).run()
    assert set(progress) == {None}
    assert isinstance(last, Timings)
    return last


def calibration(target: ClockedTarget, budget: float = 6.5) -> Calibration:
    return Calibration(target, 2, budget, clocks=(lambda: target.now, lambda: target.worked))


def test_it_finds_what_the_passes_take():
    target = ClockedTarget(usual)
    timings = calibrate(target)
    assert list(timings.pass_seconds) == [LOW_DEPTH, 256]
    for depth, times in timings.pass_seconds.items():
        assert times == pytest.approx({k: usual(k, depth, k) for k in KS})
    assert timings.row_seconds == pytest.approx(0.001)
    assert timings.large_tokens == 240
    assert timings.large_seconds == pytest.approx(usual(240, 16, 1))
    assert not timings.disturbed
    assert target.size == 0
    assert target.now <= 8
    assert CostModel(timings).pass_seconds(20, 1000, rows=1) == pytest.approx(usual(20, 1000, 1), rel=0.02)


def test_a_fast_target_is_timed_deeper_and_a_slow_one_once():
    assert max(calibrate(ClockedTarget(lambda *a: usual(*a) / 20)).pass_seconds) == DEPTHS[0]
    slow = ClockedTarget(lambda *a: usual(*a) * 10)
    assert max(calibrate(slow).pass_seconds) == DEPTHS[-1]
    assert slow.passes.count(48) == 0
    assert slow.passes.count(32) == 1


def test_two_disturbed_passes_in_seven_do_no_harm():
    count = 0

    def disturbed(k: int, depth: int, rows: int) -> float:
        nonlocal count
        count += 1
        return usual(k, depth, rows) / 20 * (30 if count % 7 in (0, 3) else 1)

    target = ClockedTarget(disturbed)
    timings = calibrate(target, budget=12)
    assert timings.pass_seconds[LOW_DEPTH] == pytest.approx({k: usual(k, LOW_DEPTH, k) / 20 for k in KS})


def test_a_machine_that_is_busy_all_the_while_is_noted_and_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("engine.costs.calibration.usable_cores", lambda: 2)
    target = ClockedTarget(usual)
    target_calibration = Calibration(target, 2, 6.5, clocks=(lambda: target.now, lambda: target.now))
    *_, timings = target_calibration.run()
    assert isinstance(timings, Timings)
    assert timings.disturbed
    assert target.now < 6.5 * 2.5 + 5


def test_a_target_that_cannot_be_cut_and_one_with_a_small_context():
    target = ClockedTarget(usual, n_ctx=320)
    target.can_truncate = False
    assert set(calibrate(target).pass_seconds[LOW_DEPTH]) == set(KS)
    small = ClockedTarget(usual, n_ctx=112)
    assert set(calibrate(small).pass_seconds[LOW_DEPTH]) == set(KS)
    with pytest.raises(Failure, match="too small"):
        calibrate(ClockedTarget(usual, n_ctx=111))


def test_the_rise_with_depth_survives_a_disturbed_time():
    differences = {k: 0.001 + 0.002 * k for k in (1, 2, 4, 8, 16)}
    assert fit_depth_cost(differences)(48) == pytest.approx(0.097)
    rise = fit_depth_cost(differences | {4: 0.5})
    assert rise(48) == pytest.approx(0.097, rel=0.25)
    assert fit_depth_cost({1: -0.1, 2: -0.2, 4: -0.1})(8) == 0


@pytest.mark.parametrize("after", [0, 3, 20])
def test_it_can_be_stopped_between_passes(after):
    target = ClockedTarget(usual)
    events: Iterator[Timings | None] = calibration(target).run()
    for _ in range(after):
        next(events)
    target.stop.set()
    with pytest.raises(Stopped):
        list(events)
    assert target.size == 0


@pytest.fixture
def key(monkeypatch, tmp_path) -> CalibrationKey:
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    return CalibrationKey("123-456-abc", 2, "f16", "build 1", fingerprint())


@pytest.fixture(scope="module")
def timings() -> Timings:
    return calibrate(ClockedTarget(usual))


def test_kept_and_found_again(key, timings, caplog):
    assert stored_calibration(key) is None
    store_calibration(key, timings)
    stored = stored_calibration(key)
    assert stored
    assert stored.timings == timings
    assert stored_calibration(dataclasses.replace(key, threads=4)) is None
    assert stored_calibration(dataclasses.replace(key, model="other")) is None
    assert not caplog.records


def test_a_disturbed_one_is_not_kept(key, timings):
    store_calibration(key, timings)
    store_calibration(key, dataclasses.replace(timings, disturbed=True, row_seconds=1.0))
    stored = stored_calibration(key)
    assert stored
    assert stored.timings == timings


def test_of_another_library_or_machine(key, timings, caplog):
    store_calibration(key, timings)
    assert stored_calibration(dataclasses.replace(key, build="build 2")) is None
    assert stored_calibration(dataclasses.replace(key, machine=dataclasses.replace(key.machine, cpu="Sparrow"))) is None
    assert caplog.text.count("another machine or library") == 2


def test_a_damaged_file(key, timings, caplog):
    store_calibration(key, timings)
    CALIBRATIONS.path(*key.address).write_bytes(b"{}")
    assert stored_calibration(key) is None
    assert "cannot be used" in caplog.text


def test_a_time_that_cannot_be_is_damage(key, timings, caplog):
    stored = msgspec.to_builtins(StoredCalibration(key, timings, ""))
    stored["timings"]["pass_seconds"][16][1] = -1
    Store(CALIBRATIONS.name, CALIBRATIONS.version, dict[str, object]).put(stored, *key.address)
    assert stored_calibration(key) is None
    assert "cannot be used" in caplog.text


def test_a_folder_that_cannot_be_written(key, timings, caplog, tmp_path):
    (tmp_path / "calibration").write_text("a file where the folder should be")
    store_calibration(key, timings)
    assert "cannot be kept" in caplog.text


def test_the_command_on_the_real_model(key, monkeypatch, capsys):
    monkeypatch.setattr("engine.costs.calibration.BUDGET", 0.5)
    monkeypatch.setattr("engine.costs.calibration.PATIENCE", 1)
    monkeypatch.setattr("engine.costs.calibration.DEPTHS", (128,))
    monkeypatch.setattr("engine.costs.profile.RAM_SECONDS", 0.01)
    assert main(["calibrate", "--json", "--threads", "1", "--model", str(shallow_model())]) == 0
    printed = json.loads(capsys.readouterr().out)
    fields = {"pass_seconds", "c", "nt_published", "nt_measured", "weight_bytes", "roofline_seconds"}
    assert set(printed) == fields
    assert len(printed["pass_seconds"]) == 2
    sizes = [set(map(int, times)) for times in printed["pass_seconds"].values()]
    assert sizes[0] == sizes[1]
    assert sizes[0] in (set(KS), set(FEW_KS))  # half a second is too little for all of them on a busy machine
    assert printed["c"]["1"] == 1


def test_bad_options(key, capsys, tmp_path):
    assert main(["calibrate", "--threads", "0"]) == 2
    assert main(["calibrate", "--model", str(tmp_path / "none.gguf")]) == 2
    assert capsys.readouterr().err.count("chickadee: ") == 2


class ThreadedTarget(ClockedTarget):
    """A target with 2 fast cores and 2 slow ones: more threads help prompts, and harm short passes."""

    def __init__(self) -> None:
        super().__init__(lambda *a: usual(*a) / 20)
        self.threads = ThreadCounts(2, 2)

    @property
    def thread_counts(self) -> ThreadCounts:
        return self.threads

    def use_threads(self, threads: ThreadCounts) -> None:
        self.threads = threads

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> RowLogits:
        threads = self.threads.of(len(tokens))
        before, worked = self.now, self.worked
        logits = super().forward(tokens, n_logits)
        slower = {1: 1.05, 2: 1.0}.get(threads, 1.4)
        if len(tokens) >= PROMPT_PASS:
            slower = {1: 2.0, 2: 1.0}.get(threads, 0.6)
        self.now = before + slower * (self.now - before)
        self.worked = worked + threads * (self.now - before)
        return logits


def test_short_passes_and_prompts_get_the_threads_that_are_fastest_for_each(monkeypatch):
    monkeypatch.setattr("engine.costs.calibration.usable_cores", lambda: 4)
    target = ThreadedTarget()
    run = Calibration(target, 2, 6.5, others=(1, 4), clocks=(lambda: target.now, lambda: target.worked)).run()
    *_, timings = run
    assert isinstance(timings, Timings)
    assert (timings.decode_threads, timings.prompt_threads) == (2, 4)
    assert target.threads == ThreadCounts(2, 4)
    assert timings.pass_seconds[LOW_DEPTH][1] == pytest.approx(usual(1, LOW_DEPTH, 1) / 20)
    assert timings.pass_seconds[LOW_DEPTH][48] == pytest.approx(usual(48, LOW_DEPTH, 48) / 20 * 0.6)
    assert {(each.tokens, each.threads) for each in timings.thread_costs} == {
        (tokens, threads) for tokens in (1, PROMPT_PASS) for threads in (1, 2, 4)
    }
    assert power_saving_counts(timings.thread_costs, target.threads) == ThreadCounts(1, 4)
