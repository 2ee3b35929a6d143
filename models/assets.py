"""Where the files of `assets/` lie: in the checkout, or unpacked beside a packaged app."""

from __future__ import annotations

import sys
from pathlib import Path


def asset(name: str) -> Path:
    root = getattr(sys, "_MEIPASS", None)
    return (Path(root) if root else Path(__file__).resolve().parent.parent) / "assets" / name
