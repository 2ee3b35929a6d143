"""Does a model fit into this computer's memory? Asks the engine's planner, a program of its own; knows no plan itself.

Questions and answers are lines of JSON: `python -m engine plans` reads the one and prints the other.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from models.byte_sizes import show_bytes
from models.estimate import Estimate
from models.reach import reach

log = logging.getLogger(__name__)
CHECKOUT = Path(__file__).resolve().parent.parent
NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows would open one beside the app, which has none
Key = TypeVar("Key", bound=Hashable)


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """About the file at `path`, or about `estimate`; the rest are wishes, None and auto leave them to the planner.

    `backend` is one of the engine's names for its libraries, `kv_mode` for ways to keep keys and values. `freed_bytes`:
    what unloading the model that is loaded now gives back.
    """

    id: int = 0
    path: str | None = None
    estimate: Estimate | None = None
    n_ctx: int | None = None
    kv_type: Literal["f16", "q8_0", "q4_0"] | None = None
    threads: int | None = None
    memory_bytes: int | None = None
    freed_bytes: int = 0
    draft: str | None = None
    backend: str | None = None
    flash_attention: Literal["auto", "on", "off"] = "auto"
    kv_mode: str | None = None
    kv_share: float | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """`parts`: bytes by name, `total_bytes` together, with the context full. `exact`: planned from the file itself.

    `speed`: tokens per second of plain decoding, as it was timed here with this library, threads and type of keys and
    values; 0 where it was not. `problem`: the sentence that says why there is no plan."""

    id: int = 0
    verdict: Literal["fits", "tight", "no", "unknown"] = "unknown"
    total_bytes: int = 0
    available_bytes: int = 0
    n_ctx: int = 0
    max_n_ctx: int = 0
    kv_type: str = ""
    threads: int = 0
    backend: str = ""
    parts: dict[str, int] = {}
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exact: bool = False
    speed: float = 0.0
    problem: str = ""

    @property
    def sentence(self) -> str:
        """'fits: 1.42 GiB with 32,768 tokens'; 'about' where it is an estimate."""
        if self.verdict == "unknown":
            return self.problem
        about = "" if self.exact else "about "
        if self.verdict == "no":
            most = f"; {self.max_n_ctx:,} tokens would" if self.max_n_ctx else ""
            return f"does not fit: {about}{show_bytes(self.total_bytes)} needed{most}"
        return f"{self.verdict}: {about}{show_bytes(self.total_bytes)} with {self.n_ctx:,} tokens"


def planner_command() -> list[str]:
    """Program and arguments that start the planner: from the checkout, or the executable beside a packaged app."""
    if getattr(sys, "frozen", False):
        suffix = ".exe" if sys.platform == "win32" else ""
        return [str(Path(sys.executable).with_name(f"chickadee-engine{suffix}")), "plans"]
    return [sys.executable, "-m", "engine", "plans"]


def verdicts(asked: Mapping[Key, Ask]) -> Iterator[tuple[Key, Verdict]]:
    """The answers in the order of the questions, each as soon as it is there; none if the planner cannot start."""
    if not asked:
        return
    lines = [msgspec.json.encode(ask) + b"\n" for ask in asked.values()]
    try:
        process = subprocess.Popen(
            [*planner_command(), *reach(file for ask in asked.values() for file in (ask.path, ask.draft)).arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=NO_CONSOLE,
            cwd=None if getattr(sys, "frozen", False) else CHECKOUT,
        )
    except OSError as error:
        log.warning("the planner cannot start: %s", error)
        return
    with process:
        assert process.stdin
        assert process.stdout
        try:
            for key, line in zip(asked, lines, strict=True):
                process.stdin.write(line)
                process.stdin.flush()
                yield key, _answer(process.stdout.readline())
        except BrokenPipeError:
            log.warning("the planner ended early")
        finally:
            process.kill()


def _answer(line: bytes) -> Verdict:
    try:
        return msgspec.json.decode(line, type=Verdict)
    except msgspec.MsgspecError as error:
        log.warning("the planner said %.200r: %s", line, error)
        return Verdict(problem="Whether it fits could not be worked out; the log has the details.")
