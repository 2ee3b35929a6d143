"""Where our native code lies, and the backends of ggml for graphics processors. This module loads no library."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(sys.prefix) / "kernels"  # of our native code, in the virtual environment or in the packaged app


def backend_files() -> Iterator[Path]:
    """Yield the backends that lie beside our native code, and the one that ggml's variable names."""
    yield from sorted(FOLDER.glob("*ggml-*.*"))
    if named := os.environ.get("GGML_BACKEND_PATH"):
        yield Path(named)


def may_have_devices() -> bool:
    """Return whether a backend is there, or a llama.cpp of the user's own, which may have one inside."""
    return any(backend_files()) or "LLAMA_CPP_LIB_PATH" in os.environ
