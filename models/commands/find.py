"""Which model does the user mean? Asked by name, by path, or by a part of the name that only one has."""

from __future__ import annotations

from pathlib import Path

from models.added import Added
from models.collection import LocalModel, describe, scan
from models.failures import Failure


def find(words: str) -> LocalModel:
    """Raises Failure when no model, or more than one, is called that."""
    models = list(scan(Added().read()))
    path = Path(words).expanduser()
    same = [model for model in models if words == model.name or path.absolute() in model.files]
    if same:
        return same[0]
    if path.is_file():
        return describe(path.absolute())
    alike = [model for model in models if words.lower() in model.name.lower()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        listed = ", ".join(model.name for model in alike[:5])
        raise Failure("unclear", f"“{words}” may be one of {len(alike)} models: {listed}. Give the whole name.")
    raise Failure("no_such_model", f"There is no model called “{words}” here. `python -m models list` shows them.")
