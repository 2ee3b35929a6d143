"""A model whose mapped file is larger than the memory: what it reads from the disk, and what to tell the user before.

Its speed is predicted from the disk's speed, which is measured on the file itself within a second.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from common.paths import display_name
from common.planning import Computer
from common.sentences import Sentence
from common.units import speed
from engine.costs.cost_prior import ModelTraits, Speed, predict_speed, this_computer
from engine.costs.disk_reads import DiskReads, file_read_speed
from engine.costs.measurements import SLOW_DISK
from engine.loading.memory_search import MemoryPlan
from models.header import Header
from models.recommend import READING_SPEED
from models.shapes import WeightReads
from models.split import whole_header

log = logging.getLogger("engine.load")


@dataclass(frozen=True, slots=True)
class SpeedFromDisk:
    """The expected speed of a model with its reads from the disk."""

    reads: DiskReads
    speed: Speed

    @property
    def is_slow(self) -> bool:
        """Whether people read faster than the model is expected to write, so that a smaller one is better."""
        return self.speed.decode < READING_SPEED

    def sentence(self, name: str) -> Sentence:
        """Return what to tell the user of the model called `name` before it is loaded."""
        words = "from_disk.slow" if self.is_slow else "from_disk.expected"
        return Sentence.of(words, name=name, speed=speed(self.speed.decode))


def expect_from_disk(headers: tuple[Header, ...], plan: MemoryPlan, computer: Computer | None = None) -> SpeedFromDisk:
    """Return the expected speed of a model with the verdict "disk"; measures the disk for 0.7 seconds.

    `headers` are those of the model's files; `computer`: None for this one.
    """
    traits = ModelTraits.of(whole_header(headers))
    weights = traits.reads if traits else WeightReads(plan.parts["weights_mapped"])
    reads = DiskReads(weights, plan.page_cache_bytes, disk_speed(headers[0].path, plan.threads))
    in_memory = predict_speed(traits, plan.kv_type, computer or this_computer()) if traits else None
    return SpeedFromDisk(reads, reads.speed(in_memory))


def disk_speed(path: Path, threads: int) -> float:
    """Return the bytes per second of reads from the file, or of a slow disk where that cannot be measured (logged)."""
    try:
        measured = file_read_speed(path, threads)
    except OSError as error:
        log.warning("The speed of the disk cannot be measured with %s: %s", display_name(path), error.strerror)
        measured = None
    return measured or SLOW_DISK
