"""Chickadee's two folders: one for what must not be lost, one for what can always be worked out again."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

NAME = "chickadee"
DATA_DIR_VARIABLE = "CHICKADEE_DATA_DIR"
CACHE_DIR_VARIABLE = "CHICKADEE_CACHE_DIR"


def data_folder() -> Path:
    """Chats, settings, downloaded models; it may not exist yet (`common.files.make_private_folder`)."""
    chosen = os.environ.get(DATA_DIR_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_data_path(NAME, appauthor=False))


def cache_folder() -> Path:
    """Measurements, saved keys and values, facts about files; it may not exist yet."""
    chosen = os.environ.get(CACHE_DIR_VARIABLE)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_path(NAME, appauthor=False))
