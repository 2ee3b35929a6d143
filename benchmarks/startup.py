"""Time until the window is visible, its model loaded, an answer's first word there, and the engine's first token.

    python -m benchmarks.startup [--model M] [--bundle FOLDER] [--runs N] [--json]

The window starts as `make run` starts it, on a data folder of its own, offscreen if there is no display; its process
reports when the first frame is painted, while the engine loads beside it. "make run" is the whole command. With a
bundle (build/dist/chickadee, made by `make package`) the packaged programs start instead. "quick window" is the time
from the start of `--ask` until the running program has shown its quick window, for the first time and once more.
"ready" is the time until the window's model is loaded, and "first word" that from Enter to the answer's first word.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.command import benchmark_parser, print_json
from benchmarks.peers import OurEngine
from engine.protocol.events import WRITTEN
from engine.protocol.requests import Generate, Message

CHECKOUT = Path(__file__).resolve().parent.parent
QUESTION = (Message("user", "Say hello."),)
TARGETS = {
    "window": 0.8,
    "make run": 2.0,
    "packaged": 1.0,
    "ready": 1.2,
    "first word": 0.5,
    "first token": 3.0,
    "quick window": 0.3,
    "quick again": 0.3,
}
QUICK, ANSWERED = ("quick window", "quick again"), ("ready", "first word")
IDLE_SECONDS = 8.0  # until the model is loaded and the window has nothing to do
PATIENCE = 60


def main() -> None:
    parser = benchmark_parser("startup", __doc__)
    parser.add_argument("--bundle", type=Path, help="the folder of packaged programs to start")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    program = options.bundle.resolve() / "chickadee-engine" if options.bundle else None
    seconds: dict[str, list[float]] = {name: [] for name in (*commands(options), *QUICK, "loaded", "first token")}
    seconds |= {name: [] for name in ANSWERED if not options.bundle}
    for _ in range(options.runs):
        for name, command in commands(options).items():
            seconds[name].append(window(command))
        for name, shown in zip(QUICK, quick(next(iter(commands(options).values()))), strict=True):
            seconds[name].append(shown)
        for name, taken in (answered(options.model) if not options.bundle else {}).items():
            seconds[name].append(taken)
        loaded, first = engine(options.model, program)
        seconds["loaded"].append(loaded)
        seconds["first token"].append(first)
    report(options, seconds)


def commands(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the commands that open the window, by the names of TARGETS."""
    if options.bundle:
        return {"packaged": [str(options.bundle.resolve() / "chickadee"), "--model", str(options.model)]}
    return {
        "window": [sys.executable, "-m", "app", "--model", str(options.model)],
        "make run": ["make", "run", f"ARGS=--model {options.model}"],
    }


def report(options: argparse.Namespace, seconds: dict[str, list[float]]) -> None:
    if options.json:
        print_json({name: {"min": min(row), "median": median(row)} for name, row in seconds.items()})
        return
    print(f"{options.model.name}, {options.runs} runs; seconds from the start of the process\n")
    print(f"{'':14}{'min':>8}{'median':>8}{'target':>8}")
    for name, row in seconds.items():
        target = f"{TARGETS[name]:8.1f}" if name in TARGETS else ""
        print(f"{name:14}{min(row):8.2f}{median(row):8.2f}{target}")


def window(command: list[str]) -> float:
    """Return the seconds from the start of the command's process to the window's first frame."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.time()
        with running(command, folder) as process:
            return wait_for(Path(folder) / "first-frame", process) - started


def quick(command: list[str]) -> tuple[float, float]:
    """Return the seconds from the start of `--ask` until the running program's quick window is shown, twice.

    The second time the window is there already, hidden or not.
    """
    with tempfile.TemporaryDirectory() as folder, running(command, folder) as process:
        wait_for(Path(folder) / "first-frame", process)
        time.sleep(IDLE_SECONDS)
        return ask(command, folder, process), ask(command, folder, process)


def answered(model: Path) -> dict[str, float]:
    """Return the seconds until the window's model is loaded, and from Enter to the first word, by ANSWERED."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.first_word", str(time.time()), folder, str(model)]
        done = subprocess.run(command, cwd=CHECKOUT, env=environment(folder), capture_output=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def ask(command: list[str], folder: str, process: subprocess.Popen[bytes]) -> float:
    """Return the seconds that one `--ask` takes until the quick window is shown."""
    report = Path(folder) / "first-framequick"
    report.unlink(missing_ok=True)
    started = time.time()
    subprocess.run([*command[: command.index("--model")], "--ask"], cwd=CHECKOUT, env=environment(folder), check=True)
    return wait_for(report, process) - started


def environment(folder: str) -> dict[str, str]:
    """Return the environment of a program on a data folder of its own that reports its first frames."""
    settings = {"CHICKADEE_DATA_DIR": folder, "CHICKADEE_CACHE_DIR": folder}
    settings["CHICKADEE_FIRST_FRAME"] = str(Path(folder) / "first-frame")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        settings["QT_QPA_PLATFORM"] = "offscreen"
    return os.environ | settings


@contextlib.contextmanager
def running(command: list[str], folder: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, cwd=CHECKOUT, env=environment(folder), start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)
        time.sleep(0.5)  # until the engine has ended too


def wait_for(report: Path, process: subprocess.Popen[bytes]) -> float:
    """Wait for the report of the first frame and return when it was painted, in Unix seconds."""
    until = time.time() + PATIENCE
    while not report.exists():
        if process.poll() is not None or time.time() > until:
            raise SystemExit("the window was not seen")
        time.sleep(0.01)
    return float(report.read_text(encoding="utf-8"))


def engine(model: Path, program: Path | None) -> tuple[float, float]:
    """Return the seconds from the engine's start until the model is loaded, and until the first text of an answer."""
    started = time.perf_counter()
    with OurEngine(model, None, None, program=program) as ours:
        loaded = ours.start_seconds
        for event in ours.stream(Generate(3, QUESTION, max_tokens=4)):
            if isinstance(event, WRITTEN):
                first = time.perf_counter() - started
                break
        ours.finish()
    return loaded, first


if __name__ == "__main__":
    main()
