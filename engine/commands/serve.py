"""`python -m engine serve`: the engine for the window."""

from __future__ import annotations

import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("serve", help="speak the protocol on stdin and stdout (for the window)")
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    from engine.serve import serve

    return serve()
