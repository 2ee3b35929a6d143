"""`python -m training.instructions FILE…`: data sets of instructions and answers as chats to train with, one a line.

In an order drawn by the seed. Such a file is a JSON array of objects with "instruction", perhaps "input", and "output"
or "response".
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from common.failures import CommandFailure, Failure
from models.terminal import run_command


class Instruction(msgspec.Struct, frozen=True):
    """Entry of a data set. `input` is what the instruction is about; '' if the instruction says everything."""

    instruction: str
    input: str = ""
    output: str = ""
    response: str = ""

    @property
    def question(self) -> str:
        return "\n\n".join(part for part in (self.instruction.strip(), self.input.strip()) if part)

    @property
    def answer(self) -> str:
        return self.output.strip() or self.response.strip()


def chats(paths: Sequence[Path], seed: int) -> Iterator[dict[str, object]]:
    """Yield the entries of all files as chats; entries without question or answer are left out. Raises Failure."""
    pairs = [(each.question, each.answer) for path in paths for each in _read(path)]
    pairs = [(question, answer) for question, answer in pairs if question and answer]
    for i in np.random.default_rng(seed).permutation(len(pairs)):
        question, answer = pairs[i]
        yield {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def _read(path: Path) -> list[Instruction]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Instruction])
    except OSError as error:
        raise CommandFailure("unreadable", f"{path} cannot be read: {error.strerror or error}.") from error
    except msgspec.MsgspecError as error:
        sentence = f'{path.name} is no JSON array of objects with "instruction" and "output" or "response": {error}.'
        raise CommandFailure("bad_data", sentence) from error


def main(arguments: list[str] | None = None) -> int:
    description = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m training.instructions", description=description)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    given = parser.parse_args(arguments)
    try:
        for chat in chats(given.files, given.seed):
            sys.stdout.write(f"{json.dumps(chat, ensure_ascii=False)}\n")
    except Failure as error:
        print(f"training: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
