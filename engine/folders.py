"""The folder for what the engine can always work out again: measurements and saved keys and values."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

CACHE_DIR_VARIABLE = "CHICKADEE_CACHE_DIR"


def cache_folder() -> Path:
    """The user's cache folder for Chickadee; it may not exist yet (`models.files.make_private_folder`)."""
    chosen = os.environ.get(CACHE_DIR_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_path("chickadee", appauthor=False))
