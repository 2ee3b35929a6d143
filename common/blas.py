"""The kernels of OpenBLAS, numpy's matrix library: on Windows the ones that it would choose are not always right."""

from __future__ import annotations

import os
import sys

CORE = "OPENBLAS_CORETYPE"  # OpenBLAS reads it when numpy is imported
PF_AVX_INSTRUCTIONS_AVAILABLE = 39


def choose_blas_kernels() -> None:
    """Let OpenBLAS compute with its plainest kernels on Windows where the processor lacks AVX.

    Those that it would take there, for Nehalem, contain AVX in numpy's wheel for Windows (2.4.6): importing numpy ended
    with an illegal instruction. Child processes inherit the choice. Call this before numpy is imported.
    """
    if sys.platform == "win32":
        import ctypes

        if not ctypes.windll.kernel32.IsProcessorFeaturePresent(PF_AVX_INSTRUCTIONS_AVAILABLE):
            os.environ.setdefault(CORE, "Prescott")
