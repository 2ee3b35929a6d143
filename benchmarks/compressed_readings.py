"""Read texts while some of a model's kv-heads are compressed, and compare the predictions with a plain reading's.

Compressing heads of one layer changes nothing before that layer. So a text is read once with the exact cache, the
hidden states before every layer are stored, and with compressed heads only the layers from that one on are computed.
The beginning of a long text is not computed again at all: its keys and values are stored too, and the compressed heads
get fewer of them. Both together reduce the work to a thirtieth of a full reading per head.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.protocol.requests import KVModeName
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.ggml import F32, Graph, rows_of
from engine.runtime.graph.kv_layout import KeysAndValues, KVLayout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import Head, make_head_split_kv
from engine.runtime.graph.passes import Forward, GraphPass, Inputs, PassRunner, Processor
from engine.stop import StopFlag

PASS_TOKENS = 64
TOP = 256  # likeliest tokens whose probabilities are compared one by one; all others count as one
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class LayerRange:
    """Factory of passes from layer `first` to the logits.

    With `taps` they also output the hidden states before each layer.
    """

    first: int
    taps: bool = False

    def __call__(self, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable) -> LayerRangePass:
        return LayerRangePass(self, model, kv, n, rows, bucket)


class LayerRangePass(GraphPass):
    """A pass from some layer to the logits.

    If it does not begin at layer 0, its inputs are hidden states [n, embedding]. `taps` holds such states for each
    layer.
    """

    def __init__(
        self, layer_range: LayerRange, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable
    ) -> None:
        self._layer_range = layer_range
        self._tapped: list[Any] = []
        super().__init__(model, kv, n, rows, bucket)

    def _start(self, g: Graph, d: Dimensions) -> Any:
        return g.input(F32, d.embedding, self.n) if self._layer_range.first else super()._start(g, d)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        x, last = start if self._layer_range.first else forward.embed(start), forward.d.layers - 1
        for layer in range(self._layer_range.first, last):
            x = forward.layer(layer, self._tap(forward.g, x))
        return forward.logits(forward.layer(last, self._tap(forward.g, x), rows))

    def _tap(self, g: Graph, x: Any) -> Any:
        if self._layer_range.taps:
            self._tapped.append(g.output(x))
        return x

    def bind(self) -> None:
        super().bind()
        self.taps: list[NDArray[np.float32]] = [rows_of(pointer) for pointer in self._tapped]


@dataclass(frozen=True, slots=True)
class Predictions:
    """A model's predictions at the judged positions of a text.

    `likely`: the plain model's TOP likeliest tokens, `log_probabilities`: their log-probabilities, [positions, TOP]
    both. `loss`: -log p of the text's next tokens. `entries`: share of a plain cache's entries that was held at the
    end.
    """

    likely: NDArray[np.int64]
    log_probabilities: NDArray[np.float32]
    loss: NDArray[np.float64]
    entries: float = 1.0


@dataclass(frozen=True, slots=True)
class PlainReading:
    """A text as the model reads it with all keys and values; its predictions are judged from position `start` on.

    `hidden`: states before each layer, [layers, tokens, embedding]; `keys_and_values`: each layer's keys and values,
    [tokens, kv-heads, head] each.
    """

    text: Sequence[int]
    start: int
    hidden: NDArray[np.float32]
    keys_and_values: list[KeysAndValues]
    predictions: Predictions


class TextReader:
    """Reader of texts in full and with heads compressed by `mode`. Every method raises Stopped."""

    def __init__(self, model: GraphModel, mode: KVModeName, threads: int, stop: StopFlag, gives_way: bool) -> None:
        self.model, self.mode = model, mode
        self._processor = Processor(threads, gives_way, stop)

    def read_plain(self, text: Sequence[int], start: int) -> PlainReading:
        """Read a text with the exact cache; judge it from `start` on, a multiple of PASS_TOKENS."""
        d = self.model.dimensions
        hidden = np.zeros((d.layers, len(text), d.embedding), np.float32)
        collector = _PredictionCollector(text, start)
        with closing(ExactKV(d, len(text))) as kv:
            for begin, done in self._run_passes(collector, text, kv, LayerRange(0, taps=True)):
                for layer, state in enumerate(done.taps):
                    hidden[layer, begin : begin + len(state)] = state
                collector.add(begin, done)
            keys_and_values = kv.copy_tokens(len(text))
        return PlainReading(text, start, hidden, keys_and_values, collector.collect())

    def predict_compressed(self, plain: PlainReading, heads: Sequence[Head], begin: int = 0) -> Predictions:
        """Return the predictions when `heads` are compressed; the lower the lowest head's layer, the longer this takes.

        Keys and values of the tokens before `begin` are copied from the plain reading. So what the heads lack there
        does not change these tokens in higher layers.
        """
        first = min(layer for layer, _ in heads)
        collector = _PredictionCollector(plain.text, plain.start, plain.predictions.likely)
        with closing(make_head_split_kv(self.model, len(plain.text), self.mode, heads)) as kv:
            for size in range(0, begin, PASS_TOKENS):
                kv.begin_pass(plain.text[size : size + PASS_TOKENS], size)
                kv.store_plain(range(size, size + PASS_TOKENS), first, plain.keys_and_values)
            for size, done in self._run_passes(collector, _inputs(plain, first), kv, LayerRange(first), begin):
                collector.add(size, done)
            return collector.collect(kv.entry_share)

    def _run_passes(
        self, collector: _PredictionCollector, inputs: Inputs, kv: KVLayout, layer_range: LayerRange, first: int = 0
    ) -> Iterator[tuple[int, LayerRangePass]]:
        """Run passes over the `inputs` from `first` on; yield each pass's first position with the pass.

        All rows of logits are computed from the judged positions on, and one row before.
        """
        text, count = collector.text, min(PASS_TOKENS, kv.max_pass_tokens or PASS_TOKENS)
        seen = np.tri(count, dtype=np.bool_)
        passes = PassRunner(self.model, kv, self._processor, count, count, layer_range)
        try:
            for begin in range(first, (len(text) - 1) // PASS_TOKENS * PASS_TOKENS, count):
                end = begin + count
                if kv.begin_pass(text[begin:end], begin):
                    passes.close()
                    passes = PassRunner(self.model, kv, self._processor, count, count, layer_range)
                rows = count if begin >= collector.start else 1
                yield begin, passes.run(layer_range, inputs[begin:end], range(begin, end), seen, rows, begin)
        finally:
            passes.close()

    def close(self) -> None:
        """End the processor's threads."""
        self._processor.close()


