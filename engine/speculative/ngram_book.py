"""What usually comes next, for the loaded model: read from the cache, or counted in idle time by another process.

It is counted in the sentences that come with Chickadee, in many languages, which takes some 10 seconds and 230 MB, once
for a model. The chances are those of an interpolated model with
absolute discounting (Ney, Essen and Kneser, 1994) over the last two tokens and the last one. An entry for two tokens
that tells no more than the one for the last is left out.
"""

from __future__ import annotations

import logging
import lzma
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from engine.costs.cost_model import CostModel
from engine.protocol import BackendName
from engine.run_subprocess import run_apart
from engine.speculative.ngram import (
    MOST_TOKENS,
    STEPS,
    TOKEN_BITS,
    UNKNOWN,
    Entries,
    NgramTable,
    StaticNgram,
    keep_phrases,
    kept_phrases,
)
from engine.tokenization.tokens import ModelVocabulary, Vocabulary
from models.assets import asset
from models.header import read_header
from models.identity import file_identity

log = logging.getLogger("engine.phrases")

CHEAP = 1.3  # plain steps: where a pass of two tokens costs more, one right guess in six to ten does not pay
TOGETHER = 20  # sentences of a text, so that most words follow others
DISCOUNT = 0.8  # of each count, given to what was never seen
FEWEST = 2  # times that two tokens were seen together, or the last one alone tells more
LEAST = 0.04  # chance that is worth an entry
ALIKE = 0.25  # in log odds: so much another chance for the same token is no news
TYPICAL = 3.0  # times as often as in any other language: then a token tells the language
SEEN = 3  # times at least
BREAK = -1  # between texts
LAST = (1 << TOKEN_BITS) - 1

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class NgramBook:
    """Of the model at `path`, of this `identity`, whose text the library `name` splits into tokens."""

    def __init__(self, path: Path, identity: str, name: BackendName) -> None:
        self.identity = identity
        self._command = ["phrases", "--backend", name, "--model", str(path)]
        self._tried = False
        self._drafter: StaticNgram | None = None
        self._read()

    def _read(self) -> None:
        table = kept_phrases(self.identity)
        self._drafter = StaticNgram(table) if table else None

    @property
    def drafter(self) -> StaticNgram | None:
        """None as long as nothing was counted."""
        return self._drafter

    def count(self, costs: CostModel | None) -> Iterator[None]:
        """Make it, if it can pay where passes cost what `costs` says. The other process ends with this iterator."""
        if self._drafter or self._tried or not can_pay(costs):
            return
        yield from self.count_now()

    def count_now(self) -> Iterator[None]:
        """Make it, whatever passes cost."""
        for code in run_apart(*self._command):
            if code is None:
                yield
            else:
                self._tried = True
                log.info("counting usual phrases ended with code %d", code)
        self._read()


def made(path: Path, vocabulary: AbstractContextManager[ModelVocabulary]) -> NgramTable:
    """The table of the model at `path`: the kept one, or counted now, with its vocabulary, and kept. Raises Failure."""
    identity = file_identity(path, read_header(path).data_offset)
    if table := kept_phrases(identity):
        return table
    with vocabulary as words:
        table = counted((texts(file, words) for file in languages()), words.n_tokens)
    try:
        keep_phrases(identity, table)
    except OSError as error:
        raise Failure("unwritable.phrases", reason=error.strerror) from error
    return table


def can_pay(costs: CostModel | None) -> bool:
    """Do guesses pay that are right one time in six to ten?"""
    return costs is not None and costs.c(2) < CHEAP


def languages() -> list[Path]:
    """A file for each, in an order that does not change. Raises Failure when the installation lacks them."""
    found = sorted(asset("phrases").glob("*.txt.xz"))
    if not found:
        raise Failure("no_such_file.phrases")
    return found


def texts(file: Path, vocabulary: Vocabulary) -> Iterator[list[int]]:
    """Tokens of one text after the other. Raises Failure when the file is damaged."""
    try:
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise Failure("no_such_file.phrases_damaged", f"{file.name}: {error}") from error
    for at in range(0, len(lines), TOGETHER):
        yield vocabulary.tokenize(" ".join(lines[at : at + TOGETHER]), special=False)


@dataclass(frozen=True, slots=True)
class Found:
    """Arrays of one length: contexts as in the table's keys, what follows, and its chance."""

    contexts: Integers
    tokens: Integers
    chances: Floats

    def some(self, which: NDArray[np.bool_]) -> Found:
        """Those marked in `which`, of the same length."""
        return Found(self.contexts[which], self.tokens[which], self.chances[which])


