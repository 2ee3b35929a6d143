"""`python -m benchmarks.api`: what the local API costs, compared with the engine alone, in turns.

Prints the decode speed of both, the time to the first byte beyond the engine's own, and how evenly 1, 4 and 16 clients
at once are served. Both use an engine process of the same kind and the same greedy prompts.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.engine_program import engine_command
from common.paths import path_text
from engine.protocol.events import ENDS, Finished, PrefillProgress
from engine.protocol.lines import decode_event, encode
from engine.protocol.requests import Generate, Load, Message, Request, Sampling
from models.default import default_model
from models.readable_files import readable_files

GREEDY = Sampling(temperature=0, repeat_penalty=1)


@dataclass(frozen=True, slots=True)
class Measured:
    """One answer: seconds to the first byte, and decode speed in tokens/s."""

    first: float
    rate: float


class EngineAlone:
    """An engine process with a model, asked through its protocol."""

    def __init__(self, model: Path) -> None:
        command = [*engine_command("serve"), *readable_files([model]).arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0
        for _ in self._events(Load(0, path_text(model))):
            pass

    def answer(self, words: str, tokens: int) -> Measured:
        begun = time.perf_counter()
        first = 0.0
        messages = (Message("user", words),)
        for event in self._events(Generate(0, messages, GREEDY, tokens)):
            if not first and isinstance(event, PrefillProgress):
                first = time.perf_counter() - begun
            if isinstance(event, Finished):
                numbers = event.statistics
                return Measured(first, numbers.decode_tokens / numbers.decode_seconds)
        raise SystemExit("the engine gave no answer")

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _events(self, request: Request) -> Iterator[Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._id += 1
        self._process.stdin.write(encode(replace(request, id=self._id)))
        self._process.stdin.flush()
        for line in self._process.stdout:
            event = decode_event(line)
            if event.id == self._id:
                yield event
                if isinstance(event, ENDS):
                    return


@contextmanager
def served(model: Path) -> Iterator[int]:
    """Start the API and yield its port."""
    command = [*engine_command("api"), "--port", "0", "--model", path_text(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout
        found = re.search(r":(\d+)\.", server.stdout.readline())
        if not found:
            raise SystemExit("the API did not start")
        yield int(found[1])
        server.terminate()


def ask_api(port: int, words: str, tokens: int, client: str = "") -> Measured:
    body = {
        "messages": [{"role": "user", "content": words}], "max_tokens": tokens, "temperature": 0,
        "repeat_penalty": 1, "stream": True, "store": False, "user": client,
    }  # fmt: skip
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        begun = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = connection.getresponse()
        response.readline()
        first = time.perf_counter() - begun
        lines = [line for line in response if line.startswith(b"data: {")]
    timings = json.loads(lines[-1].removeprefix(b"data: "))["timings"]
    return Measured(first, timings["predicted_per_second"])


def compare(model: Path, tokens: int, rounds: int) -> None:
    alone = EngineAlone(model)
    with served(model) as port, closing(alone):
        pairs = []
        for number in range(rounds + 1):
            words = f"Write a story about the number {number}."
            if number % 2:  # either one goes first in turn
                pairs.append((alone.answer(words, tokens), ask_api(port, words, tokens)))
            else:
                api = ask_api(port, words, tokens)
                pairs.append((alone.answer(words, tokens), api))
        pairs = pairs[1:]  # the first round warms both up
        ratio = statistics.median(api.rate / engine.rate for engine, api in pairs)
        later = statistics.median(api.first - engine.first for engine, api in pairs)
        print(f"decode speed: {ratio:.3f} × the engine's (median of {rounds} pairs)")
        print(f"first byte: {later * 1000:+.1f} ms beyond the engine's")
        for clients in (1, 4, 16):
            print(f"{clients:2} clients: {fairness(port, clients, tokens)}")


def fairness(port: int, clients: int, tokens: int) -> str:
    """Have each client ask three times in a row; return how far apart the clients' last answers are."""

    def client(number: int) -> float:
        for turn in range(3):
            ask_api(port, f"Client {number}, question {turn}.", tokens, str(number))
        return time.perf_counter()

    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        ends = [end - begun for end in pool.map(client, range(clients))]
    return f"first done after {min(ends):.1f} s, last after {max(ends):.1f} s ({max(ends) / min(ends):.2f} ×)"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.api", description="What the local API costs.")
    parser.add_argument("--model", type=Path, default=None, help="GGUF file (default: the built-in model)")
    parser.add_argument("--tokens", type=int, default=64, help="length of the answers (default: 64)")
    parser.add_argument("--rounds", type=int, default=10, help="pairs of answers (default: 10)")
    options = parser.parse_args()
    compare(options.model or default_model(), options.tokens, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
