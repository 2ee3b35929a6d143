"""What lossy keys and values cost and save: perplexity, copying from far back, bytes, decode speed, memory.

    python -m benchmarks.kv_quality --model M [--modes merged:0.25 …] [--windows N] [--depths 2048 …] [--json]

Every way computes the same windows of held-out text, prose and code, as one chat each, in a process of its own. The
price is the ratio of perplexities to the exact cache's, with its standard error over windows. The probe repeats a
passage after some thousand tokens of other text: perplexity of its second occurrence. q8_0 is llama.cpp's cache.
Heads must have been ranked before (`python -m engine rank-heads`); a way that lacks it is named and left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.quality import measures
from engine.backend import Backend, backend
from engine.capi.context import ContextOptions
from engine.capi.model import CModel
from engine.huge_pages import start_with_huge_pages
from engine.kv_mode import EXACT, KVMode, mode_of
from engine.machine import default_threads, resident_bytes
from engine.notes import notes_to_stderr
from engine.protocol import KVModeName
from engine.stop import StopFlag
from engine.target import Target
from models.default import default_model
from models.failures import Failure

ROOT = Path(__file__).parent.parent
CODE = ("engine", "models")  # our own files, but those that heads are ranked on
RANKED_ON = ("session.py", "decode.py")
WINDOW, PASS = 2048, 64  # tokens
PASSAGE, FILLER = 128, 1664  # tokens of the probe
Q8 = "q8_0"
WAYS = ["merged:0.25", "merged:0.5", "merged:0.75", "window:0.25", "window:0.5", "window:0.75", "published:0.25", Q8]


@dataclass(frozen=True, slots=True)
class Found:
    """Of one way: mean loss of each window by kind of text, loss of the repeated passage, bytes at the end of a window;
    by depth tokens per second of decoding, bytes of keys and values and of resident memory."""

    loss: dict[str, list[float]]
    probe: float
    kv_bytes: int
    speed: dict[int, float]
    deep_bytes: dict[int, int]
    rss: dict[int, int]


def main() -> None:
    options = parse()
    notes_to_stderr()
    if options.way:
        print(json.dumps(asdict(measure(options, options.way))))
        return
    found: dict[str, dict[str, Any]] = {}
    for way in ["exact", *options.modes]:
        done = run_apart(way)
        if done is not None:
            found[way] = done
    print(json.dumps(found) if options.json else table(options.model, found))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kv_quality", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--modes", nargs="+", default=WAYS, metavar="MODE:SHARE", help=f"also {Q8}")
    parser.add_argument("--windows", type=int, default=4, help="of 2,048 tokens each, of either kind of text")
    parser.add_argument("--depths", type=int, nargs="*", default=[2048, 8192, 16384])
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--way", help=argparse.SUPPRESS)  # what the processes of their own do
    return parser.parse_args()


def run_apart(way: str) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "benchmarks.kv_quality", *sys.argv[1:], "--way", way]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"{way}: left out", file=sys.stderr)
        return None
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(options: argparse.Namespace, way: str) -> Found:
    library, mode = backend("llama" if way == Q8 else "graph"), mode_for(way)
    with closing(library.load(options.model)) as model:
        texts = {kind: windows(model, text, options.windows) for kind, text in held_out().items()}
        with closing(open_target(library, model, WINDOW, mode, way, options.threads)) as target:
            loss = {kind: [read(target, window) for window in parts] for kind, parts in texts.items()}
            kv_bytes = target.state_bytes
            repeated = probe(target, texts["prose"][0])
        speed, deep, rss = {}, {}, {}
        for depth in options.depths:
            if model.n_ctx_train and depth > model.n_ctx_train:
                continue
            with closing(open_target(library, model, depth + 256, mode, way, options.threads)) as target:
                text = [token for part in texts["prose"] for token in part] * (1 + depth // WINDOW)
                list(target.prefill(text[:depth]))
                speed[depth], deep[depth], rss[depth] = decode_speed(target), target.state_bytes, resident_bytes()
    return Found(loss, repeated, kv_bytes, speed, deep, rss)


def mode_for(way: str) -> KVMode:
    name, _, share = way.partition(":")
    if name in ("exact", Q8):
        return EXACT
    known = next((known for known in get_args(KVModeName) if known == name), None)
    if known is None:
        raise SystemExit(f"no way to keep keys and values: {way}")
    return mode_of(known, float(share or 0.25))


def open_target(library: Backend, model: CModel, n_ctx: int, mode: KVMode, way: str, threads: int) -> Target:
    options = ContextOptions(n_ctx, threads, kv_type="q8_0" if way == Q8 else "f16", kv_mode=mode)
    return library.target(model, options, StopFlag())


def held_out() -> dict[str, str]:
    texts = (file.read_text("utf-8") for file in sorted((ROOT / "benchmarks/texts").glob("*.txt")))
    prose = [text for text in texts if not any(mark in text for mark in ("import ", "#include", "require("))]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    files = (file for folder in CODE for file in sorted((ROOT / folder).rglob("*.py")) if file.name not in RANKED_ON)
    code = "\n\n".join(file.read_text("utf-8") for file in files)
    return {"prose": "\n\n".join([*prose, *(page.read_text("utf-8") for page in pages)]), "code": code}


def windows(model: CModel, text: str, count: int) -> list[list[int]]:
    tokens = model.vocabulary.tokenize(text, special=False)
    return [tokens[i * WINDOW : (i + 1) * WINDOW] for i in range(min(count, len(tokens) // WINDOW))]


def read(target: Target, tokens: list[int]) -> float:
    """Mean loss of the second half of a window, read in passes as a prompt would be."""
    target.drop_after(0)
    return float(np.mean(losses(target, tokens)[len(tokens) // 2 :]))


def losses(target: Target, tokens: list[int]) -> list[float]:
    found = []
    for begin in range(0, len(tokens) - 1, PASS):
        part = tokens[begin : min(begin + PASS, len(tokens) - 1)]
        target.run(part, rows=len(part))
        following = tokens[begin + 1 : begin + 1 + len(part)]
        found += [measures(target.logits(i), token)[0] for i, token in enumerate(following)]
    return found


def probe(target: Target, tokens: list[int]) -> float:
    """Perplexity of a passage when it comes again; its first tokens, which nothing announces, do not count."""
    target.drop_after(0)
    passage = tokens[:PASSAGE]
    found = losses(target, [*passage, *tokens[PASSAGE : PASSAGE + FILLER], *passage])
    return float(np.exp(np.mean(found[-PASSAGE + 16 :])))


def decode_speed(target: Target, count: int = 24) -> float:
    """Tokens per second of the fastest single-token pass."""
    best = float("inf")
    for _ in range(count):
        started = time.perf_counter()
        target.run([300])
        float(target.logits(-1)[0])
        best = min(best, time.perf_counter() - started)
    return 1 / best


def table(model: Path, found: dict[str, dict[str, Any]]) -> str:
    exact = found["exact"]
    depths = list(exact["speed"])
    head = "".join(f"{f'KV {d}':>10}{f'tok/s {d}':>13}{f'RSS {d}':>11}" for d in depths)
    lines = [model.name, "", f"{'':16}{'prose':>16}{'code':>16}{'probe':>8}{'KV':>7}{head}"]
    for way, row in found.items():
        prices = "".join(price(row["loss"][kind], exact["loss"][kind]) for kind in ("prose", "code"))
        deep = "".join(
            f"{row['deep_bytes'][d] / exact['deep_bytes'][d]:10.2f}{row['speed'][d]:13.1f}{row['rss'][d] >> 20:7,} MiB"
            for d in depths
        )
        lines.append(f"{way:16}{prices}{row['probe']:8.2f}{row['kv_bytes'] / exact['kv_bytes']:7.2f}{deep}")
    return "\n".join(lines)


def price(loss: list[float], plain: list[float]) -> str:
    """Ratio of perplexities and its standard error."""
    differences = np.array(loss) - np.array(plain)
    ratio = float(np.exp(differences.mean()))
    error = ratio * float(differences.std(ddof=1)) / len(differences) ** 0.5 if len(differences) > 1 else float("nan")
    return f"{ratio:8.3f} ± {error:.3f}"


if __name__ == "__main__":
    try:
        start_with_huge_pages()
        main()
    except Failure as failure:
        raise SystemExit(str(failure)) from failure
