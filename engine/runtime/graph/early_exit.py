"""Tokens that have passed a model's lower layers only, kept until a pass finishes them in the upper layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.tokenization.tokens import common_prefix


class LookAhead:
    """Tokens behind the cached ones that have passed the first `layers` layers only, with their hidden states."""

    def __init__(self, layers: int = 0) -> None:
        self.layers = layers
        self.tokens: list[int] = []
        self._states: list[NDArray[np.float32]] = []  # [embedding] for each token

    @property
    def states(self) -> NDArray[np.float32]:
        """Hidden states of all these tokens, [tokens, embedding]."""
        return np.array(self._states)

    def add(self, tokens: Sequence[int], states: NDArray[np.float32]) -> None:
        """Append tokens and their hidden states, [tokens, embedding]."""
        self.tokens.extend(tokens)
        self._states.extend(states.copy())

    def covers_first_of(self, tokens: Sequence[int]) -> bool:
        """Return whether `tokens` begin with the first token looked ahead at."""
        return self.tokens[:1] == list(tokens[:1])

    def keep_common(self, tokens: Sequence[int]) -> int:
        """Keep the common prefix with `tokens`; return its length."""
        count = common_prefix(self.tokens, list(tokens))
        del self.tokens[count:], self._states[count:]
        return count

    def clear(self) -> None:
        """Remove all tokens and states."""
        del self.tokens[:], self._states[:]
