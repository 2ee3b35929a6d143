"""Ranks a model's kv-heads: how much does it change what the model says next when one head alone is compressed?

Rankings of different models and modes hardly agree, and a single head can do a third of the harm. Measured is how far
what the model says moves (Kullback-Leibler) when all heads of a layer are compressed, which is shared out among them by
how far each alone moves the hidden state behind the layer. So each head costs a pass through its own layer, and each
layer one through those above it. Any change at all, even of the last bit, moves what is said a little, because
activations are quantised: the least that a layer does counts as nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.graph.model import GraphModel
from engine.graph.ranking import VERSION, Price, Ranking, identity_of
from engine.graph.reading import Plain, Reader, Said, divergence
from engine.protocol import KVModeName
from engine.stop import StopFlag

TINY = 1e-30  # where a text is too short for heads to keep less
SHARES = (0.1, 0.25, 0.5, 0.75)
Heads = NDArray[np.float64]  # [layers, kv-heads]
Texts = Sequence[Sequence[int]]


class Ranker:
    """`gives_way`: with fewer threads while other programs keep the cores busy. Its steps raise Stopped."""

    def __init__(self, model: GraphModel, mode: KVModeName, threads: int, stop: StopFlag, gives_way: bool) -> None:
        self.model, self.mode, self.layers = model, mode, model.dimensions.layers
        self._options = threads, stop, gives_way

    def rank(self, texts: Texts, prices: Texts) -> Iterator[float | Ranking]:
        """The done part, again and again; at last the ranking, with what shares of the heads cost on `prices`."""
        readings = len(texts) * (1 + self.layers / 2 + self.model.dimensions.kv_heads)
        whole, done = readings + len(prices) * (1 + len(SHARES)), 0.0
        harm = np.zeros((2, self.layers, self.model.dimensions.kv_heads))  # by whole layers, and each head's part
        said: dict[float, list[tuple[Said, Said]]] = {share: [] for share in SHARES}
        with closing(Reader(self.model, self.mode, *self._options)) as reader:
            for text in texts:
                for cost in self._harm(reader, reader.plain(text), *harm):
                    done += cost
                    yield done / whole
            found = self._ranking(harm[0], harm[1], texts)
            for plain in map(reader.plain, prices):
                for share, pairs in said.items():
                    pairs.append((plain.said, reader.said(plain, found.chosen(share))))
                    done += (1 + len(SHARES)) / len(SHARES)
                    yield min(1.0, done / whole)
        yield msgspec.structs.replace(found, prices=tuple(price(share, pairs) for share, pairs in said.items()))

    def _harm(self, reader: Reader, plain: Plain, said: Heads, moved: Heads) -> Iterator[float]:
        """Adds what compressing all heads of a layer makes of what is `said` of a text, and how far each alone `moved`
        the hidden state; yields the part of a reading that it took."""
        for layer in range(self.layers):
            heads = [(layer, head) for head in range(self.model.dimensions.kv_heads)]
            said[layer] += divergence(plain.said, reader.said(plain, heads))
            moved[layer] += [reader.moved(plain, head) for head in heads]
            yield (1 + len(heads) - layer / self.layers) / self.layers

    def _ranking(self, said: Heads, moved: Heads, texts: Texts) -> Ranking:
        said /= len(texts)
        harm = (said - said.min()) * moved / np.maximum(moved.sum(axis=1, keepdims=True), TINY)
        heads = [(layer, head) for layer, head in np.ndindex(harm.shape)]
        order = tuple(sorted(heads, key=lambda head: (harm[head], moved[head])))
        damage = tuple(float(harm[head]) for head in order)
        return Ranking(VERSION, identity_of(self.model), self.mode, sum(map(len, texts)), order, damage)


def price(share: float, said: Sequence[tuple[Said, Said]]) -> Price:
    """From what was said plainly and with that share of the heads compressed."""
    ratio = np.exp(np.mean([lossy.loss - plain.loss for plain, lossy in said]))
    return Price(share, float(ratio), float(np.mean([lossy.entries for _, lossy in said])))
