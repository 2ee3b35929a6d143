"""`python -m engine`: the engine's commands, one module each in `engine.commands`."""

from __future__ import annotations

import argparse
import sys

from engine.rights import confine_engine
from engine.run_subprocess import start_with_environment


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command that the arguments name."""
    # Only now: what this brings along starts threads, and takes half a second.
    from common.failures import Failure
    from engine import serve
    from engine.commands import calibrate, chat, computer, learn, look, plan
    from engine.commands.terminal import complain

    program = "chickadee-engine" if getattr(sys, "frozen", False) else "python -m engine"
    top = argparse.ArgumentParser(prog=program, description="Chickadee's engine.")
    commands = top.add_subparsers(dest="command", required=True)
    for command in (serve, chat, calibrate, plan, look, computer, learn):
        command.add(commands)
    options = top.parse_args(arguments)
    try:
        return int(options.run(options))
    except Failure as failure:
        return complain(str(failure))
    except ValueError as error:  # an option that no dataclass accepts; its text is a sentence
        return complain(f"{str(error)[:1].upper()}{str(error)[1:]}.")


def start() -> int:
    """This process's command, with its environment and without the rights that it does not need."""
    start_with_environment()
    confine_engine(sys.argv[1:])
    from models.terminal import run_command

    return run_command(main)


if __name__ == "__main__":
    sys.exit(start())
