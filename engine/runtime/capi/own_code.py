"""Our native code in front of a library: loading it before the library, and the sets of products that it has.

Set-up compiles it on Linux (packaging/own_code.py). Without it the library computes the same results, but more slowly.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
from collections.abc import Callable
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path

from engine.machine import KINDS, library_version, processor_features

OTHER_VERSION = "Chickadee's native code is for %s %s, not for %s, which computes more slowly without."


@dataclass(frozen=True, slots=True)
class ProductSet:
    """Our own matrix products for one set of instructions; the native code knows the set by `number`."""

    number: int
    name: str
    needs: frozenset[str]  # processor features by Linux' names

    @property
    def is_computable(self) -> bool:
        """Whether this processor has the instructions."""
        return processor_features() >= self.needs


PRODUCT_SETS = (  # the fastest first
    ProductSet(3, "AVX-512 VNNI", KINDS["avx512_vnni"]),
    ProductSet(2, "AVX-VNNI", KINDS["avx_vnni"]),
    ProductSet(1, "AVX2", KINDS["avx2"]),
)
NO_PRODUCTS = 0  # number of no set


def load_in_front(
    file: Path, title: str, package: str, declare: Callable[[CDLL], CDLL], version: str, log: logging.Logger
) -> CDLL | None:
    """Load our code where the dynamic linker finds it first; must run before the library of `package` is loaded.

    `declare` declares the code's functions, of which `version` tells the version of `package` that it was compiled for.
    Returns None if the code does not exist, cannot be loaded, or was compiled for another version.
    """
    if not file.exists():
        return None
    try:
        code = declare(CDLL(str(file)))
        compiled_for, installed = getattr(code, version)().decode(), library_version(package)
        if compiled_for != installed:
            log.warning(OTHER_VERSION, title, compiled_for, installed)
            return None
        return declare(CDLL(str(file), mode=ctypes.RTLD_GLOBAL))
    except (OSError, AttributeError) as error:
        log.warning("Chickadee's native code for %s cannot be loaded, which computes more slowly without.", title)
        log.info("%s", error)
        return None


def checksum_of(file: Path) -> str:
    """Return the first characters of a file's checksum, which distinguish two builds of our code."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:10]
