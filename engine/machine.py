"""What this computer has: cores and memory. Knows no model."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psutil

PERFORMANCE_CORES = Path("/sys/devices/cpu_core/cpus")  # Linux lists them here on processors with two kinds of cores


def default_threads() -> int:
    """Physical performance cores this process may use: more threads than that slow llama.cpp down."""
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    if PERFORMANCE_CORES.exists():
        logical = len(parse_cpu_list(PERFORMANCE_CORES.read_text()))
        siblings = max(1, (os.cpu_count() or 1) // physical)
        physical = max(1, logical // siblings) if siblings > 1 else logical
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(physical, allowed))


def parse_cpu_list(text: str) -> set[int]:
    """'0-3,8' → {0, 1, 2, 3, 8}: the kernel's way to write a set of processors."""
    cpus: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(psutil.Process().memory_info().rss)
