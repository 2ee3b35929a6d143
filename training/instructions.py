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


class Instruction(msgspec.Struct, frozen=True):
    """`input`: what the instruction is about, empty where it says all itself."""

    instruction: str
    input: str = ""
    output: str = ""
    response: str = ""

    @property
    def asked(self) -> str:
        return "\n\n".join(part for part in (self.instruction.strip(), self.input.strip()) if part)

    @property
    def answer(self) -> str:
        return self.output.strip() or self.response.strip()


def chats(paths: Sequence[Path], seed: int) -> Iterator[dict[str, object]]:
    """Of all files; without those that ask or answer nothing. Raises Failure."""
    pairs = [(each.asked, each.answer) for path in paths for each in _read(path)]
    pairs = [(asked, answer) for asked, answer in pairs if asked and answer]
    for i in np.random.default_rng(seed).permutation(len(pairs)):
        asked, answer = pairs[i]
        yield {"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]}


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
    sys.exit(main())
