"""Chickadee's two folders: one for data that must not be lost, one for data that can be computed again."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

NAME = "chickadee"
DATA_DIR_VARIABLE = "CHICKADEE_DATA_DIR"
CACHE_DIR_VARIABLE = "CHICKADEE_CACHE_DIR"


def data_folder() -> Path:
    """Return the folder of chats, settings and downloaded models.

    It may not exist yet: create it with `common.files.make_private_folder`.
    """
    chosen = os.environ.get(DATA_DIR_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_data_path(NAME, appauthor=False))


def cache_folder() -> Path:
    """Return the folder of measurements, saved keys and values, and facts about files; it may not exist yet."""
    chosen = os.environ.get(CACHE_DIR_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_path(NAME, appauthor=False))
