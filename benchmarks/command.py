"""The command line that most benchmarks share: the model, JSON in place of a table, and Ctrl-C."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable
from typing import Literal

import msgspec

from common.failures import Failure
from common.paths import path_of
from engine.commands.terminal import notes_to_stderr
from engine.stop import StopFlag, Stopped
from models.default import default_model


def benchmark_parser(
    name: str, text: str | None, models: Literal["none", "one", "many"] = "one"
) -> argparse.ArgumentParser:
    """Return a parser with `--model`, one file or several, and `--json`; `text` is the docstring of the benchmark."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=(text or "").splitlines()[0])
    help_text = "GGUF file (default: the built-in model)"
    if models == "one":
        parser.add_argument("--model", type=path_of, default=default_model(), metavar="FILE", help=help_text)
    elif models == "many":
        parser.add_argument(
            "--model", type=path_of, nargs="+", default=[default_model()], metavar="FILE", help=help_text
        )
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    return parser


def print_json(value: object) -> None:
    """Print a value that may contain dataclasses."""
    print(json.dumps(msgspec.to_builtins(value)))


def run_until_stopped(work: Callable[[StopFlag], None]) -> int:
    """Run `work` with a flag that Ctrl-C sets; return the exit code, after a sentence if it was stopped or failed."""
    notes_to_stderr()
    stop = StopFlag()
    before = signal.signal(signal.SIGINT, lambda _signal, _frame: stop.set())
    try:
        work(stop)
    except Stopped:
        print("\nchickadee: Stopped.", file=sys.stderr)
        return 2
    except Failure as failure:
        print(f"chickadee: {failure}", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGINT, before)
    return 0
