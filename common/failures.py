"""Exceptions for a failed environment, as opposed to bugs: any exception that is no `Failure` is a bug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from common.log_format import kind_of
from common.paths import printable
from common.sentences import Sentence

LONGEST_DETAIL = 4000  # characters; a library says last what failed


class Failure(Exception):
    """Error that the user can understand and act on: a `sentence` that is worded where it is shown.

    `str()` gives the English text, for the terminal; programs read `code`. `detail` is what the user may unfold (a
    library's output, a path, a number): its last LONGEST_DETAIL characters, with those replaced that cannot be printed
    or sent.
    """

    def __init__(self, sentence: str | Sentence, detail: str = "", /, **values: object) -> None:
        """Store the sentence; `sentence` may also be the id of a message, whose holes `values` fill."""
        self.sentence = Sentence.of(sentence, **values) if isinstance(sentence, str) else sentence
        super().__init__(self.sentence)
        self.detail = printable(detail[-LONGEST_DETAIL:])

    @property
    def code(self) -> str:
        """Kind of failure: the part of the sentence's id before the dot."""
        return self.sentence.code

    @property
    def terminal_text(self) -> str:
        """Text for the terminal: the sentence, and indented below it the detail."""
        return "\n  ".join((str(self), *self.detail.splitlines()))

    @property
    def log_text(self) -> str:
        """Text for the log: the sentence's id and numbers, and the kind of the cause.

        The sentence's other values and the detail are left out, because they may be a user's words or file names.
        """
        numbers = [f"{name}={value}" for name, value in self.sentence.values.items() if isinstance(value, int | float)]
        cause = [kind_of(self.__cause__)] if self.__cause__ else []
        return " ".join((self.sentence.id, *numbers, *cause))

    def __str__(self) -> str:
        return str(self.sentence)


@contextmanager
def system_failures(sentence: str, **values: object) -> Iterator[None]:
    """Turn an OSError of the block into the Failure `sentence`, whose hole `reason` gets the system's words."""
    try:
        yield
    except OSError as error:
        raise Failure(sentence, str(error), reason=error.strerror or str(error), **values) from error


class CommandFailure(Failure):
    """Failure of a terminal command: an English sentence that is not in the table of messages, with its own `code`."""

    def __init__(self, code: str, sentence: str, detail: str = "") -> None:
        super().__init__(Sentence.plain(sentence), detail)
        self._code = code

    @property
    def code(self) -> str:
        return self._code