def counted(languages: Iterable[Iterable[Sequence[int]]], n_vocab: int) -> NgramTable:
    """The table of these texts' tokens, language by language, in the order of their numbers.

    Of the largest language it takes some 150 bytes for each token meanwhile. Raises ValueError for a vocabulary that
    is too large."""
    if n_vocab > MOST_TOKENS:
        raise ValueError(f"a vocabulary of {n_vocab:,} tokens is too large")
    entries, frequencies = [], []
    for number, some in enumerate(languages):
        tokens = np.concatenate([np.array([BREAK]), *(np.array([*text, BREAK], np.int64) for text in some)])
        entries.append(entries_of(number, tokens))
        frequencies.append(np.bincount(tokens[tokens != BREAK], minlength=n_vocab))
    joined = Entries(
        np.concatenate([each.keys for each in entries]),
        np.concatenate([each.tokens for each in entries]),
        np.concatenate([each.chances for each in entries]),
    )
    return NgramTable(joined, typical(np.array(frequencies)))


def typical(counts: Integers) -> NDArray[np.uint8]:
    """`counts`: shape [languages, vocabulary]. The language that each token is typical of, or UNKNOWN."""
    shares = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1)
    best = np.argmax(shares, axis=0)
    highest = np.max(shares, axis=0)
    np.put_along_axis(shares, best[None], 0, axis=0)
    known = (highest >= TYPICAL * np.max(shares, axis=0)) & (counts.max(axis=0) >= SEEN)
    return np.where(known, best, UNKNOWN).astype(np.uint8)


def entries_of(language: int, tokens: Integers) -> Entries:
    """`tokens`: all texts of a language, with BREAK before and behind each."""
    single, double = after_one_and_two(tokens)
    place = np.searchsorted(single.contexts, double.contexts & LAST)
    same = single.tokens[place] == double.tokens
    news = ~same | (np.abs(odds(single.chances[place]) - odds(double.chances)) >= ALIKE)
    double = double.some(news & ((double.chances >= LEAST) | (single.chances[place] >= LEAST)))
    single = single.some(single.chances >= LEAST)
    keys = np.concatenate([single.contexts, double.contexts]) | language << 2 * TOKEN_BITS
    order = np.argsort(keys)
    chances = np.concatenate([single.chances, double.chances])[order]
    following = np.concatenate([single.tokens, double.tokens])[order]
    return Entries(keys[order], following.astype(np.uint32), np.round(chances * STEPS).astype(np.uint8))


def after_one_and_two(tokens: Integers) -> tuple[Found, Found]:
    """What most likely follows each token, and each two tokens that were seen together FEWEST times."""
    inside = (tokens[:-1] != BREAK) & (tokens[1:] != BREAK)
    joined = tokens[:-1][inside] << TOKEN_BITS | tokens[1:][inside]
    pairs, of_pair, counts = np.unique(joined, return_inverse=True, return_counts=True)
    chance, best = likeliest(pairs >> TOKEN_BITS, counts, np.zeros(len(pairs)))
    single = Found(pairs[best] >> TOKEN_BITS, pairs[best] & LAST, chance[best])

    place = np.full(len(tokens), BREAK)  # in `pairs`, of each token and the next one
    place[:-1][inside] = of_pair
    both = (place[:-1] != BREAK) & (place[1:] != BREAK)
    triples, counts = np.unique(place[:-1][both] << 32 | place[1:][both], return_counts=True)
    first, second = triples >> 32, triples & 0xFFFFFFFF  # pairs, with the middle token in common
    chance, best = likeliest(first, counts, chance[second])
    often = np.add.reduceat(counts, starts(first)) >= FEWEST if len(first) else np.zeros(0, bool)
    contexts = pairs[first[best]] + (1 << TOKEN_BITS)  # the first token plus 1, so that it is not ANY
    return single, Found(contexts, pairs[second[best]] & LAST, chance[best]).some(often)


def likeliest(contexts: Integers, counts: Integers, shorter: Floats) -> tuple[Floats, Integers]:
    """The chance of each that follows a context, and where the likeliest of each context is.

    `contexts`: ascending; `shorter`: the chances by one token less."""
    first = starts(contexts)
    if not len(first):
        return np.zeros(0), np.zeros(0, np.int64)
    kinds = np.diff(np.append(first, len(contexts)))
    seen = np.repeat(np.add.reduceat(counts, first), kinds)
    chance = (counts - DISCOUNT + DISCOUNT * np.repeat(kinds, kinds) * shorter) / seen
    group = np.repeat(np.arange(len(first)), kinds)
    highest = np.flatnonzero(chance == np.maximum.reduceat(chance, first)[group])
    return chance, highest[starts(group[highest])]


def starts(groups: Integers) -> Integers:
    """Where each run of equal numbers, none of them -1, begins."""
    return np.flatnonzero(np.diff(groups, prepend=-1))


def odds(chance: Floats) -> Floats:
    """Logarithms of the odds of chances."""
    bounded = np.clip(chance, 1e-3, 1 - 1e-3)
    return np.log(bounded / (1 - bounded))
