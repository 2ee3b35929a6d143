"""Whether models fit into this computer's memory: asks the engine's planner, which is a separate program."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from common.engine_program import engine_command
from common.planning import Ask, Verdict
from common.sentences import Sentence
from models.readable_files import readable_files

log = logging.getLogger(__name__)
CHECKOUT = Path(__file__).resolve().parent.parent
NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # otherwise Windows opens a console beside the app
Key = TypeVar("Key", bound=Hashable)


def verdicts(questions: Mapping[Key, Ask]) -> Iterator[tuple[Key, Verdict]]:
    """Yield the planner's answers in the order of the questions; nothing if the planner cannot start."""
    if not questions:
        return
    files = [file for ask in questions.values() for file in (ask.path, ask.draft)]
    lines = [msgspec.json.encode(ask) + b"\n" for ask in questions.values()]
    try:
        process = subprocess.Popen(
            [*engine_command("plans"), *readable_files(files).arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=NO_CONSOLE,
            cwd=None if getattr(sys, "frozen", False) else CHECKOUT,
        )
    except OSError as error:
        log.warning("the planner cannot start: %s", error)
        return
    with process:
        assert process.stdin
        assert process.stdout
        try:
            for key, line in zip(questions, lines, strict=True):
                process.stdin.write(line)
                process.stdin.flush()
                yield key, _answer(process.stdout.readline())
        except BrokenPipeError:
            log.warning("the planner ended early")
        finally:
            process.kill()


def _answer(line: bytes) -> Verdict:
    try:
        return msgspec.json.decode(line, type=Verdict)
    except msgspec.MsgspecError:
        log.warning("a line of %d bytes from the planner was not understood", len(line))
        return Verdict(problem=Sentence.of("planner.no_answer"))
