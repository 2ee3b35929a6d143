"""Length of an answer's thoughts, and their early end: by a budget of tokens, or because the user wants the answer now.

A thought ends early by tokens that the model did not choose: a closing phrase with the marker that closes the thought.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from common.reasoning import Piece, ReasoningParser, early_end


class ThoughtMeter:
    """Tokens and seconds of an answer's thoughts, without their markers as far as these are whole tokens.

    `tokens`, `seconds`: of all thoughts that have ended. `last_tokens`, `last_seconds`: of the last one of them.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.tokens, self.seconds = 0, 0.0
        self.last_tokens, self.last_seconds = 0, 0.0
        self.open_tokens = 0  # tokens since the last marker, or since the beginning: a thought may have begun unseen
        self._clock = clock
        self._opened_at = clock()

    def begin(self, tokens: int) -> None:
        """Start the clock; `tokens` of a thought that is continued were written before."""
        self.open_tokens, self._opened_at = tokens, self._clock()

    def add(self, pieces: Sequence[Piece], tokens: int) -> None:
        """Count `tokens`, 0 or 1, after which `pieces` of the answer became certain."""
        for piece in pieces:
            if piece.kind in ("closed", "unopened"):
                self.close()
            if piece.kind not in ("text", "thought"):
                self.begin(0)
                tokens = 0
        self.open_tokens += tokens

    def close(self) -> None:
        """End the open thought."""
        self.last_tokens, self.last_seconds = self.open_tokens, self._clock() - self._opened_at
        self.tokens += self.last_tokens
        self.seconds += self.last_seconds


class ThoughtLimit:
    """The decode loop's forced tokens: they end the answer's thought at its budget or when the user wants the answer.

    `parser` reads the answer and `meter` counts its thoughts. `budget`: most tokens of all thoughts; 0: no limit.
    `tokenize`: returns the tokens of a text with markers. `is_whole`: returns whether the text so far ends with a whole
    character; a thought is not ended within one.
    """

    def __init__(
        self,
        parser: ReasoningParser,
        meter: ThoughtMeter,
        budget: int,
        tokenize: Callable[[str], Sequence[int]],
        is_whole: Callable[[], bool],
    ) -> None:
        self._parser = parser
        self._meter = meter
        self._budget = budget
        self._tokenize = tokenize
        self._is_whole = is_whole
        self._answer_now = False

    def answer_now(self) -> bool:
        """Request that the open thought ends; return False if there is none. Any thread may call this."""
        self._answer_now = bool(self._parser.closing)
        return self._answer_now

    @property
    def max_step(self) -> int | None:
        """Limit of the tokens that the next step may give, so that no draft runs past the budget; None: no limit."""
        if not self._budget or self._parser.in_text:
            return None
        return max(1, self._budget - self._thought_tokens)

    def next_tokens(self) -> tuple[int, ...]:
        """Return the tokens that the answer must go on with; empty: the model chooses."""
        if not (closing := self._parser.closing):
            self._answer_now = False  # the thought ended by itself
            return ()
        is_spent = self._budget and self._thought_tokens >= self._budget
        if not (self._answer_now or is_spent) or not self._is_whole():
            return ()
        self._answer_now = False
        return tuple(self._tokenize(early_end(closing)))

    @property
    def _thought_tokens(self) -> int:
        return self._meter.tokens + (self._meter.open_tokens if self._parser.closing else 0)
