"""The trial of the library that does not compute: it runs in a process of its own and gives up after some attempts."""

from __future__ import annotations

import dataclasses

import psutil

from engine.commands import calibrate
from engine.commands.calibrate import time_passes
from engine.costs.cost_model import Timings
from engine.costs.measurements import CalibrationKey, store_calibration, stored_calibration, timings_of_package
from engine.loading.libraries import PACKAGES
from engine.loading.library_choice import MOST_ATTEMPTS, BackendTrial, identity_of
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.machine import fingerprint
from engine.run_subprocess import run_engine_command
from models.default import default_model


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]


def test_a_command_runs_to_its_end():
    *waiting, code = run_engine_command("cache", "list")
    assert set(waiting) == {None}
    assert code == 0
    assert [*run_engine_command("plan", "no such file.gguf")][-1] == 2


def test_it_ends_with_its_iterator():
    before = len(children())
    running = run_engine_command("calibrate", "--spare", "--model", str(default_model()))
    assert next(running) is None
    assert len(children()) == before + 1
    running.close()
    assert len(children()) == before


def test_without_memory_for_all_layers_some_are_timed(tmp_path, monkeypatch):
    """This uses the real default model, of which a part fits."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("engine.costs.calibration.BUDGET", 0.2)
    monkeypatch.setattr("engine.costs.calibration.PATIENCE", 1)
    monkeypatch.setattr("engine.costs.calibration.DEPTHS", (128,))
    options = LoadOptions(
        default_model(), backend="llama", no_other=True, n_ctx=512, kv_type="f16", threads=1, memory_bytes=200 << 20
    )
    plan = resolve(options)
    assert plan.memory.verdict == "no"
    timed: list[LoadPlan] = []

    def noted(part: LoadPlan) -> Timings:
        timed.append(part)
        return time_passes(part)

    monkeypatch.setattr(calibrate, "time_passes", noted)
    timings = dataclasses.replace(calibrate.measure(plan, spare=True), disturbed=False)
    (part,) = timed
    assert part.header.metadata["llama.block_count"] in range(4, 11)
    assert part.memory.verdict == "fits"
    assert not (tmp_path / "trial").exists()
    key = CalibrationKey(identity_of(plan.header), 1, "f16", plan.library.build, fingerprint())
    store_calibration(key, timings, by_part=True)
    assert timings_of_package(PACKAGES["llama"], key.model, 1, "f16") == timings  # to compare libraries
    assert stored_calibration(key) is None  # whoever loads it times all of it
    calibrate.measure(plan, spare=True)
    assert timed == [part]


def test_a_model_that_cannot_be_timed_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.loading.library_choice.RETRY_AFTER", 0.0)
    trial = BackendTrial(tmp_path / "none.gguf", "ik", 2, "f16")
    for _ in range(MOST_ATTEMPTS):
        assert [*trial.measure()]
    assert [*trial.measure()] == []


def test_on_a_disk_without_room_for_its_folder_it_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.loading.library_choice.RETRY_AFTER", 0.0)
    (tmp_path / "trial").write_text("a file")
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    trial = BackendTrial(tmp_path / "none.gguf", "ik", 2, "f16")
    for _ in range(MOST_ATTEMPTS):
        assert [*trial.measure()] == []
    assert trial._attempts == 0


def test_idle_time_that_goes_on_is_not_filled_with_it(tmp_path):
    trial = BackendTrial(tmp_path / "none.gguf", "ik", 2, "f16")
    assert [*trial.measure()]
    assert [*trial.measure()] == []
