"""Time to open a long chat again: read from the beginning, read ahead while the user types, or restored from the disk.

    python -m benchmarks.resume [--model M] [--tokens N] [--runs N] [--json]

Each run starts a fresh engine process. "Ready" is the time from opening the chat (Prepare) until its tokens are in the
KV cache; "first token" is the time from sending the next question until the answer's first text.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.command import benchmark_parser, print_json
from benchmarks.peers import GREEDY, OurEngine
from engine.protocol.events import WRITTEN, Prepared
from engine.protocol.requests import Generate, Message, Prepare
from engine.run_subprocess import set_environment

QUESTION = Message("user", "In one word: what were these notes about?")


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds, medians over the runs; `saved_bytes` is the size of the chat on the disk."""

    tokens: int
    saved_bytes: int
    ready_read: float
    ready_restored: float
    first_token_cold: float
    first_token_read_ahead: float
    first_token_restored: float


def main() -> None:
    parser = benchmark_parser("resume", __doc__)
    parser.add_argument("--tokens", type=int, default=4096, help="length of the chat, about")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CHICKADEE_CACHE_DIR"] = folder
        times = measure(options, Path(folder) / "chats")
    if options.json:
        print_json(times)
        return
    print(
        f"{options.model.name}, a chat of {times.tokens:,} tokens, {times.saved_bytes / 2**20:,.0f} MiB on the disk\n"
    )
    print(f"{'':28}{'read':>10}{'read ahead':>12}{'restored':>10}{'read / restored':>17}")
    ratio = times.ready_read / times.ready_restored
    print(f"{'opening to ready, s':28}{times.ready_read:10.3f}{'':12}{times.ready_restored:10.3f}{ratio:16.0f}×")
    ratio = times.first_token_cold / times.first_token_restored
    firsts = f"{times.first_token_cold:10.3f}{times.first_token_read_ahead:12.3f}{times.first_token_restored:10.3f}"
    print(f"{'sending to first token, s':28}{firsts}{ratio:16.0f}×")


def measure(options: argparse.Namespace, saved: Path) -> Times:
    history = notes(options.tokens)
    rows = []
    for _ in range(options.runs):
        with fresh(options) as engine:
            cold = first_token(engine, history, chat="")
        with fresh(options) as engine:
            ready, tokens = prepare(engine, history, chat="bench")
            ahead = first_token(engine, history, chat="bench")
            size = wait_for_save(saved)
        with fresh(options) as engine:
            restored, _ = prepare(engine, history, chat="bench")
            resumed = first_token(engine, history, chat="bench")
        rows.append((ready, restored, cold, ahead, resumed))
        for path in saved.iterdir():
            path.unlink()
    return Times(tokens, size, *(median(column) for column in zip(*rows, strict=True)))


def fresh(options: argparse.Namespace) -> OurEngine:
    return OurEngine(options.model, options.tokens * 2, options.threads)


def notes(tokens: int) -> tuple[Message, ...]:
    """Build a chat of about `tokens` tokens; a note is about 18 of them."""
    text = " ".join(
        f"Note {i}: the gardener saw {i % 7} small birds near the old bridge today." for i in range(tokens // 18)
    )
    return (Message("user", text), Message("assistant", "I have read your notes about the birds."))


def prepare(engine: OurEngine, history: tuple[Message, ...], chat: str) -> tuple[float, int]:
    started = time.perf_counter()
    event = engine.ask(Prepare(4, history, chat))
    seconds = time.perf_counter() - started
    assert isinstance(event, Prepared)
    assert event.cached_tokens >= event.prompt_tokens
    return seconds, event.cached_tokens


def first_token(engine: OurEngine, history: tuple[Message, ...], chat: str) -> float:
    started = time.perf_counter()
    for event in engine.stream(Generate(5, (*history, QUESTION), GREEDY, max_tokens=4, chat=chat)):
        if isinstance(event, WRITTEN):
            seconds = time.perf_counter() - started
            break
    engine.finish()
    return seconds


def wait_for_save(folder: Path) -> int:
    """Wait until the engine has saved the chat in idle time, and return the bytes of its keys and values."""
    for _ in range(300):
        if list(folder.glob("*.json")):
            return sum(path.stat().st_size for path in folder.glob("*.kv"))
        time.sleep(0.1)
    raise SystemExit("the engine did not save the chat within 30 s")


if __name__ == "__main__":
    set_environment()
    main()
