"""Ranks a model's kv-heads: how much does it change what the model says next when one head alone is compressed?

Rankings of different models and modes hardly agree, and a single head can do a third of the harm. So each head is
compressed alone, and measured is how far what the model says moves (Kullback-Leibler) at the end of texts long enough
that heads keep much less there. Compressing heads of one layer changes nothing before that layer. So a text is read
once as it is, the hidden state before every layer is kept, and with compressed heads only what comes behind them is
computed. Of a long text the beginning need not be computed again at all: its keys and values are kept too, and heads
are given less of them. That makes a thirtieth of a reading each.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.protocol import KVModeName
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.ggml import F32, Graph, rows_of
from engine.runtime.graph.layout import KeysAndValues, Layout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import Head, Price, Ranking, identity_of, split_kv
from engine.runtime.graph.passes import Forward, Inputs, Pass, Passes, Processor
from engine.stop import StopFlag
from engine.tokenization.tokens import Vocabulary
from models.assets import asset


@dataclass(frozen=True, slots=True)
class Stretch:
    """Layers from `first` on and the output head. `taps`: the hidden states before each layer are wanted too."""

    first: int
    taps: bool = False

    def __call__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> StretchPass:
        """Makes one."""
        return StretchPass(self, model, kv, n, rows, bucket)


class StretchPass(Pass):
    """Where it begins in the middle its `tokens` are hidden states, [n, embedding]; `taps` are such states too."""

    def __init__(self, span: Stretch, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> None:
        self._span = span
        self._tapped: list[Any] = []
        super().__init__(model, kv, n, rows, bucket)

    def _start(self, g: Graph, d: Dimensions) -> Any:
        return g.input(F32, d.embedding, self.n) if self._span.first else super()._start(g, d)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        x, last = start if self._span.first else forward.embed(start), forward.d.layers - 1
        for layer in range(self._span.first, last):
            x = forward.layer(layer, self._tap(forward.g, x))
        return forward.logits(forward.layer(last, self._tap(forward.g, x), rows))

    def _tap(self, g: Graph, x: Any) -> Any:
        if self._span.taps:
            self._tapped.append(g.output(x))
        return x

    def bind(self) -> None:
        """See `Pass`."""
        super().bind()
        self.taps: list[NDArray[np.float32]] = [rows_of(pointer) for pointer in self._tapped]


# --- a text read while some heads are compressed ---


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
        """End its threads."""
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


# --- the texts ---


LENGTH = 2048  # tokens of a text, and one that follows
SHORTEST = 256  # tokens that are worth to be priced


def tokens_of(vocabulary: Vocabulary, count: int) -> tuple[list[list[int]], list[list[int]]]:
    """Texts of `count` tokens in all to rank on, as long as can be, and one more of each kind to find the prices on."""
    files = sorted(asset("calibration").glob("*.txt"))
    whole = [vocabulary.tokenize(file.read_text("utf-8"), special=False) for file in files]
    each = count // len(whole)
    length = min(LENGTH, each)
    ranked = [kind[begin : begin + length + 1] for kind in whole for begin in range(0, each - length + 1, length)]
    rest = [kind[each // length * length :][: length + 1] for kind in whole]
    return ranked, [text for text in rest if len(text) > SHORTEST] or ranked


# --- the ranking ---


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
