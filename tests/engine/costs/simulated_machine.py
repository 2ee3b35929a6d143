"""A machine with simulated clocks, for measurements that other programs disturb."""

from __future__ import annotations

import pytest

from engine.costs import speeds
from engine.costs.profile import Profile, machine_profile
from engine.costs.speeds import ProcessorTimes

NOISY = {"own": 1.0, "others": 1.0}


class SimulatedMachine:
    """A machine with simulated clocks: cores that this process uses, that others use, and that the host takes."""

    def __init__(self, own: float = 2.0, others: float = 0.0, stolen: float = 0.0) -> None:
        self.own, self.others, self.stolen = own, others, stolen
        self.now = ProcessorTimes(100.0, 10.0, 500.0, 3.0)

    def read(self, seconds: float = 1.0) -> ProcessorTimes:
        now = self.now
        self.now = ProcessorTimes(
            now.wall + seconds, now.own + self.own * seconds, now.busy + (self.own + self.others) * seconds,
            now.stolen + self.stolen * seconds,
        )  # fmt: skip
        return self.now


def measure_profile(monkeypatch: pytest.MonkeyPatch, machine_clocks: SimulatedMachine, bandwidth: float) -> Profile:
    """Measure the profile again on such a machine."""
    monkeypatch.setattr(speeds, "processor_times", machine_clocks.read)
    monkeypatch.setattr(speeds, "read_bandwidth", lambda counts, *_: dict.fromkeys(counts, bandwidth))
    monkeypatch.setattr(speeds, "flops_f32", lambda *_: 5 * bandwidth)
    return machine_profile(fresh=True)
