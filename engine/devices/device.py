"""A device that computes beside the processor, and the ways to share a model's work with it.

This module knows no library and reads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
    """A way to share the work between the processor and a device; the values are stored.

    - `PROCESSOR`: the device does nothing.
    - `PROMPTS`: all weights stay in RAM. In passes of 32 tokens and more, llama.cpp copies each matrix to the device
      and multiplies there; shorter passes run on the processor.
    - `SOME_LAYERS`, `ALL_LAYERS`: weights, keys and values of the last layers, or of all, lie in the device's memory,
      and every pass computes them there.
    """

    PROCESSOR = "processor"
    PROMPTS = "prompts"
    SOME_LAYERS = "some_layers"
    ALL_LAYERS = "all_layers"


@dataclass(frozen=True, slots=True)
class Device:
    """A device as its driver describes it.

    - `id`: stays the same from start to start (the bus address where there is one), and tells two equal cards apart.
    - `name`: as ggml names it, such as Vulkan0; a number, which changes when another device is added.
    - `description`: the name that the user knows, such as “Intel(R) Iris(R) Xe Graphics”.
    - `backend`: ggml's backend in lower case: vulkan, cuda, metal, …
    - `integrated`: its memory is the computer's RAM. `software`: the processor itself computes (llvmpipe).
    - `memory_bytes`, `free_bytes`: of its memory, when the device was asked; 0 where the driver does not tell.
    - `driver`: changes with the driver's version; what was found out with another driver does not count.
    """

    id: str
    name: str
    description: str
    backend: str
    integrated: bool
    software: bool
    memory_bytes: int
    free_bytes: int
    driver: str


@dataclass(frozen=True, slots=True)
class Placement:
    """The place where a model is computed: its last `layers` lie on `device`, with their part of the KV cache.

    Raises ValueError where way, device and layers do not go together.
    """

    way: Way = Way.PROCESSOR
    device: Device | None = None
    layers: int = 0

    def __post_init__(self) -> None:
        if (self.device is None) != (self.way is Way.PROCESSOR):
            raise ValueError(f"{self.way} with the device {self.device}")
        if (self.layers > 0) != (self.way in (Way.SOME_LAYERS, Way.ALL_LAYERS)):
            raise ValueError(f"{self.way} with {self.layers} layers")

    @property
    def suffix(self) -> str:
        """Text in the keys of timings and saved chats; empty for the processor, whose keys existed before devices."""
        return f" {self.way} {self.layers} {self.device.id} {self.device.driver}" if self.device else ""


ON_PROCESSOR = Placement()


@dataclass(frozen=True, slots=True)
class Measured:
    """The speed of a model in one placement, on this machine.

    `model`: identity of its file; `build`: of the library. `seconds_per_prompt_token`: in passes as large as prompts
    have; `seconds_per_token`: in passes of one token, at a short depth.
    """

    device_id: str
    driver: str
    build: str
    model: str
    way: Way
    layers: int
    seconds_per_prompt_token: float
    seconds_per_token: float
