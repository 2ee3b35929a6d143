"""Rank a model's kv-heads by how much the predictions change when one head alone is compressed, for `--kv`.

    python -m benchmarks.rank_heads [--model M] [--kv merged|window|published] [--tokens N] [--threads N] [--json]

Rankings of different models and modes hardly agree, and a single head can do a third of the harm. So each head is
compressed alone, and the change of the predictions is measured as Kullback-Leibler divergence at the end of texts that
are long enough for heads to keep much less there. The ranking is stored in the cache folder, where every Chickadee of
this user finds it. Takes minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import get_args

import msgspec
import numpy as np

from benchmarks.command import benchmark_parser, print_json, run_until_stopped
from benchmarks.compressed_readings import PASS_TOKENS, Predictions, TextReader, divergence
from common.paths import display_name
from engine.commands.options import add_option
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.protocol.requests import KVModeName
from engine.run_subprocess import start_with_environment
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import Head, Price, Ranking, identity_of, store_ranking
from engine.stop import StopFlag
from engine.tokenization.tokens import Vocabulary
from models.assets import asset

MODES = tuple(name for name in get_args(KVModeName) if name != "exact")
CALIBRATION_TOKENS = 8192  # of the calibration texts, half prose and half code; prices are measured on other tokens
PUBLISHED_TOKENS = 1024  # for `published`, which reads token by token and keeps less from the first token on
FEWEST_TOKENS = 512


def main(arguments: list[str] | None = None) -> int:
    """Rank the heads that the arguments name, store the ranking and print it; return the exit code."""
    return run_until_stopped(partial(rank_and_store, parse(arguments)))


def rank_and_store(options: argparse.Namespace, stop: StopFlag) -> None:
    """Rank the model's heads, store and print the ranking. Raises Failure, Stopped."""
    plan = resolve(LoadOptions(options.model, backend="graph", no_other=True, threads=options.threads))
    started = time.monotonic()
    ranking = rank(plan, options, stop)
    store_ranking(ranking)
    if options.json:
        print_json(ranking)
    else:
        print(table(display_name(options.model), ranking, time.monotonic() - started))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = benchmark_parser("rank_heads", __doc__)
    parser.add_argument("--kv", choices=MODES, default="merged", help="for this form of compression (default: merged)")
    parser.add_argument(
        "--tokens", type=int, help=f"calibration tokens (default: {CALIBRATION_TOKENS}, published {PUBLISHED_TOKENS})"
    )
    add_option(parser, "engine.threads")
    options = parser.parse_args(arguments)
    if options.tokens is None:
        options.tokens = PUBLISHED_TOKENS if options.kv == "published" else CALIBRATION_TOKENS
    if options.tokens < FEWEST_TOKENS:
        parser.error(f"fewer than {FEWEST_TOKENS} calibration tokens are too few to measure")
    return options


def rank(plan: LoadPlan, options: argparse.Namespace, stop: StopFlag) -> Ranking:
    """Return the ranking of the planned model's heads; print how far it is. Raises Failure, Stopped."""
    name, gives_way = display_name(plan.options.path), options.threads is None
    with closing(GraphModel(plan.headers, lambda _fraction: not stop.is_set())) as model:
        ranker = Ranker(model, options.kv, plan.memory.threads, stop, gives_way)
        for event in ranker.rank(*calibration_texts(model.vocabulary, options.tokens)):
            if isinstance(event, Ranking):
                print(file=sys.stderr)
                return event
            print(f"\r{event:4.0%} of the heads of {name}, --kv {options.kv}", end="", file=sys.stderr)
    raise AssertionError("a measurement ends with what was found")


def table(name: str, ranking: Ranking, seconds: float) -> str:
    heads = f"{len(ranking.heads)} heads ranked over {ranking.tokens:,} tokens"
    lines = [
        f"{name}, --kv {ranking.mode}: {heads} in {seconds:,.0f} seconds",
        "",
        "share of heads  perplexity  entries kept",
        *(f"{price.share:14.0%}{price.ratio:11.3f}×{price.entries:13.0%}" for price in ranking.prices),
    ]
    return "\n".join(lines)


# --- the texts ---


LENGTH = 2048  # tokens of a text; one more is added, to be predicted
SHORTEST = 256  # tokens; prices are not measured on shorter texts


