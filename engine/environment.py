"""What a process of the engine has in its environment, set when it starts: the C libraries read it as they are loaded.

Repacked weights and the KV cache are hundreds of megabytes that every pass reads. In huge pages, of 2 MiB instead of
4 KiB, the processor looks up fewer addresses (1.5B model: prompts are read 7 % faster), and a new cache is ready
sooner. A Linux process has to ask for them before it starts.
"""

from __future__ import annotations

import logging
import os
import sys

TUNABLES, HUGE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"  # glibc 2.35; older ones and other libraries ignore it
SETTINGS = {
    # How long OpenMP's threads spin at a barrier before they sleep; libgomp reads it when it is loaded. Its default,
    # 300,000 turns, wastes whole time slices where another program wants a core. 60,000 turns are as fast as that on a
    # quiet machine (20,000 read prompts 2 % slower with a 1.5B model, 3,000 write a tenth slower) and read prompts
    # faster on a busy one (`python -m benchmarks.busy`).
    "GOMP_SPINCOUNT": "60000",
    # Where ggml aborts, it would start a debugger to print the stack, which takes seconds and reads all of the memory.
    "GGML_NO_BACKTRACE": "1",
}

log = logging.getLogger("engine.environment")


def set_environment() -> None:
    """Of this process and those that it starts, but for what the user has set; before a library is loaded."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def start_with_environment() -> None:
    """Start this process's command anew, in this process, with all settings made; returns where they are made."""
    set_environment()
    before = os.environ.get(TUNABLES, "")
    if sys.platform != "linux" or HUGE in before:
        return
    os.environ[TUNABLES] = f"{HUGE}=1:{before}".rstrip(":")  # first: glibc cuts the text up where it stands
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    except OSError as error:
        log.warning("going on without huge pages: %s", error)
