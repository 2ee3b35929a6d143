"""The ends of numbers in JSON, which a mask hides from small models.

Where an object ends with a number, the mask forbids the comma with which a model goes on, and the next likely token is
one more digit: it writes zeros until the limit. So a number also ends where the model wants to end it, and where it is
as long as a number may be.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from engine.tokenization.tokens import ModelVocabulary

MOST_DIGITS = 16  # in a row; more do not change a number of 64 bits
MOST_EXPONENT = 2  # digits
OF_NUMBERS = frozenset(b"0123456789.eE")
NUMBER = re.compile(rb"([eE][-+]?)?([0-9]+)$")
TAIL = 32  # bytes of the text that are looked at


class NumberEnds:
    """Decision where a number ends, for the masks of one vocabulary."""

    def __init__(self, vocabulary: ModelVocabulary) -> None:
        pieces = list(vocabulary.all_pieces())
        self._goes_on = np.array([bool(piece) and piece[0] in OF_NUMBERS for piece in pieces], np.bool_)
        self._is_quote = np.array([piece[:1] == b'"' for piece in pieces], np.bool_)

    def restrict(self, allowed: NDArray[np.bool_], text: bytes, wanted: int | None) -> NDArray[np.bool_]:
        """Return the tokens that may come next, without those with which a number goes on that is to end here.

        `allowed`: those of the mask, behind a text that ends with `text`. `wanted`: the model's likeliest token,
        if that is known.
        """
        number = NUMBER.search(text)
        if not number or allowed[self._is_quote].any():  # within a string a quote may come, behind a number it may not
            return allowed
        is_long = len(number[2]) >= (MOST_EXPONENT if number[1] else MOST_DIGITS)
        if not is_long and (wanted is None or allowed[wanted] or self._goes_on[wanted]):
            return allowed
        ends = allowed & ~self._goes_on
        return ends if ends.any() else allowed
