"""Three questions to begin with that suit the loaded model. Knows no Qt."""

from __future__ import annotations

import re

from app.words import mark

# Small models do these well: short, general, no facts to get wrong.
SMALL = (
    mark("Write a friendly note to thank a neighbour"),
    mark("Explain in simple words why the sky is blue"),
    mark("Give me five ideas for a rainy Sunday"),
)
LARGE = (
    mark("Help me plan a week of simple dinners for two"),
    mark("Explain how a heat pump works, then quiz me on it"),
    mark("Turn my notes into a polite e-mail; ask me for the notes"),
)
CODE = (
    mark("Write a Python function that finds duplicate lines in a file"),
    mark("Explain what a race condition is, with a short example"),
    mark("Write a SQL query for the three latest orders of each customer"),
)
CODER = re.compile(r"code|coder|starcoder|devstral|codestral", re.IGNORECASE)
LARGE_FROM = 2e9  # parameters; below that plans and quizzes go astray


def examples_for(name: str, parameters: int) -> tuple[str, str, str]:
    """The English texts, to be shown by `tr`; `name` is the model file's."""
    if CODER.search(name):
        return CODE
    return LARGE if parameters >= LARGE_FROM else SMALL
