"""`python -m models`: lists the models on this computer and gets more. `models.commands` has one module per command."""

from __future__ import annotations

import argparse
import sys

from common.failures import Failure
from models.commands import add, catalogue, info, list_, pull, recommend, remove, search
from models.terminal import run_command

COMMANDS = (list_, recommend, info, search, pull, add, remove, catalogue)


def main(arguments: list[str] | None = None) -> int:
    top = argparse.ArgumentParser(prog="python -m models", description="The models on this computer.")
    commands = top.add_subparsers(dest="command", required=True)
    for command in COMMANDS:
        command.register(commands)
    options = top.parse_args(arguments)
    try:
        return int(options.run(options))
    except Failure as failure:
        print(f"chickadee: {failure.terminal_text}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run_command(main))
