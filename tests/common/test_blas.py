"""numpy's kernels: a choice is made only where the processor asks for it, and numpy computes with the plainest ones."""

from __future__ import annotations

import os
import subprocess
import sys

from common.blas import CORE, choose_blas_kernels

MULTIPLY = "import numpy; print(numpy.ones((9, 9)) @ numpy.ones(9))"


def test_a_processor_with_avx_keeps_its_kernels_and_a_users_choice_stands(monkeypatch):
    monkeypatch.setenv(CORE, "Haswell")
    choose_blas_kernels()
    assert os.environ[CORE] == "Haswell"


def test_numpy_computes_with_the_plainest_kernels():
    plain = {**os.environ, CORE: "Prescott"}
    done = subprocess.run([sys.executable, "-c", MULTIPLY], env=plain, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[9.", *["9."] * 7, "9.]"]
