"""The engine's program: its command, its environment, and the option that names a file it may read.

C libraries read the environment as they are loaded, so it is set when the process starts. What the C library's
allocator does has to be chosen before a Linux process starts:

- Huge pages. Repacked weights and the KV cache are hundreds of megabytes that every pass reads. In pages of 2 MiB
  instead of 4 KiB the processor looks up fewer addresses (1.5B model: prompts are read 7 % faster), and a new cache is
  ready sooner.
- Memory of its own for everything from 1 MiB on. By default the limit rises up to 32 MiB as buffers are freed. Then
  buffers of a cache that has grown leave gaps that stay resident, and llama.cpp's tables of graphs are zero-filled
  before they are used: 10 MB for most models, 20 to 80 MB for those whose graphs are large.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = "chickadee-engine" if getattr(sys, "frozen", False) else "python -m engine"  # what a user types
READ_OPTION = "--read"  # option of `serve` and `plans`: a file outside of the model folders that the engine may read
TUNABLES = "GLIBC_TUNABLES"  # glibc 2.35; older ones and other libraries ignore what they do not know
HUGE = "glibc.malloc.hugetlb=1"
ALLOCATOR = (HUGE, f"glibc.malloc.mmap_threshold={1 << 20}")
SETTINGS = {
    # How long OpenMP's threads spin at a barrier before they sleep. Its default, 300,000 turns, wastes whole time
    # slices where another program wants a core. 60,000 turns are as fast as that on a quiet machine (20,000 read
    # prompts 2 % slower with a 1.5B model, 3,000 write a tenth slower) and read prompts faster on a busy one
    # (docs/performance.md, “Beside other busy programs”).
    "GOMP_SPINCOUNT": "60000",
    # Where ggml aborts, it would start a debugger to print the stack, which takes seconds and reads all of the memory.
    "GGML_NO_BACKTRACE": "1",
}


def engine_environment() -> dict[str, str]:
    """Return the environment in which the engine starts: this process's, with what the user has not set himself."""
    environment = SETTINGS | os.environ
    before = environment.get(TUNABLES, "")
    if sys.platform == "linux" and HUGE not in before:  # glibc splits the text in place: only its beginning is seen
        environment[TUNABLES] = ":".join([*ALLOCATOR, before]).rstrip(":")
    return environment


def engine_command(verb: str) -> list[str]:
    """Return the program and arguments that start the engine with the command `verb`.

    A packaged app starts the executable beside its own; a checkout starts `python -m engine`.
    """
    if getattr(sys, "frozen", False):
        suffix = ".exe" if sys.platform == "win32" else ""
        return [str(Path(sys.executable).with_name(f"chickadee-engine{suffix}")), verb]
    return [sys.executable, "-m", "engine", verb]
