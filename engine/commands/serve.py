"""`python -m engine serve`: the engine for the window."""

from __future__ import annotations

import argparse

from models.reach import READ


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("serve", help="speak the protocol on stdin and stdout (for the window)")
    add_read(parser)
    parser.set_defaults(run=run)


def add_read(parser: argparse.ArgumentParser) -> None:
    """`engine.rights` has seen to it before the commands are known."""
    parser.add_argument(
        READ, action="append", metavar="PATH", help="a file outside of the model folders that may be read"
    )


def run(_options: argparse.Namespace) -> int:
    from engine.serve import serve

    return serve()