def calibration_texts(vocabulary: Vocabulary, count: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return texts of `count` tokens in all to rank on, and one more of each kind to measure the prices on."""
    files = sorted(asset("calibration").glob("*.txt"))
    whole = [vocabulary.tokenize(file.read_text("utf-8"), special=False) for file in files]
    each = count // len(whole)
    length = min(LENGTH, each)
    ranked = [kind[begin : begin + length + 1] for kind in whole for begin in range(0, each - length + 1, length)]
    rest = [kind[each // length * length :][: length + 1] for kind in whole]
    return ranked, [text for text in rest if len(text) > SHORTEST] or ranked


# --- the ranking ---


JUDGED_TOKENS = 128  # tokens at the end of each text
SHARES = (0.1, 0.25, 0.5, 0.75)
Texts = Sequence[Sequence[int]]


class Ranker:
    """Measurement of the order of a model's heads for a mode. Its steps raise Stopped.

    If it `gives_way`, passes use fewer threads while other programs keep the cores busy.
    """

    def __init__(self, model: GraphModel, mode: KVModeName, threads: int, stop: StopFlag, gives_way: bool) -> None:
        self.model, self.mode = model, mode
        self.heads: list[Head] = list(np.ndindex(model.dimensions.layers, model.dimensions.kv_heads))
        self._options = threads, stop, gives_way

    def rank(self, texts: Texts, prices: Texts) -> Iterator[float | Ranking]:
        """Yield the completed fraction repeatedly, and at last the ranking with the prices of SHARES.

        The order is measured on `texts`, the prices are measured on `prices`.
        """
        whole = sum(1 + self._reading_cost(text) * len(self.heads) for text in texts) + len(prices) * (1 + len(SHARES))
        harm, done = dict.fromkeys(self.heads, 0.0), 0.0
        pairs_by_share: dict[float, list[tuple[Predictions, Predictions]]] = {share: [] for share in SHARES}
        with closing(TextReader(self.model, self.mode, *self._options)) as reader:
            for text in texts:
                plain = reader.read_plain(text, judged_start(text))
                done += 1
                for head in self.heads:
                    harm[head] += divergence(
                        plain.predictions, reader.predict_compressed(plain, [head], self._reading_start(text))
                    ) / len(texts)
                    done += self._reading_cost(text)
                    yield done / whole
            ranking = self._ranking(harm, texts)
            for text in prices:
                plain = reader.read_plain(text, second_half_start(text))
                for share, pairs in pairs_by_share.items():
                    pairs.append((plain.predictions, reader.predict_compressed(plain, ranking.least_harmful(share))))
                    done += (1 + len(SHARES)) / len(SHARES)
                    yield min(1.0, done / whole)
        yield msgspec.structs.replace(
            ranking, prices=tuple(measured_price(share, pairs) for share, pairs in pairs_by_share.items())
        )

    def _reading_start(self, text: Sequence[int]) -> int:
        """Return the position from which a text is read with a compressed head.

        `published` heads read the whole text, because their keys differ from those of a plain reading.
        """
        return 0 if self.mode == "published" else judged_start(text)

    def _reading_cost(self, text: Sequence[int]) -> float:
        """Return the average cost of reading a text with one head compressed, in full readings."""
        return (1 - self._reading_start(text) / len(text)) / 2

    def _ranking(self, harm: dict[Head, float], texts: Texts) -> Ranking:
        order = tuple(sorted(self.heads, key=lambda head: (harm[head], head)))
        damage = tuple(harm[head] for head in order)
        return Ranking(identity_of(self.model), self.mode, sum(map(len, texts)), order, damage)


def second_half_start(text: Sequence[int]) -> int:
    """Return the position where the text's second half begins, rounded down to whole passes."""
    return len(text) // 2 // PASS_TOKENS * PASS_TOKENS


def judged_start(text: Sequence[int]) -> int:
    """Return where the text's last JUDGED_TOKENS tokens begin, or its second half if that begins later."""
    return max(second_half_start(text), (len(text) - 1 - JUDGED_TOKENS) // PASS_TOKENS * PASS_TOKENS)


def measured_price(share: float, pairs: Sequence[tuple[Predictions, Predictions]]) -> Price:
    """Return the price of compressing `share` of the heads from pairs of plain and lossy predictions."""
    ratio = np.exp(np.mean([lossy.loss - plain.loss for plain, lossy in pairs]))
    return Price(share, float(ratio), float(np.mean([lossy.entries for _, lossy in pairs])))


if __name__ == "__main__":
    start_with_environment()
    sys.exit(main())
