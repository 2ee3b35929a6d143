"""Reads a text through a model while some of its heads are compressed: what it says then, beside what it says in full.

Compressing heads of one layer changes nothing before that layer. So a text is read once as it is, the hidden state
before every layer is kept, and with compressed heads only what comes behind them is computed. Of a long text the
beginning need not be computed again at all: its keys and values are kept too, and heads are given less of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.protocol import KVModeName
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.layout import KeysAndValues, Layout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import split_kv
from engine.runtime.graph.passes import Inputs, Passes, Processor
from engine.runtime.graph.ranking import Head
from engine.runtime.graph.stretch import Stretch, StretchPass
from engine.stop import StopFlag

PASS = 64  # tokens
TOP = 256  # tokens that are told apart in what is said, the likeliest: of all others only the sum
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Said:
    """Of the judged positions: log-probabilities (`says`) of the plain model's `likely` tokens, [positions, TOP] both,
    and of the text's next tokens -log p.

    `entries`: share of a plain cache's entries that was held at the end."""

    likely: NDArray[np.int64]
    says: NDArray[np.float32]
    loss: NDArray[np.float64]
    entries: float = 1.0


@dataclass(frozen=True, slots=True)
class Plain:
    """A text as the model reads it with all keys and values, judged from the position `start` on.

    `hidden`: before each layer, [layers, tokens, embedding]; `kept`: each layer's keys and values, [tokens, kv-heads,
    head] each."""

    text: Sequence[int]
    start: int
    hidden: NDArray[np.float32]
    kept: list[KeysAndValues]
    said: Said


class Reader:
    """Compresses heads by `mode`. Every method raises Stopped."""

    def __init__(self, model: GraphModel, mode: KVModeName, threads: int, stop: StopFlag, gives_way: bool) -> None:
        self.model, self.mode = model, mode
        self._processor = Processor(threads, gives_way, stop)

    def plain(self, text: Sequence[int], start: int) -> Plain:
        """`start`: a multiple of PASS."""
        d = self.model.dimensions
        hidden = np.zeros((d.layers, len(text), d.embedding), np.float32)
        said = _Gathered(text, start)
        with closing(ExactKV(d, len(text))) as kv:
            for begin, done in self._passes(said, text, kv, Stretch(0, taps=True)):
                for layer, state in enumerate(done.taps):
                    hidden[layer, begin : begin + len(state)] = state
                said.add(begin, done)
            kept = kv.kept(len(text))
        return Plain(text, start, hidden, kept, said.all())

    def said(self, plain: Plain, heads: Sequence[Head], begin: int = 0) -> Said:
        """What the model says when `heads` are compressed, which takes so much longer the lower the first one is.

        Keys and values of the tokens before `begin` are not computed again, so that what the heads lack does not change
        them in higher layers."""
        first, said = min(layer for layer, _ in heads), _Gathered(plain.text, plain.start, plain.said.likely)
        with closing(split_kv(self.model, len(plain.text), self.mode, heads)) as kv:
            for size in range(0, begin, PASS):
                kv.begin(plain.text[size : size + PASS], size)
                kv.hold(range(size, size + PASS), first, plain.kept)
            for size, done in self._passes(said, _inputs(plain, first), kv, Stretch(first), begin):
                said.add(size, done)
            return said.all(kv.entries)

    def _passes(
        self, said: _Gathered, inputs: Inputs, kv: Layout, span: Stretch, first: int = 0
    ) -> Iterator[tuple[int, StretchPass]]:
        """(first token, pass) of each pass over the `inputs` from `first` on; logits are of what is to be judged."""
        text, count = said.text, min(PASS, kv.most or PASS)
        seen = np.tri(count, dtype=np.bool_)
        passes = Passes(self.model, kv, self._processor, count, count, span)
        try:
            for begin in range(first, (len(text) - 1) // PASS * PASS, count):
                end = begin + count
                if kv.begin(text[begin:end], begin):
                    passes.close()
                    passes = Passes(self.model, kv, self._processor, count, count, span)
                rows = count if begin >= said.start else 1
                yield begin, passes.run(span, inputs[begin:end], range(begin, end), seen, rows, begin)
        finally:
            passes.close()

    def close(self) -> None:
        self._processor.close()


def _inputs(plain: Plain, layer: int) -> Inputs:
    return plain.hidden[layer] if layer else plain.text


class _Gathered:
    """What is said from `start` on in passes over a text, of the `likely` tokens or of those it makes out."""

    def __init__(self, text: Sequence[int], start: int, likely: NDArray[np.int64] | None = None) -> None:
        self.text, self.start, self._known = text, start, likely
        self.likely: list[NDArray[np.int64]] = []
        self.says: list[NDArray[np.float32]] = []
        self.losses: list[NDArray[np.float32]] = []

    def add(self, begin: int, done: StretchPass) -> None:
        if begin < self.start:
            return
        logits, at = done.logits, begin - self.start
        likely = top(logits) if self._known is None else self._known[at : at + done.n]
        whole = log_sum(logits)
        self.losses.append(whole - logits[np.arange(done.n), self.text[begin + 1 : begin + 1 + done.n]])
        self.says.append(np.take_along_axis(logits, likely, axis=1) - whole[:, None])
        self.likely.append(likely)

    def all(self, entries: float = 1.0) -> Said:
        loss = np.concatenate(self.losses).astype(np.float64)
        return Said(np.concatenate(self.likely), np.concatenate(self.says), loss, entries)


def top(logits: NDArray[np.float32]) -> NDArray[np.int64]:
    """The likeliest tokens of every row."""
    count = min(TOP, logits.shape[1])
    return np.argpartition(logits, -count, axis=1)[:, -count:]


def log_sum(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """log Σ exp of every row."""
    largest = logits.max(axis=1)
    result: NDArray[np.float32] = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
    return result


def divergence(plain: Said, other: Said) -> float:
    """Mean Kullback-Leibler divergence in nats per token, all but the likeliest tokens taken as one."""
    p, q = plain.says.astype(np.float64), other.says.astype(np.float64)
    rest, others = (np.maximum(TINY, 1 - np.exp(says).sum(axis=1)) for says in (p, q))
    return float(((np.exp(p) * (p - q)).sum(axis=1) + rest * np.log(rest / others)).mean())
