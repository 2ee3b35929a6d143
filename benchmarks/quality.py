"""Agreement of both libraries on the same model: perplexity of texts, and how often both choose the same next token.

    python -m benchmarks.quality [--model M ...] [--tokens N] [--threads N] [--json]

Each library reads the same tokens in a process of its own, in windows and in passes of the size that it takes for
prompts, so that the kernels for large passes are judged. `margin`: how far the likeliest token was ahead of the second
one, as a part of the row's spread, where the libraries disagree; a near-tie has less than 0.01.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import benchmark_parser, print_json
from engine.commands.terminal import notes_to_stderr
from engine.loading.libraries import backend
from engine.machine import default_threads
from engine.protocol.requests import BackendName
from engine.run_subprocess import set_environment
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import Runtime
from engine.stop import StopFlag

TEXTS = Path(__file__).parent / "texts"
WINDOW = 1024  # tokens; each window begins with an empty cache
BOTH: tuple[BackendName, ...] = ("llama", "ik")
ROWS = 64  # rows of logits of a pass: a context has room for no more


@dataclass(frozen=True, slots=True)
class Reading:
    """Values at every position: -log p of the text's next token, the likeliest token, and its margin."""

    loss: NDArray[np.float64]
    best: NDArray[np.int64]
    margin: NDArray[np.float64]

    @property
    def perplexity(self) -> float:
        return float(np.exp(self.loss.mean()))


@dataclass(frozen=True, slots=True)
class Verdict:
    model: str
    tokens: int
    perplexity: dict[BackendName, float]
    same_choice: float  # share of positions
    margins: tuple[float, float]  # where the choices differ: median and largest


def main() -> None:
    parser = benchmark_parser("quality", __doc__, models="many")
    parser.add_argument(
        "--tokens", type=int, default=4096, help="how many tokens of the texts are read (default: 4096)"
    )
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--read", choices=BOTH, help=argparse.SUPPRESS)  # for the process of each library
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    notes_to_stderr()
    if options.read:
        reading = read(options.read, options.model[0], options.tokens, options.threads)
        np.savez(options.to, **asdict(reading))
        return
    verdicts = [judge(model, options.tokens, options.threads) for model in options.model]
    if options.json:
        print_json(verdicts)
    else:
        print(table(verdicts))


def judge(model: Path, tokens: int, threads: int) -> Verdict:
    llama, ik = (read_apart(name, model, tokens, threads) for name in BOTH)
    same = llama.best == ik.best
    apart = llama.margin[~same]
    margins = (float(np.median(apart)), float(apart.max())) if len(apart) else (0.0, 0.0)
    perplexities: dict[BackendName, float] = {"llama": llama.perplexity, "ik": ik.perplexity}
    return Verdict(model.name, len(same), perplexities, float(same.mean()), margins)


def read_apart(name: BackendName, model: Path, tokens: int, threads: int) -> Reading:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reading.npz"
        command = [sys.executable, "-m", "benchmarks.quality", "--read", name, "--to", str(file), "--model", str(model)]
        subprocess.run([*command, "--tokens", str(tokens), "--threads", str(threads)], check=True)
        with np.load(file) as arrays:
            return Reading(**arrays)


def read(name: BackendName, path: Path, count: int, threads: int) -> Reading:
    library = backend(name)
    with closing(library.load(path)) as model:
        options = ContextOptions(n_ctx=WINDOW, threads=threads, max_logits=ROWS)
        with closing(library.target(model, options, StopFlag())) as target:
            text = "\n\n".join(file.read_text() for file in sorted(TEXTS.glob("*.txt")))
            tokens = model.vocabulary.tokenize(text, special=False)[:count]
            rows = [
                row for begin in range(0, len(tokens), WINDOW) for row in window(target, tokens[begin : begin + WINDOW])
            ]
    loss, best, margin = zip(*rows, strict=True)
    return Reading(np.array(loss), np.array(best), np.array(margin))


def window(target: Runtime, tokens: list[int]) -> list[tuple[float, int, float]]:
    """Return loss, likeliest token and margin after each token but the last."""
    target.truncate(0)
    measured = []
    size = min(ROWS, target.max_logits, target.max_batch)
    for begin in range(0, len(tokens) - 1, size):
        part = tokens[begin : begin + size]
        logits = target.forward(part, len(part))
        following = tokens[begin + 1 : begin + size + 1]
        measured += [measures(logits.row(i), token) for i, token in enumerate(following)]
    return measured


def measures(row: NDArray[np.float32], token: int) -> tuple[float, int, float]:
    second, first = np.partition(row, -2)[-2:]
    loss = float(np.log(np.exp(row - first, dtype=np.float64).sum()) + first - row[token])
    return loss, int(row.argmax()), float((first - second) / (first - row.min()))


def table(verdicts: list[Verdict]) -> str:
    lines = [f"{'model':44}{'tokens':>8}{'llama.cpp':>11}{'ik_llama':>11}{'ratio':>8}{'same':>8}{'margin':>17}"]
    for v in verdicts:
        llama, ik = v.perplexity["llama"], v.perplexity["ik"]
        margins = f"{v.margins[0]:.4f} … {v.margins[1]:.4f}"
        lines.append(
            f"{v.model:44}{v.tokens:8}{llama:11.3f}{ik:11.3f}{ik / llama:8.4f}{v.same_choice:8.2%}{margins:>17}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    set_environment()
    main()
