"""Ranks a model's kv-heads: how much does it change what the model says next when one head alone is compressed?

The logits of some tokens of each pass are compared with the plain model's (Kullback-Leibler). Heads must be ranked per
model and per mode: rankings of different modes hardly agree, and a single head can do a third of the harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.capi.context import ContextOptions
from engine.graph.exact import ExactKV
from engine.graph.layout import Layout
from engine.graph.model import GraphModel
from engine.graph.modes import split_kv
from engine.graph.ranking import VERSION, Head, Price, Ranking, identity_of
from engine.graph.split import SplitKV
from engine.graph.target import GraphTarget
from engine.kv_mode import KVMode
from engine.stop import StopFlag

PASS, ROWS = 64, 16  # tokens of a pass, and how many of them are judged: rows of logits are what this costs
SKIPPED = 2  # passes: nothing has left the tail yet
SHARES = (0.1, 0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Reading:
    """Of the judged positions: log-probabilities [positions, vocabulary] and of the text's next tokens -log p.

    `entries`: share of a plain cache's entries that was held at the end."""

    says: NDArray[np.float16]
    loss: NDArray[np.float64]
    entries: float


class Ranker:
    """Reads `texts` again and again, each anew, with other heads compressed. Raises Stopped."""

    def __init__(self, model: GraphModel, mode: str, threads: int, stop: StopFlag) -> None:
        self.model, self.mode, self.threads, self.stop = model, mode, threads, stop

    def rank(self, texts: Sequence[Sequence[int]], prices: Sequence[Sequence[int]]) -> Iterator[float | Ranking]:
        """The done part, again and again; at last the ranking, with what shares of the heads cost on `prices`."""
        d = self.model.dimensions
        heads = [(layer, head) for layer in range(d.layers) for head in range(d.kv_heads)]
        steps = len(heads) + 2 + len(SHARES)
        plain = [self.read(text, ()) for text in texts]
        harm: dict[Head, float] = {}
        for i, head in enumerate(heads):
            yield (i + 1) / steps
            harm[head] = float(
                np.mean([divergence(p, self.read(t, (head,))) for p, t in zip(plain, texts, strict=True)])
            )
        order = sorted(heads, key=lambda head: harm[head])
        found = Ranking(
            VERSION,
            identity_of(self.model),
            self.mode,
            sum(map(len, texts)),
            tuple(order),
            tuple(harm[h] for h in order),
        )
        base = np.concatenate([self.read(text, ()).loss for text in prices]).mean()
        costs = []
        for i, share in enumerate(SHARES):
            yield (len(heads) + 2 + i) / steps
            read = [self.read(text, found.chosen(share)) for text in prices]
            loss = np.concatenate([reading.loss for reading in read]).mean()
            entries = float(np.mean([reading.entries for reading in read]))
            costs.append(Price(share, float(np.exp(loss - base)), entries))
        yield msgspec.structs.replace(found, prices=tuple(costs))

    def read(self, text: Sequence[int], heads: Sequence[Head]) -> Reading:
        options = ContextOptions(len(text), self.threads, n_batch=PASS, max_rows=ROWS)
        says, losses = [], []
        with closing(GraphTarget(self.model, options, self.stop, open_kv=partial(self._open, heads))) as target:
            for begin in range(0, len(text) - PASS, PASS):
                judged = begin >= SKIPPED * PASS
                target.run(text[begin : begin + PASS], rows=ROWS if judged else 1)
                if judged:
                    said = log_softmax(np.array([target.logits(i) for i in range(-ROWS, 0)]))
                    following = np.array(text[begin + PASS - ROWS + 1 : begin + PASS + 1])
                    losses.append(-said[np.arange(ROWS), following])
                    says.append(said.astype(np.float16))
            entries = target.kv.entries if isinstance(target.kv, SplitKV) else 1.0
        return Reading(np.concatenate(says), np.concatenate(losses).astype(np.float64), entries)

    def _open(self, heads: Sequence[Head], model: GraphModel, n_ctx: int, _mode: KVMode) -> Layout:
        return split_kv(model, n_ctx, self.mode, heads) if heads else ExactKV(model.dimensions, n_ctx)


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def divergence(plain: Reading, other: Reading) -> float:
    """Mean Kullback-Leibler divergence in nats per token."""
    p, q = plain.says.astype(np.float32), other.says.astype(np.float32)
    return float((np.exp(p) * (p - q)).sum(axis=1).mean())
