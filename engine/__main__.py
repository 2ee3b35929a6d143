"""`python -m engine`: the engine's commands, one module each in `engine.commands`."""

from __future__ import annotations

import argparse
import sys
from types import ModuleType

from engine.run_subprocess import start_with_environment


def modules_for(command: str) -> tuple[ModuleType, ...]:
    """Those that add the command. Only those where the window waits for it: all take a tenth of a second to import."""
    if command == "serve":
        from engine import serve

        return (serve,)
    if command == "plans":
        from engine.commands import plan

        return (plan,)
    if command == "look":
        from engine.commands import look

        return (look,)
    from engine import serve
    from engine.commands import calibrate, chat, computer, learn, look, plan

    return (serve, chat, calibrate, plan, look, computer, learn)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command that the arguments name."""
    # Only now: what this brings along starts threads, and takes half a second.
    from common.failures import Failure

    arguments = sys.argv[1:] if arguments is None else arguments
    program = "chickadee-engine" if getattr(sys, "frozen", False) else "python -m engine"
    top = argparse.ArgumentParser(prog=program, description="Chickadee's engine.")
    commands = top.add_subparsers(dest="command", required=True)
    for module in modules_for(arguments[0] if arguments else ""):
        module.add(commands)
    options = top.parse_args(arguments)
    try:
        return int(options.run(options))
    except Failure as failure:
        return _complain(str(failure))
    except ValueError as error:  # an option that no dataclass accepts; its text is a sentence
        return _complain(f"{str(error)[:1].upper()}{str(error)[1:]}.")


def _complain(sentence: str) -> int:
    from engine.commands.terminal import complain

    return complain(sentence)


def start() -> int:
    """This process's command, with its environment and without the rights that it does not need."""
    start_with_environment()  # before anything else is imported: it starts this program anew
    from engine.rights import confine_engine

    confine_engine(sys.argv[1:])
    from models.terminal import run_command

    return run_command(main)


if __name__ == "__main__":
    sys.exit(start())
