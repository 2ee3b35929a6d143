"""`python -m engine remote`: the engine's protocol on stdin and stdout, with servers that compute the answers."""

from __future__ import annotations

import argparse

from engine.protocol.lines import claim_stdout
from engine.remote.engine import RemoteEngine
from engine.rights import connections_forbidden
from engine.serve.process import speak_protocol, start_logging


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("remote", help="speak the protocol on stdin and stdout, for models on servers")
    parser.set_defaults(run=lambda _options: serve())


def serve() -> int:
    """Ask servers until the input ends; return the exit code."""
    output = claim_stdout()
    start_logging()
    return speak_protocol(RemoteEngine(connections_forbidden()), output)
