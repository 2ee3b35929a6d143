"""Cost of the panel "Engine monitor" in decode speed: answers with and without the panel, in turn.

    python -m benchmarks.panel [--model M] [--tokens N] [--runs N] [--json]

First the engine alone, watched or not; then the real window with the real engine, its panel open or closed. The answer
is the same greedy one each time, without drafts. Answers alternate, so that a machine that changes its speed changes
both; `ratio` is the median of each pair's. `pulse` is the processor time of gathering the numbers, twice a second.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.folders import open_folders
from app.wiring import Chickadee
from benchmarks.turns import wait, wait_until
from engine.engine import Engine
from engine.generation.pulse import EVERY_SECONDS
from engine.protocol.events import Finished
from engine.protocol.requests import Generate, Load, Message, Sampling
from models.default import default_model

QUESTION = "Explain insertion sort, merge sort and quick sort, each with its steps."
SETTINGS = '[answer]\ntemperature = 0\nrepeat_penalty = 1\n[engine]\ndraft = "off"\n'
GREEDY = Sampling(temperature=0, repeat_penalty=1)
AFTER_MS = 300  # between answers: the window stores and lays out the answer
PULSES = 200


@dataclass(frozen=True, slots=True)
class Pair:
    """Decode speeds in tokens per second, medians; `ratio` is with over without."""

    without: float
    beside: float
    ratio: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.panel", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--runs", type=int, default=12, help="pairs of answers")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CHICKADEE_CACHE_DIR"] = folder
        engine, pulse = engine_alone(options.model, options.tokens, options.runs)
        window = whole_window(Path(folder), options.model, options.tokens, options.runs)
    if options.json:
        print(json.dumps({"engine": asdict(engine), "window": asdict(window), "pulse_seconds": pulse}))
        return
    print(f"{options.model.name}, {options.tokens} tokens, {options.runs} pairs; decode tokens per second\n")
    print(f"{'':16}{'without':>9}{'with':>9}{'ratio':>9}")
    for name, pair in (("engine, watched", engine), ("window, panel", window)):
        print(f"{name:16}{pair.without:9.1f}{pair.beside:9.1f}{pair.ratio:9.3f}")
    print(f"\npulse {pulse * 1e3:.2f} ms, {pulse / EVERY_SECONDS:.2%} of the time")


def engine_alone(model: Path, tokens: int, runs: int) -> tuple[Pair, float]:
    """Measure the engine without a window; return its speeds, and the processor seconds of one pulse."""
    with closing(Engine()) as engine:
        engine.load(Load(0, str(model), n_ctx=1024))

        def speed(watched: bool) -> float:
            engine.watch(watched)
            request = Generate(1, (Message("user", QUESTION),), GREEDY, tokens, draft="off")
            finished = [event for event in engine.generate(request) if isinstance(event, Finished)][-1]
            return finished.statistics.decode_tokens / finished.statistics.decode_seconds

        pair = in_turn(speed, runs)
        engine.watch(True)
        started = time.process_time()
        for _ in range(PULSES):
            engine.pulse()
        return pair, (time.process_time() - started) / PULSES


def whole_window(folder: Path, model: Path, tokens: int, runs: int) -> Pair:
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    folders = open_folders(folder)
    folders.settings.write_text(SETTINGS)
    chickadee = Chickadee(folders, model.absolute(), max_tokens=tokens)

    def speed(is_open: bool) -> float:
        if chickadee.chats.engine_monitor.panel.isHidden() == is_open:
            chickadee.chats.engine_monitor.toggle()
        chickadee.chats.chat.new()
        wait(AFTER_MS)
        chickadee.chats.drafts.send(QUESTION)
        conversation = chickadee.open_chats.current
        wait_until(lambda: bool(conversation.messages) and not conversation.busy)
        numbers = chickadee.engine.state.statistics
        assert numbers
        return numbers.decode_tokens / numbers.decode_seconds

    try:
        chickadee.window.resize(1280, 800)
        chickadee.window.show()
        chickadee.start()
        wait_until(lambda: chickadee.engine.state.phase == "ready")
        return in_turn(speed, runs)
    finally:
        chickadee.window.close()


def in_turn(speed: Callable[[bool], float], runs: int) -> Pair:
    """Measure pairs of runs with and without, alternating which comes first; a pair before them does not count."""
    pairs = []
    for run in range(runs + 1):
        measured = {way: speed(way) for way in ((False, True) if run % 2 else (True, False))}
        pairs.append((measured[False], measured[True]))
    without, beside = zip(*pairs[1:], strict=True)
    ratio = statistics.median(b / a for a, b in pairs[1:])
    return Pair(statistics.median(without), statistics.median(beside), ratio)


if __name__ == "__main__":
    main()
