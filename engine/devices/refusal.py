"""Why a device is not used at all: what the first look at it, or its answers, have shown."""

from __future__ import annotations

from dataclasses import dataclass

from common.sentences import Sentence
from engine.devices.look import Problem

SENTENCES: dict[Problem, str] = {
    "wrong_numbers": "device.wrong_numbers",
    "hung": "device.hung",
    "crashed": "device.crashed",
}


@dataclass(frozen=True, slots=True)
class DeviceRefusal:
    """A problem that is known of a device; `device`: its name as people know it, empty if a driver told of none."""

    problem: Problem
    device: str = ""

    @property
    def sentence(self) -> Sentence:
        """The reason for the user."""
        device = self.device or Sentence.of("device.unknown")
        return Sentence.of(SENTENCES[self.problem], device=device)
