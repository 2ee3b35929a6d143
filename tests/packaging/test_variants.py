"""What llama.cpp is compiled with on each system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.packaging.conftest import ROOT

ASK = """
import subprocess, sys
sys.platform = sys.argv[1]
sys.modules |= {"fcntl": sys, "msvcrt": sys}  # only one of them is here, and neither is used
from variants import VARIANTS_OPTIONS
print(VARIANTS_OPTIONS)
"""


def options(system: str) -> list[str]:
    """Return CMake's options, as a Python of the system has them."""
    done = subprocess.run([sys.executable, "-c", ASK, system], cwd=ROOT / "packaging", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_gcc_must_not_compile_amx(system: str) -> None:
    assert "-DCMAKE_CXX_FLAGS=-U__AMX_INT8__" in options(system)


def test_microsofts_compiler_keeps_its_own_flags() -> None:
    windows = options("win32")
    assert not [option for option in windows if option.startswith("-DCMAKE_CXX_FLAGS")]
    assert "-DGGML_CPU_ALL_VARIANTS=ON" in windows
