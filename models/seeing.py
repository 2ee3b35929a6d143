"""The smallest model that can see pictures, to be named to a user whose model cannot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from models.catalogue import CatalogueEntry, catalogue
from models.collection import LocalModel, scan_models
from models.projector import projector_files


def smallest_on_disk(added: Iterable[Path] = (), own: Path | None = None) -> LocalModel | None:
    """Return the smallest model on this computer that has a projector beside it."""
    seeing = [model for model in scan_models(added, own=own) if can_see(model)]
    return min(seeing, key=lambda model: model.size, default=None)


def can_see(model: LocalModel) -> bool:
    """Return whether the model can answer and a file beside it is named as its projector."""
    return model.usable and bool(projector_files(model.path))


def smallest_in_catalogue() -> CatalogueEntry | None:
    """Return the catalogue's smallest model that is made to see."""
    return next((entry for entry in catalogue() if entry.vision), None)
