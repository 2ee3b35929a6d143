"""Names of model files in sentences: what the user knows a file by, where its own name says nothing."""

from __future__ import annotations

from pathlib import Path

from common.paths import display_name
from models.ollama import name_of_blob

SAME_FOR_ALL = "model.gguf"  # Jan calls every file that, and the folder after the model


def model_name(path: Path) -> str:
    """Return Ollama's name of a file of its own, `FOLDER/model.gguf` for Jan's, and the file's name for any other."""
    if path.name.casefold() == SAME_FOR_ALL:
        return display_name(f"{path.parent.name}/{path.name}")
    return name_of_blob(path) or display_name(path)
