"""The sentences that come with Chickadee, by language, as a model's tokens. Knows not what they are for."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path

from engine.tokenization.tokens import Vocabulary
from models.assets import asset
from models.failures import Failure

TOGETHER = 20  # sentences of a text, so that most words follow others


def languages() -> list[Path]:
    """A file for each, in an order that does not change. Raises Failure when the installation lacks them."""
    found = sorted(asset("phrases").glob("*.txt.xz"))
    if not found:
        raise Failure("no_such_file", "The usual phrases are missing from this installation. Install Chickadee again.")
    return found


def texts(file: Path, vocabulary: Vocabulary) -> Iterator[list[int]]:
    """Tokens of one text after the other. Raises Failure when the file is damaged."""
    try:
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()
    except (OSError, ValueError, lzma.LZMAError) as error:
        sentence = "The usual phrases of this installation are damaged. Install Chickadee again."
        raise Failure("no_such_file", sentence, f"{file.name}: {error}") from error
    for at in range(0, len(lines), TOGETHER):
        yield vocabulary.tokenize(" ".join(lines[at : at + TOGETHER]), special=False)
