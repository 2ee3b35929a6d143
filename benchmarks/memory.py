"""Planned and measured peak memory of an engine process, for small and large contexts.

    python -m benchmarks.memory [--model M ...] [--ctx N ...] [--backend llama|ik] [--json]

A fresh engine loads the model with each context as its limit. Its KV cache starts small, so the chat must become long:
a first message fills the size class before the last, and a second one makes the cache grow to the limit, which is the
moment of most memory, because its content is moved. A context larger than the model was trained for is cut to the
trained size, as the engine does.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.command import benchmark_parser, print_json
from benchmarks.peers import GREEDY, OurEngine
from common.planning import KEPT_CHATS
from engine.costs.profile import machine_profile
from engine.loading.libraries import BACKENDS
from engine.protocol.requests import BackendName, Generate, Message
from engine.run_subprocess import set_environment
from engine.runtime.contexts import ANSWER_ROOM, SMALLEST_CACHE, size_class

MIB = 1 << 20
CONTEXTS = (2048, 8192, 32768)
TEMPLATE_AND_ANSWER = 128  # tokens: more than a template and the answer take
ANSWER = 8  # tokens


@dataclass(frozen=True, slots=True)
class Peak:
    """Planned and measured peak bytes of one engine process. `parts` are the plan's."""

    model: str
    n_ctx: int
    planned: int
    measured: int
    parts: dict[str, int]

    @property
    def ratio(self) -> float:
        return self.planned / self.measured


def main() -> None:
    parser = benchmark_parser("memory", __doc__, models="many")
    parser.add_argument("--ctx", type=int, nargs="+", default=CONTEXTS)
    parser.add_argument(
        "--backend", choices=BACKENDS, default="llama", help="the library that computes (default: llama)"
    )
    options = parser.parse_args()
    machine_profile()  # stored now, so that no engine measures it between the answers
    peaks: dict[tuple[str, int], Peak] = {}
    for model in options.model:
        for n_ctx in options.ctx:
            known = {n for name, n in peaks if name == model.name}
            peak = measure(model, n_ctx, known, options.backend)
            if peak:
                peaks[model.name, peak.n_ctx] = peak
                if not options.json:
                    print(row(peak), flush=True)
    if options.json:
        print_json([asdict(peak) | {"ratio": peak.ratio} for peak in peaks.values()])


def measure(model: Path, n_ctx: int, known: set[int], backend: BackendName) -> Peak | None:
    """Load the model, fill its cache and measure; return None if its limit of context is among the `known` ones."""
    with OurEngine(model, n_ctx, None, backend=backend) as engine:
        limit = engine.model.n_ctx
        if limit in known:
            return None
        fill(engine, limit)
        planned = sum(engine.model.plan.values()) - engine.model.plan.get(KEPT_CHATS, 0)  # only one chat is asked
        return Peak(model.name, limit, planned, peak_bytes(engine.pid), dict(engine.model.plan))


def fill(engine: OurEngine, limit: int) -> None:
    """Fill the size class below `limit`, then make the engine's cache grow to `limit` tokens."""
    before = SMALLEST_CACHE
    while (larger := size_class(before + 1, limit)) < limit:
        before = larger
    chat = [Message("user", " word" * (before - ANSWER_ROOM - TEMPLATE_AND_ANSWER))]
    answer(engine, chat)
    answer(
        engine, [*chat, Message("assistant", "word"), Message("user", " word" * (ANSWER_ROOM + TEMPLATE_AND_ANSWER))]
    )


def answer(engine: OurEngine, messages: list[Message]) -> None:
    engine.ask(Generate(3, tuple(messages), GREEDY, ANSWER, kv_policy="always", draft="off"))


def peak_bytes(pid: int) -> int:
    """Return the most memory that the process ever had resident; its current memory if the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert match
        return int(match[1]) << 10
    info = psutil.Process(pid).memory_info()
    return int(getattr(info, "peak_wset", info.rss))


def row(peak: Peak) -> str:
    return (
        f"{peak.model:45.45} {peak.n_ctx:6,} tokens  planned {peak.planned / MIB:6,.0f} MiB"
        f"  measured {peak.measured / MIB:6,.0f} MiB  ratio {peak.ratio:.3f}"
    )


if __name__ == "__main__":
    set_environment()
    main()
