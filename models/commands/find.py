"""Which model does the user mean? Asked by name, by path, or by a part of the name that only one has."""

from __future__ import annotations

from common.failures import CommandFailure
from common.files import is_file
from common.paths import shown, typed_path
from models.added import Added
from models.collection import LocalModel, describe, scan


def find(words: str) -> LocalModel:
    """Raises Failure when no model, or more than one, is called that."""
    models = list(scan(Added().read()))
    path, name = typed_path(words), shown(words)
    same = [model for model in models if name == model.name or path in model.files]
    if same:
        return same[0]
    if is_file(path):
        return describe(path)
    alike = [model for model in models if name.lower() in model.name.lower()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        listed = ", ".join(model.name for model in alike[:5])
        raise CommandFailure("unclear", f"“{name}” may be one of {len(alike)} models: {listed}. Give the whole name.")
    raise CommandFailure("no_such_model", f"There is no model named “{name}” here. `python -m models list` shows them.")
