"""The exceptions that say: the world around us failed, not our code. Everything else that is raised is a bug."""

from __future__ import annotations

from common.paths import printable
from common.sentences import Sentence


class Failure(Exception):
    """Something the user can understand and act on: a `sentence` that is worded where it is shown.

    `str()` is its English, for the terminal and the log; `code` is for programs. `detail` is for the log: what a
    library printed, a path, a number. It can always be printed and sent, whatever a file in it is called."""

    def __init__(self, sentence: str | Sentence, detail: str = "", /, **values: object) -> None:
        """`sentence` may be the id of a message, with `values` for its holes."""
        self.sentence = Sentence.of(sentence, **values) if isinstance(sentence, str) else sentence
        super().__init__(self.sentence)
        self.detail = printable(detail)

    @property
    def code(self) -> str:
        """What kind of failure it is."""
        return self.sentence.code

    def __str__(self) -> str:
        return str(self.sentence)


class CommandFailure(Failure):
    """Raised by commands of the terminal alone, which speak English: its sentence is in no table."""

    def __init__(self, code: str, sentence: str, detail: str = "") -> None:
        super().__init__(Sentence.plain(sentence), detail)
        self._code = code

    @property
    def code(self) -> str:
        """What kind of failure it is."""
        return self._code
