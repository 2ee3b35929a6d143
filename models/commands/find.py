"""Finds the model that the user means: by name, by path, or by a part of the name that only one model has."""

from __future__ import annotations

from common.failures import CommandFailure
from common.files import is_file
from common.paths import display_name, typed_path
from models.added_paths import AddedPaths
from models.collection import LocalModel, describe_model, scan_models


def find(words: str) -> LocalModel:
    """Return the model that `words` names. Raises Failure if none or several match."""
    models = list(scan_models(AddedPaths().read()))
    path, name = typed_path(words), display_name(words)
    same = [model for model in models if name == model.name or path in model.files]
    if same:
        return same[0]
    if is_file(path):
        return describe_model(path)
    alike = [model for model in models if name.lower() in model.name.lower()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        listed = ", ".join(model.name for model in alike[:5])
        raise CommandFailure("unclear", f"“{name}” may be one of {len(alike)} models: {listed}. Give the whole name.")
    raise CommandFailure("no_such_model", f"There is no model named “{name}” here. `python -m models list` shows them.")
