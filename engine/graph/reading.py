"""Reads a text through a model while some of its heads are compressed: what it says then, beside what it says in full.

Compressing heads of one layer changes nothing before that layer. So a text is read once as it is, the hidden state
before every layer is kept, and with compressed heads only what comes behind them is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graph.exact import ExactKV
from engine.graph.layout import Layout
from engine.graph.model import GraphModel
from engine.graph.modes import split_kv
from engine.graph.passes import Inputs, Passes, Processor
from engine.graph.ranking import Head
from engine.graph.split import SplitKV
from engine.graph.stretch import Stretch, StretchPass
from engine.protocol import KVModeName
from engine.stop import StopFlag

PASS, ROWS = 64, 32  # tokens of a pass, and how many of them are judged: rows of logits are what this costs
SKIPPED = 2 * PASS  # tokens that are not judged: nothing has left the tail yet


@dataclass(frozen=True, slots=True)
class Said:
    """Of the judged positions: log-probabilities [positions, vocabulary] and of the text's next tokens -log p.

    `entries`: share of a plain cache's entries that was held at the end."""

    says: NDArray[np.float16]
    loss: NDArray[np.float64]
    entries: float = 1.0


@dataclass(frozen=True, slots=True)
class Plain:
    """A text as the model reads it with all keys and values; `hidden` [1 + layers, tokens, embedding] before each layer
    and behind the last."""

    text: Sequence[int]
    hidden: NDArray[np.float32]
    said: Said


class Reader:
    """Compresses heads by `mode`. Every method raises Stopped."""

    def __init__(self, model: GraphModel, mode: KVModeName, threads: int, stop: StopFlag, gives_way: bool) -> None:
        self.model, self.mode = model, mode
        self._processor = Processor(threads, gives_way, stop)
        self._layers = model.dimensions.layers

    def plain(self, text: Sequence[int]) -> Plain:
        d = self.model.dimensions
        hidden = np.zeros((d.layers + 1, len(text), d.embedding), np.float32)
        said = _Gathered(text)
        with closing(ExactKV(d, len(text))) as kv:
            for begin, done in self._passes(text, text, kv, Stretch(0, d.layers, taps=True)):
                for layer, state in enumerate(done.taps):
                    hidden[layer, begin : begin + len(state)] = state
                said.add(begin, done)
        return Plain(text, hidden, said.all())

    def said(self, plain: Plain, heads: Sequence[Head]) -> Said:
        """What the model says when `heads` are compressed, which takes so much longer the lower the first one is."""
        first, said = min(layer for layer, _ in heads), _Gathered(plain.text)
        with closing(self._open(plain, heads)) as kv:
            for begin, done in self._passes(plain.text, _inputs(plain, first), kv, Stretch(first, self._layers)):
                said.add(begin, done)
            return said.all(kv.entries)

    def moved(self, plain: Plain, head: Head) -> float:
        """How far a compressed head alone moves the hidden state behind its own layer: squares of the distance beside
        the state's own length, so that no token counts more than others, summed up."""
        layer, total = head[0], 0.0
        with closing(self._open(plain, [head])) as kv:
            for begin, done in self._passes(
                plain.text, _inputs(plain, layer), kv, Stretch(layer, layer + 1, logits=False)
            ):
                if begin >= SKIPPED:
                    before = plain.hidden[layer + 1, begin : begin + done.n]
                    total += float((squares(done.states - before) / squares(before)).sum())
        return total

    def _open(self, plain: Plain, heads: Sequence[Head]) -> SplitKV:
        return split_kv(self.model, len(plain.text), self.mode, heads)

    def _passes(
        self, text: Sequence[int], inputs: Inputs, kv: Layout, span: Stretch
    ) -> Iterator[tuple[int, StretchPass]]:
        """(first token, pass) of each pass over the `inputs`, which are of the tokens `text`."""
        count = min(PASS, kv.most or PASS)
        seen = np.tri(count, dtype=np.bool_)
        passes = Passes(self.model, kv, self._processor, count, ROWS, span)
        try:
            for begin in range(0, (len(text) - 1) // PASS * PASS, count):
                end = begin + count
                if kv.begin(text[begin:end], begin):
                    passes.close()
                    passes = Passes(self.model, kv, self._processor, count, ROWS, span)
                rows = max(1, len(judged(begin, end)))
                yield begin, passes.run(inputs[begin:end], range(begin, end), seen, rows, begin)
        finally:
            passes.close()

    def close(self) -> None:
        self._processor.close()


def _inputs(plain: Plain, layer: int) -> Inputs:
    return plain.hidden[layer] if layer else plain.text


def judged(begin: int, end: int) -> list[int]:
    """Those of the positions from `begin` to `end`: the last ones of every PASS."""
    return [i for i in range(max(begin, SKIPPED), end) if i % PASS >= PASS - ROWS]


class _Gathered:
    """What is said at the judged positions of passes over a text."""

    def __init__(self, text: Sequence[int]) -> None:
        self.text = text
        self.says: list[NDArray[np.float16]] = []
        self.losses: list[NDArray[np.float32]] = []

    def add(self, begin: int, done: StretchPass) -> None:
        positions = judged(begin, begin + done.n)
        if positions:
            said = log_softmax(done.logits[-len(positions) :])
            self.losses.append(-said[np.arange(len(positions)), [self.text[i + 1] for i in positions]])
            self.says.append(said.astype(np.float16))

    def all(self, entries: float = 1.0) -> Said:
        return Said(np.concatenate(self.says), np.concatenate(self.losses).astype(np.float64), entries)


def squares(states: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of the lengths of states, [tokens]."""
    result: NDArray[np.float64] = np.square(states, dtype=np.float64).sum(axis=1)
    return result


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def divergence(plain: Said, other: Said) -> float:
    """Mean Kullback-Leibler divergence in nats per token."""
    p, q = plain.says.astype(np.float32), other.says.astype(np.float32)
    return float((np.exp(p) * (p - q)).sum(axis=1).mean())
