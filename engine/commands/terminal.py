"""An answer on the terminal: streamed, traced, reported in numbers. Knows no command line."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any

import msgspec

from engine.protocol import Finished, Generate, ModelInfo, PrefillProgress, Text, Trace

if TYPE_CHECKING:
    from engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as the terminal needs it."""

    text: str
    end: Finished


def complain(sentence: str) -> int:
    print(f"chickadee: {sentence}", file=sys.stderr)
    return 2


class Output:
    """Where answers go: their text to stdout if `show`, their passes to the open file `trace`."""

    def __init__(self, show: bool, trace: IO[str] | None = None) -> None:
        self.show = show
        self.trace = trace
        self.progress = show and sys.stderr.isatty()

    def stream(self, engine: Engine, request: Generate) -> Answered:
        """Run the request to its end. Raises what `Engine.generate` raises."""
        parts = []
        for event in engine.generate(request):
            if isinstance(event, Text):
                parts.append(event.text)
                self._print(event.text)
            elif isinstance(event, PrefillProgress) and self.progress:
                note = f"reading {event.done:,} of {event.total:,} tokens" if event.done < event.total else ""
                print(f"\r\033[K{note}", end="", file=sys.stderr, flush=True)
            elif isinstance(event, Trace) and self.trace:
                self.trace.write(json.dumps(msgspec.to_builtins(event)) + "\n")
        self._print("\n")
        assert isinstance(event, Finished)
        return Answered("".join(parts), event)

    def _print(self, text: str) -> None:
        if self.show:
            print(text, end="", flush=True)


def report(answered: Answered, info: ModelInfo) -> dict[str, Any]:
    """The object that `--json` prints; its fields are an interface."""
    statistics = answered.end.statistics
    return {
        "text": answered.text,
        "tokens": list(answered.end.tokens),
        "prompt_tokens": statistics.prompt_tokens,
        "reused_tokens": statistics.reused_tokens,
        "prompt_seconds": statistics.prompt_seconds,
        "decode_tokens": statistics.decode_tokens,
        "decode_seconds": statistics.decode_seconds,
        "steps": statistics.steps,
        "stop_reason": statistics.stop_reason,
        "kv_policy": statistics.kv_policy,
        "fixed_tokens": statistics.context_tokens,
        "pending_tokens": statistics.pending_tokens,
        "recomputed_tokens": statistics.recomputed_tokens,
        "recompute_seconds": statistics.recompute_seconds,
        "drafted": statistics.drafted,
        "accepted": statistics.accepted,
        "drafters": {
            one.name: {name: value for name, value in asdict(one).items() if name != "name"}
            for one in statistics.drafters
        },
        "drafting_seconds": statistics.drafting_seconds,
        "verifying_seconds": statistics.verifying_seconds,
        "estimated_speedup": statistics.estimated_speedup,
        "model": info.path,
        "backend": info.backend,
    }


@contextmanager
def ctrl_c_stops(engine: Engine) -> Iterator[None]:
    """While the engine works, Ctrl-C sets its stop flag; while it waits for input, Ctrl-C is Python's own."""

    def on_interrupt(_signal: int, _frame: object) -> None:
        engine.stop.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def default_interrupt() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt within the block."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def describe(end: Finished) -> str:
    s = end.statistics
    read = s.prompt_tokens - s.reused_tokens
    drafts = f", {s.accepted:,} of {s.drafted:,} drafted tokens accepted" if s.drafted else ""
    return (
        f"prompt {s.prompt_tokens:,} tokens, {s.reused_tokens:,} re-used, {rate(read, s.prompt_seconds)}\n"
        f"answer {s.decode_tokens:,} tokens, {rate(s.decode_tokens, s.decode_seconds)}, {s.steps:,} steps{drafts}\n"
        f"context {s.context_tokens:,} of {s.n_ctx:,} tokens"
    )


def rate(tokens: int, seconds: float) -> str:
    return f"{tokens / seconds:,.1f} tok/s" if seconds > 0 else "–"
