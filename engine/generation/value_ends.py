"""The ends of numbers and strings in JSON, which a mask hides from small models.

Where an object ends with a number, the mask forbids the comma with which a model goes on, and the next likely token is
one more digit: it writes zeros until the limit. Where it ends with a string, the mask forbids the token that is a quote
and a comma, and the next likely one is one more word. So values end where the model wants to end them, and numbers also
where they are as long as a number may be.
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


class ValueEnds:
    """Decision where a value ends, for the masks of one vocabulary."""

    def __init__(self, vocabulary: ModelVocabulary) -> None:
        pieces = list(vocabulary.all_pieces())
        self._goes_on = np.array([bool(piece) and piece[0] in OF_NUMBERS for piece in pieces], np.bool_)
        self._begins_with_quote = np.array([piece[:1] == b'"' for piece in pieces], np.bool_)
        self._is_quote = np.array([piece == b'"' for piece in pieces], np.bool_)

    def restrict(self, allowed: NDArray[np.bool_], text: bytes, wanted: int | None) -> NDArray[np.bool_]:
        """Return the tokens that may come next, without those with which a value goes on that is to end here.

        `allowed`: those of the mask, behind a text that ends with `text`. `wanted`: the model's likeliest token, if it
        is known.
        """
        is_forbidden = wanted is not None and not allowed[wanted]
        if is_forbidden and self._begins_with_quote[wanted]:
            return either(allowed & self._is_quote, allowed)
        number = NUMBER.search(text)
        if not number or allowed[self._begins_with_quote].any():  # quotes may come in strings, not behind numbers
            return allowed
        is_long = len(number[2]) >= (MOST_EXPONENT if number[1] else MOST_DIGITS)
        if is_long or (is_forbidden and not self._goes_on[wanted]):
            return either(allowed & ~self._goes_on, allowed)
        return allowed


def either(tokens: NDArray[np.bool_], others: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a set of tokens, or another one if the first is empty."""
    return tokens if tokens.any() else others
