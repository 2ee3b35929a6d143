"""Paths of the files in `assets/`, in a checkout and in a packaged app."""

from __future__ import annotations

import sys
from pathlib import Path


def asset(name: str) -> Path:
    """Return the path of a file in `assets/`, which PyInstaller puts into the folder `sys._MEIPASS`."""
    root = getattr(sys, "_MEIPASS", None)
    return (Path(root) if root else Path(__file__).resolve().parent.parent) / "assets" / name
