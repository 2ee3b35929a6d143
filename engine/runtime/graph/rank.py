"""Ranks a model's kv-heads: how much does it change what the model says next when one head alone is compressed?

Rankings of different models and modes hardly agree, and a single head can do a third of the harm. So each head is
compressed alone, and measured is how far what the model says moves (Kullback-Leibler) at the end of texts long enough
that heads keep much less there. Only that end is computed, from the head's own layer on: a thirtieth of a reading each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import msgspec
import numpy as np

from engine.protocol import KVModeName
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.ranking import Head, Price, Ranking, identity_of
from engine.runtime.graph.reading import PASS, Reader, Said, divergence
from engine.stop import StopFlag

JUDGED = 128  # tokens at the end of each text
SHARES = (0.1, 0.25, 0.5, 0.75)
Texts = Sequence[Sequence[int]]


class Ranker:
    """`gives_way`: with fewer threads while other programs keep the cores busy. Its steps raise Stopped."""

    def __init__(self, model: GraphModel, mode: KVModeName, threads: int, stop: StopFlag, gives_way: bool) -> None:
        self.model, self.mode = model, mode
        self.heads: list[Head] = list(np.ndindex(model.dimensions.layers, model.dimensions.kv_heads))
        self._options = threads, stop, gives_way

    def rank(self, texts: Texts, prices: Texts) -> Iterator[float | Ranking]:
        """The done part, again and again; at last the ranking, with what shares of the heads cost on `prices`."""
        whole = sum(1 + self._cost(text) * len(self.heads) for text in texts) + len(prices) * (1 + len(SHARES))
        harm, done = dict.fromkeys(self.heads, 0.0), 0.0
        said: dict[float, list[tuple[Said, Said]]] = {share: [] for share in SHARES}
        with closing(Reader(self.model, self.mode, *self._options)) as reader:
            for text in texts:
                plain = reader.plain(text, end_of(text))
                done += 1
                for head in self.heads:
                    harm[head] += divergence(plain.said, reader.said(plain, [head], self._begin(text))) / len(texts)
                    done += self._cost(text)
                    yield done / whole
            found = self._ranking(harm, texts)
            for text in prices:
                plain = reader.plain(text, second_half(text))
                for share, pairs in said.items():
                    pairs.append((plain.said, reader.said(plain, found.chosen(share))))
                    done += (1 + len(SHARES)) / len(SHARES)
                    yield min(1.0, done / whole)
        yield msgspec.structs.replace(found, prices=tuple(price(share, pairs) for share, pairs in said.items()))

    def _begin(self, text: Sequence[int]) -> int:
        """Where a text is read from with a compressed head: `published` keys are not those of a plain reading."""
        return 0 if self.mode == "published" else end_of(text)

    def _cost(self, text: Sequence[int]) -> float:
        """Of reading a text with one head compressed, on average, in whole readings."""
        return (1 - self._begin(text) / len(text)) / 2

    def _ranking(self, harm: dict[Head, float], texts: Texts) -> Ranking:
        order = tuple(sorted(self.heads, key=lambda head: (harm[head], head)))
        damage = tuple(harm[head] for head in order)
        return Ranking(identity_of(self.model), self.mode, sum(map(len, texts)), order, damage)


def second_half(text: Sequence[int]) -> int:
    """Where it begins, in whole passes."""
    return len(text) // 2 // PASS * PASS


def end_of(text: Sequence[int]) -> int:
    """Where its last JUDGED tokens begin, or its second half."""
    return max(second_half(text), (len(text) - 1 - JUDGED) // PASS * PASS)


def price(share: float, said: Sequence[tuple[Said, Said]]) -> Price:
    """From what was said plainly and with that share of the heads compressed."""
    ratio = np.exp(np.mean([lossy.loss - plain.loss for plain, lossy in said]))
    return Price(share, float(ratio), float(np.mean([lossy.entries for _, lossy in said])))
