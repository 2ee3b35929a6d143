"""`python -m engine serve`: the engine's process, with its priority and its log.

stdout carries the protocol and nothing else. Everything that prints (C library, Python, a template) prints to stderr,
which the window writes to its log.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from typing import BinaryIO

from common.confinement import limits, problems
from common.log_format import PrivateFormatter, traceback_of
from engine.base import BaseEngine
from engine.machine import lower_priority
from engine.protocol.lines import claim_stdout
from engine.rights import add_read_option
from engine.serve.server import EngineServer

log = logging.getLogger("engine.serve")
NICE = 5  # during prefill 3 to 10 of 700 wheel steps in the window missed a frame; with this niceness none did


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `python -m engine serve`."""
    parser = commands.add_parser("serve", help="speak the protocol on stdin and stdout (for the window)")
    add_read_option(parser)
    parser.set_defaults(run=lambda _options: serve())


def serve() -> int:
    """Compute answers until the input ends; return the exit code."""
    output = claim_stdout()
    lower_priority(NICE)
    start_logging()
    from engine.engine import Engine  # imported after stdout is claimed, because imports may print

    return speak_protocol(Engine(), output)


def speak_protocol(engine: BaseEngine, output: BinaryIO) -> int:
    """Answer the requests on stdin until the input ends; return the exit code."""
    log.info("refused to this process: %s %s", ", ".join(limits()) or "nothing", "; ".join(problems()))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the window's business
    try:
        EngineServer(engine, sys.stdin.buffer, output).run()
    except BrokenPipeError:
        log.info("the window is gone")
    finally:
        engine.close()
    return 0


def start_logging() -> None:
    """Log to stderr, which the window writes into a file; uncaught exceptions too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrivateFormatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    sys.excepthook = lambda _kind, error, _trace: log.critical("bug:\n%s", traceback_of(error))
    threading.excepthook = lambda end: log.critical("bug:\n%s", traceback_of(end.exc_value) if end.exc_value else "")
