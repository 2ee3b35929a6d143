"""What the API does: requests under way and done, counted for `/metrics`, without anything of their contents."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

from engine.protocol.events import Statistics
from engine.protocol.front import Served


class Activity:
    """All requests since the start, as numbers; `changed` is called when one begins or ends."""

    def __init__(self, changed: Callable[[Served], None] = lambda _served: None) -> None:
        self.changed = changed
        self.running: dict[int, Served] = {}
        self.requests: Counter[tuple[str, int]] = Counter()
        self.prompt_tokens = self.cached_tokens = self.tokens = self.drafted = self.accepted = 0
        self.prompt_seconds = self.decode_seconds = 0.0
        self._last = 0

    def begin(self, client: str, method: str, path: str) -> Served:
        self._last += 1
        served = self.running[self._last] = Served(self._last, client, method, path)
        self.changed(served)
        return served

    def count(self, served: Served | None, numbers: Statistics) -> None:
        """Count an answer."""
        self.prompt_tokens += numbers.prompt_tokens
        self.cached_tokens += numbers.reused_tokens
        self.tokens += numbers.decode_tokens
        self.drafted += numbers.drafted
        self.accepted += numbers.accepted
        self.prompt_seconds += numbers.prompt_seconds
        self.decode_seconds += numbers.decode_seconds
        if served:
            served.prompt_tokens += numbers.prompt_tokens
            served.tokens += numbers.decode_tokens

    def end(self, served: Served, status: int) -> None:
        served.status, served.seconds = status, time.time() - served.begun
        self.running.pop(served.number, None)
        self.requests[served.path, status] += 1
        self.changed(served)

    def metrics(self, waiting: int, busy: bool) -> str:
        """Return all numbers in Prometheus's text format."""
        return "\n".join(self._lines(waiting, busy)) + "\n"

    def _lines(self, waiting: int, busy: bool) -> Iterator[str]:
        yield from _help("requests_total", "counter", "HTTP requests by endpoint and status")
        for (path, status), number in sorted(self.requests.items()):
            yield f'chickadee_requests_total{{path="{path}",status="{status}"}} {number}'
        for name, kind, text, value in (
            ("requests_running", "gauge", "HTTP requests under way", len(self.running)),
            ("queue_waiting", "gauge", "answers that wait for their turn", waiting),
            ("queue_running", "gauge", "answers being computed", int(busy)),
            ("prompt_tokens_total", "counter", "tokens of prompts", self.prompt_tokens),
            ("cached_tokens_total", "counter", "tokens of prompts that were cached", self.cached_tokens),
            ("prompt_seconds_total", "counter", "time of reading prompts", self.prompt_seconds),
            ("generated_tokens_total", "counter", "tokens of answers", self.tokens),
            ("generated_seconds_total", "counter", "time of writing answers", self.decode_seconds),
            ("drafted_tokens_total", "counter", "tokens that were drafted and checked", self.drafted),
            ("accepted_tokens_total", "counter", "drafted tokens that became part of an answer", self.accepted),
        ):
            yield from _help(name, kind, text)
            yield f"chickadee_{name} {value}"


def _help(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP chickadee_{name} {text}.", f"# TYPE chickadee_{name} {kind}"
