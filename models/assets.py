"""Paths of the files in `assets/`, in a checkout and in a packaged app."""

from __future__ import annotations

import sys
from pathlib import Path


def asset(name: str) -> Path:
    """Return the path of a file in `assets/`."""
    return _root() / "assets" / name


def document(name: str) -> Path:
    """Return the path of a page in `docs/` that the window shows."""
    return _root() / "docs" / name


def _root() -> Path:
    """Return the checkout, or the folder `sys._MEIPASS` into which PyInstaller puts our files."""
    root = getattr(sys, "_MEIPASS", None)
    return Path(root) if root else Path(__file__).resolve().parent.parent
