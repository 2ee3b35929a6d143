"""`python -m engine`: the engine's commands, one module each in `engine.commands`, and `engine.serve.process`."""

from __future__ import annotations

import argparse
import sys
from types import ModuleType

from engine.run_subprocess import start_with_environment


def modules_for(command: str) -> tuple[ModuleType, ...]:
    """Return the modules that define `command`, or all modules with commands for any other name.

    The window waits for `serve`, `plans` and `look` to start, and importing all modules takes a tenth of a second.
    """
    if command == "serve":
        from engine.serve import process

        return (process,)
    if command == "plans":
        from engine.commands import plan

        return (plan,)
    if command == "remote":
        from engine.remote import process as remote

        return (remote,)
    if command == "look":
        from engine.commands import look

        return (look,)
    if command == "devices":
        from engine.commands import devices

        return (devices,)
    if command == "recognise":
        from engine.commands import recognise

        return (recognise,)
    if command == "api":
        from engine.commands import api

        return (api,)
    from engine.commands import api, calibrate, chat, computer, devices, look, plan
    from engine.remote import process as remote
    from engine.serve import process

    return (process, remote, chat, api, calibrate, plan, look, devices, computer)


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name and return its exit code."""
    # Only now: what this brings along starts threads, and takes half a second.
    from common.engine_program import PROGRAM
    from common.failures import Failure

    arguments = sys.argv[1:] if arguments is None else arguments
    top = argparse.ArgumentParser(prog=PROGRAM, description="Chickadee's engine.")
    commands = top.add_subparsers(dest="command", required=True)
    for module in modules_for(arguments[0] if arguments else ""):
        module.add(commands)
    options = top.parse_args(arguments)
    try:
        return int(options.run(options))
    except Failure as failure:
        return _print_error(failure.terminal_text)
    except ValueError as error:  # an option that no dataclass accepts; its text is a sentence
        return _print_error(f"{str(error)[:1].upper()}{str(error)[1:]}.")


def _print_error(sentence: str) -> int:
    from engine.commands.terminal import print_error

    return print_error(sentence)


def start() -> int:
    """Set this process's environment, give up the rights that it does not need, and run the command line's command."""
    if sys.argv[1:2] != ["api"]:  # starts at once: the engine that it starts computes, and gives up rights
        start_with_environment()  # before all other imports, because it may execute this program again
        from engine.rights import confine_engine

        confine_engine(sys.argv[1:])
    from models.terminal import run_command

    return run_command(main)


if __name__ == "__main__":
    sys.exit(start())
