"""The comparison of a device's numbers with the processor's: what is right, and what refuses a device."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from engine.devices.device import Device, Placement, Way
from engine.devices.look import Ended, Problem, refusal
from engine.loading import device_check
from engine.loading.device_check import Verdict, _judge, compare

DEVICE = Device("vulkan A GPU", "Vulkan0", "A GPU", "vulkan", True, False, 0, 0, "1")
PLACEMENT = Placement(Way.PROMPTS, DEVICE)
ROWS = np.random.default_rng(1).normal(0, 3, (16, 200)).astype(np.float32)


@pytest.mark.parametrize(
    ("other", "is_right"),
    [
        (ROWS, True),
        (ROWS + np.float32(0.01), True),
        (np.zeros_like(ROWS), False),
        (np.full_like(ROWS, math.nan), False),
        (ROWS[::-1], False),
        (-ROWS, False),
    ],
)
def test_what_is_right(other: np.ndarray, is_right: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_check, "_rows", lambda _headers, where: other if where.device else ROWS)
    verdict = compare((), PLACEMENT)
    assert verdict.is_right == is_right, verdict
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict, "as the process prints it"


@pytest.mark.parametrize(
    ("ended", "problem"),
    [
        (Ended(0, b"null"), None),
        (Ended(0, msgspec.json.encode(Verdict(0.01, 0.0))), None),
        (Ended(0, msgspec.json.encode(Verdict(1.4, 1.0))), "wrong_numbers"),
        (Ended(None, b""), "hung"),
        (Ended(-6, b""), "crashed"),
    ],
)
def test_what_refuses_a_device(ended: Ended, problem: Problem | None) -> None:
    device = replace(DEVICE, id=f"{problem} {len(ended.printed)}")
    _judge(Placement(Way.PROMPTS, device), ended)
    assert refusal(device) == problem
