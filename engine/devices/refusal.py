"""Why a device is not used at all: what the first look at it, or its answers, have shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from common.sentences import Sentence

Reason = Literal["no_loader", "wrong_numbers", "hung", "crashed"]
SENTENCES: dict[Reason, str] = {
    "no_loader": "device.no_loader",
    "wrong_numbers": "device.wrong_numbers",
    "hung": "device.hung",
    "crashed": "device.crashed",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason not to use a device; `device` is its name as people know it, empty where there is none."""

    reason: Reason
    device: str = ""

    @property
    def sentence(self) -> Sentence:
        """The reason for the user."""
        return Sentence.of(SENTENCES[self.reason], device=self.device)
