"""`python -m engine remote`: the engine's protocol on stdin and stdout, with servers that compute the answers."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from typing import BinaryIO

from common.confinement import limits, problems
from common.failures import Failure
from engine.protocol.events import Event
from engine.protocol.lines import claim_stdout
from engine.protocol.requests import ListModels, Load, ReadPage, Request
from engine.remote.engine import RemoteEngine
from engine.rights import connections_forbidden
from engine.serve.process import start_logging
from engine.serve.server import Server

log = logging.getLogger("engine.remote")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("remote", help="speak the protocol on stdin and stdout, for models on servers")
    parser.set_defaults(run=lambda _options: serve())


def serve() -> int:
    """Speak the protocol until the input ends; return the exit code."""
    output = claim_stdout()
    start_logging()
    log.info("refused to this process: %s %s", ", ".join(limits()) or "nothing", "; ".join(problems()))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the window's business
    server = RemoteServer(RemoteEngine(connections_forbidden()), sys.stdin.buffer, output)
    try:
        server.run()
    except BrokenPipeError:
        log.info("the window is gone")
    finally:
        server.engine.close()
    return 0


class RemoteServer(Server):
    """A server of requests whose engine is a RemoteEngine: it lists models and fetches web pages, and reads no file."""

    def __init__(self, engine: RemoteEngine, input: BinaryIO, output: BinaryIO) -> None:
        super().__init__(engine, input, output)
        self._remote = engine

    def _dispatch(self, request: Request) -> None:
        if isinstance(request, ListModels):
            self.send(self._remote.list_models(request))
        elif isinstance(request, ReadPage):
            self.send(self._remote.read_page(request))
        else:
            super()._dispatch(request)

    def _load(self, request: Load) -> Event:
        """Use a server's model. What it says of a failure is left out, because the log gets a load's details."""
        try:
            return self._remote.load(request)
        except Failure as failure:
            raise Failure(failure.sentence) from failure
