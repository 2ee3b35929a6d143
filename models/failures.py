"""The exceptions that say: the world around us failed, not our code. Everything else that is raised is a bug."""

from __future__ import annotations


class Failure(Exception):
    """Something the user can understand and act on. `str()` is the sentence the user reads, `code` is for programs.

    `detail` is for the log: what a library printed, a path, a number.
    """

    def __init__(self, code: str, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.code = code
        self.detail = detail
