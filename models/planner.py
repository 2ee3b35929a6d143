"""Whether models fit into this computer's memory: asks the engine's planner, which is a separate program."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from common.engine_program import engine_command, engine_environment
from common.planning import Ask, Verdict
from common.sentences import Sentence
from models.readable_files import ReadableFiles, readable_files

log = logging.getLogger(__name__)
CHECKOUT = Path(__file__).resolve().parent.parent
NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # otherwise Windows opens a console beside the app
Key = TypeVar("Key", bound=Hashable)


class PlannerClient:
    """The planner's process: started at the first question, kept for further ones, started again where it has ended.

    `ask` waits for the answer. Another thread may call `end` or `close` meanwhile, which answers the question with a
    problem. `command` starts another program in the planner's place.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = list(command or engine_command("plans"))
        self._process: subprocess.Popen[bytes] | None = None
        self._readable = ReadableFiles((), {})
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, ask: Ask, later: Iterable[Ask] = ()) -> Verdict:
        """Return the planner's verdict; one with a problem if the process ends, cannot start or was closed.

        A process reads only the model folders and the files that are named when it starts: those of this question and
        of the `later` ones. A question about another file starts it again.
        """
        try:
            process = self._started(ask, later)
            if process is None:
                return Verdict(id=ask.id, problem=Sentence.of("planner.ended"))
            assert process.stdin
            assert process.stdout
            process.stdin.write(msgspec.json.encode(ask) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (OSError, ValueError) as error:  # ValueError: another thread has ended the process
            log.warning("planner: %s", error)
            line = b""
        if not line:
            self.end()
            return Verdict(id=ask.id, problem=Sentence.of("planner.ended"))
        try:
            return msgspec.json.decode(line, type=Verdict)
        except msgspec.MsgspecError:
            log.warning("a line of %d bytes from the planner was not understood", len(line))
            return Verdict(id=ask.id, problem=Sentence.of("planner.no_answer"))

    def end(self) -> None:
        """End the process; the next question starts another one."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # a question that nobody has read
                    if pipe:
                        pipe.close()

    def close(self) -> None:
        """End the process for good."""
        self._closed = True
        self.end()

    def _started(self, ask: Ask, later: Iterable[Ask]) -> subprocess.Popen[bytes] | None:
        """Return a process that may read the question's files; None if the client was closed. Raises OSError."""
        files = _files(ask)
        process = self._process
        if process is not None and (process.poll() is not None or not all(map(self._readable.covers, files))):
            self.end()
        with self._lock:
            if self._process is None and not self._closed:
                self._readable = readable_files([*files, *(file for each in later for file in _files(each))])
                self._process = subprocess.Popen(
                    [*self._command, *self._readable.arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=engine_environment(),
                    creationflags=NO_CONSOLE,
                    cwd=None if getattr(sys, "frozen", False) else CHECKOUT,
                )
            return self._process


def verdicts(questions: Mapping[Key, Ask]) -> Iterator[tuple[Key, Verdict]]:
    """Yield the planner's answers in the order of the questions."""
    with contextlib.closing(PlannerClient()) as planner:
        for key, ask in questions.items():
            yield key, planner.ask(ask, questions.values())


def _files(ask: Ask) -> list[str]:
    return [file for file in (ask.path, ask.draft) if file]