def _inputs(plain: PlainReading, layer: int) -> Inputs:
    return plain.hidden[layer] if layer else plain.text


class _PredictionCollector:
    """Collector of predictions from position `start` on, for the given `likely` tokens or each position's likeliest."""

    def __init__(self, text: Sequence[int], start: int, likely: NDArray[np.int64] | None = None) -> None:
        self.text, self.start, self._known = text, start, likely
        self.likely: list[NDArray[np.int64]] = []
        self.log_probabilities: list[NDArray[np.float32]] = []
        self.losses: list[NDArray[np.float32]] = []

    def add(self, begin: int, done: LayerRangePass) -> None:
        if begin < self.start:
            return
        logits, at = done.logits, begin - self.start
        likely = likeliest_tokens(logits) if self._known is None else self._known[at : at + done.n]
        normaliser = log_sum_exp(logits)
        self.losses.append(normaliser - logits[np.arange(done.n), self.text[begin + 1 : begin + 1 + done.n]])
        self.log_probabilities.append(np.take_along_axis(logits, likely, axis=1) - normaliser[:, None])
        self.likely.append(likely)

    def collect(self, entries: float = 1.0) -> Predictions:
        loss = np.concatenate(self.losses).astype(np.float64)
        return Predictions(np.concatenate(self.likely), np.concatenate(self.log_probabilities), loss, entries)


def likeliest_tokens(logits: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the ids of each row's TOP largest logits, in no particular order."""
    count = min(TOP, logits.shape[1])
    return np.argpartition(logits, -count, axis=1)[:, -count:]


def log_sum_exp(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return log Σ exp of every row."""
    largest = logits.max(axis=1)
    result: NDArray[np.float32] = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
    return result


def divergence(plain: Predictions, other: Predictions) -> float:
    """Return the mean Kullback-Leibler divergence in nats per token; all but the likeliest tokens count as one."""
    p, q = plain.log_probabilities.astype(np.float64), other.log_probabilities.astype(np.float64)
    rest, others = (np.maximum(TINY, 1 - np.exp(known).sum(axis=1)) for known in (p, q))
    return float(((np.exp(p) * (p - q)).sum(axis=1) + rest * np.log(rest / others)).mean())
