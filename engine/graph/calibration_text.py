"""The texts that heads are ranked on: the beginning of a novel (in the public domain) and code of our own."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.target import Vocabulary

SHORTEST = 256  # tokens that are worth to be priced


def folder() -> Path:
    bundle = getattr(sys, "_MEIPASS", None)
    return (Path(bundle) if bundle else Path(__file__).resolve().parents[2]) / "assets" / "calibration"


def tokens_of(vocabulary: Vocabulary, count: int) -> tuple[list[list[int]], list[list[int]]]:
    """Of each text `count` / 2 tokens to rank on, and as many more as there are to find the prices on."""
    texts = [vocabulary.tokenize(file.read_text("utf-8"), special=False) for file in sorted(folder().glob("*.txt"))]
    half = count // 2
    first = [text[:half] for text in texts]
    rest = [text[half : 2 * half] for text in texts]
    return first, [text for text in rest if len(text) >= SHORTEST] or first
