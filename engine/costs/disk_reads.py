"""Reads from the disk by a model that is larger than the memory, and how fast it is with them.

Such a model's file is mapped: the system keeps the pages that were used last, and a pass waits for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.costs.cost_model import Timings
from engine.costs.prediction import Speed
from models.shapes import WeightReads

USUAL_BATCH = 512  # tokens of a prefill batch, for a model of which no timings are known


@dataclass(frozen=True, slots=True)
class DiskReads:
    """Bytes that passes read from the disk.

    `weights`: the bytes of weights that passes use; `cache_bytes`: memory for pages of the file; `bytes_per_s`: speed
    at which the disk delivers the file (`engine.costs.speeds.file_read_speed`).
    """

    weights: WeightReads
    cache_bytes: int
    bytes_per_s: float

    def bytes(self, tokens: int) -> float:
        """Return the bytes that a pass of `tokens` tokens is expected to read from the disk.

        - Weights that every pass uses are read in the same order each time. If they do not all fit into the cache, none
          is still there when it comes round again, because the system drops the page that was used longest ago (LRU;
          P. J. Denning, "The working set model for program behavior", CACM 11(5), 1968). So a dense model reads its
          whole file in each pass.
        - Experts are chosen as if by dice. Then an expert is still in the cache with a probability of the share of all
          experts that the cache holds beside the weights above: with equally likely pages the hit rate of LRU is the
          cache's share (W. F. King, "Analysis of demand paging algorithms", IFIP 1971). Real texts use some experts
          more often than others, so they hit more often: the result is an upper bound.
        """
        weights = self.weights
        for_experts = self.cache_bytes - weights.always
        always = weights.always if for_experts < 0 else 0.0
        if not weights.experts:
            return always
        cached = min(1.0, max(0.0, for_experts / weights.experts))
        return always + weights.experts * weights.touched(tokens) * (1 - cached)

    def seconds(self, tokens: int) -> float:
        """Return the seconds for which a pass of `tokens` tokens waits for the disk.

        They come on top of those of the same pass in memory: a thread that waits for a page computes nothing.
        """
        return self.bytes(tokens) / self.bytes_per_s

    def slowed(self, timings: Timings) -> Timings:
        """Return the timings of passes in memory with the seconds for the disk added to each."""
        passes = {
            depth: {k: seconds + self.seconds(k) for k, seconds in times.items()}
            for depth, times in timings.pass_seconds.items()
        }
        large = timings.large_seconds + self.seconds(timings.large_tokens)
        return replace(timings, pass_seconds=passes, large_seconds=large)

    def speed(self, in_memory: Speed | None) -> Speed:
        """Return the model's speed; `in_memory` is the one without reads from the disk, None if it is unknown."""
        decode, prompt = self.seconds(1), self.seconds(USUAL_BATCH) / USUAL_BATCH
        if in_memory:
            decode, prompt = decode + 1 / in_memory.decode, prompt + 1 / in_memory.prompt
        return Speed(1 / max(decode, 1e-9), 1 / max(prompt, 1e-9))
