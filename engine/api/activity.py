"""What the API does: requests under way and done, counted for `/metrics`, without anything of their contents."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

from engine.protocol.events import DeviceUse, Statistics
from engine.protocol.front import Served

# Sums over all answers, by their names in the metrics: what they count, and how much of it an answer has.
TOTALS: dict[str, tuple[str, Callable[[Statistics], float]]] = {
    "prompt_tokens": ("tokens of prompts", lambda numbers: numbers.prompt_tokens - numbers.unread_tokens),
    "cached_tokens": ("tokens of prompts that were cached", lambda numbers: numbers.reused_tokens),
    "prompt_seconds": ("time of reading prompts", lambda numbers: numbers.prompt_seconds),
    "generated_tokens": ("tokens of answers", lambda numbers: numbers.decode_tokens),
    "generated_seconds": ("time of writing answers", lambda numbers: numbers.decode_seconds),
    "drafted_tokens": ("tokens that were drafted and checked", lambda numbers: numbers.drafted),
    "accepted_tokens": ("drafted tokens that became part of an answer", lambda numbers: numbers.accepted),
}


class Activity:
    """All requests since the start, as numbers; `changed` is called when one begins or ends."""

    def __init__(self, changed: Callable[[Served], None] = lambda _served: None) -> None:
        self.changed = changed
        self.running: dict[int, Served] = {}
        self.requests: Counter[tuple[str, int]] = Counter()
        self.totals = {name: 0.0 if name.endswith("seconds") else 0 for name in TOTALS}
        self._last = 0

    def begin(self, client: str, method: str, path: str) -> Served:
        self._last += 1
        served = self.running[self._last] = Served(self._last, client, method, path)
        self.changed(served)
        return served

    def count(self, served: Served, numbers: Statistics) -> None:
        """Count an answer, as far as its prompt was read and it was written."""
        for name, (_, amount) in TOTALS.items():
            self.totals[name] += amount(numbers)
        served.prompt_tokens += numbers.prompt_tokens - numbers.unread_tokens
        served.tokens += numbers.decode_tokens

    def end(self, served: Served, status: int) -> None:
        served.status, served.seconds = status, time.time() - served.begun
        self.running.pop(served.number, None)
        self.requests[served.path, status] += 1
        self.changed(served)

    def metrics(self, waiting: int, busy: bool, devices: DeviceUse | None = None) -> str:
        """Return all numbers in Prometheus's text format; `devices`: what graphics processors do."""
        return "\n".join(self._lines(waiting, busy, devices)) + "\n"

    def _lines(self, waiting: int, busy: bool, devices: DeviceUse | None) -> Iterator[str]:
        yield from _help("requests_total", "counter", "HTTP requests by endpoint and status")
        for (path, status), number in sorted(self.requests.items()):
            yield f'chickadee_requests_total{{path="{path}",status="{status}"}} {number}'
        for name, text, value in (
            ("requests_running", "HTTP requests under way", len(self.running)),
            ("queue_waiting", "answers that wait for their turn", waiting),
            ("queue_running", "answers being computed", int(busy)),
        ):
            yield from _help(name, "gauge", text)
            yield f"chickadee_{name} {value}"
        if devices:
            labels = {"device": devices.used, "way": devices.way, "layers": devices.layers, "reason": devices.reason}
            shown = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())
            yield from _help("device_info", "gauge", "where the model is computed, and why")
            yield f"chickadee_device_info{{{shown}}} 1"
        for name, (text, _) in TOTALS.items():
            yield from _help(f"{name}_total", "counter", text)
            yield f"chickadee_{name}_total {self.totals[name]}"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _help(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP chickadee_{name} {text}.", f"# TYPE chickadee_{name} {kind}"
