"""The folder for what the engine can always work out again: measurements and saved keys and values."""

from __future__ import annotations

from models.folders import CACHE_DIR_VARIABLE, cache_folder

__all__ = ["CACHE_DIR_VARIABLE", "cache_folder"]
