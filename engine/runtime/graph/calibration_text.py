"""The texts that heads are ranked on: the beginning of Bram Stoker's Dracula (1897) and code of our own."""

from __future__ import annotations

from engine.tokenization.tokens import Vocabulary
from models.assets import asset

LENGTH = 2048  # tokens of a text, and one that follows
SHORTEST = 256  # tokens that are worth to be priced


def tokens_of(vocabulary: Vocabulary, count: int) -> tuple[list[list[int]], list[list[int]]]:
    """Texts of `count` tokens in all to rank on, as long as can be, and one more of each kind to find the prices on."""
    files = sorted(asset("calibration").glob("*.txt"))
    whole = [vocabulary.tokenize(file.read_text("utf-8"), special=False) for file in files]
    each = count // len(whole)
    length = min(LENGTH, each)
    ranked = [kind[begin : begin + length + 1] for kind in whole for begin in range(0, each - length + 1, length)]
    rest = [kind[each // length * length :][: length + 1] for kind in whole]
    return ranked, [text for text in rest if len(text) > SHORTEST] or ranked
