"""The exceptions that say: the world around us failed, not our code. Everything else that is raised is a bug."""

from __future__ import annotations

from collections.abc import Callable

from common.paths import printable


class Failure(Exception):
    """Something the user can understand and act on. `str()` is the sentence the user reads, `code` is for programs.

    `sentence` may be a function that says it, in the language of the moment. `detail` is for the log: what a library
    printed, a path, a number. Both can always be printed and sent, whatever a file in them is called.
    """

    def __init__(self, code: str, sentence: str | Callable[[], str], detail: str = "") -> None:
        super().__init__(sentence)
        self.code = code
        self.detail = printable(detail)
        self._sentence = sentence

    def __str__(self) -> str:
        return printable(self._sentence if isinstance(self._sentence, str) else self._sentence())
