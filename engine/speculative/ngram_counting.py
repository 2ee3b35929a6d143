"""The n-gram table of the loaded model: loaded from the cache, or counted in idle time by another process.

The counted text is the sentences in many languages that come with Chickadee (`assets/phrases`). Counting takes some 10
seconds and 230 MB, once per model. The chances are those of an interpolated model with absolute discounting (Ney, Essen
and Kneser, 1994) over the last two tokens and the last one. An entry for two tokens is left out if it tells no more
than the one for the last token.
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
from engine.protocol.requests import BackendName
from engine.run_subprocess import run_engine_command
from engine.speculative.static_ngram import (
    CHANCE_STEPS,
    MAX_VOCABULARY,
    TOKEN_BITS,
    UNKNOWN,
    Arrays,
    NgramTable,
    StaticNgram,
    load_ngram_table,
    store_ngram_table,
)
from engine.tokenization.tokens import ModelVocabulary, Vocabulary
from models.assets import asset
from models.header import read_header
from models.identity import file_identity

log = logging.getLogger("engine.phrases")

MAX_TWO_TOKEN_COST = 1.3  # plain steps; if a pass of two tokens costs more, one right draft in six to ten does not pay
SENTENCES_PER_TEXT = 20  # joined, so that most words follow another word
DISCOUNT = 0.8  # taken off each count and spread by the chances after one token less (absolute discounting)
MIN_PAIR_COUNT = 2  # times that a pair was followed; for rarer pairs the last token alone is a better guide
MIN_CHANCE = 0.04  # likelier followers get an entry
SAME_LOG_ODDS = 0.25  # a pair's entry must differ by more from the last token's entry with the same follower
TYPICAL_RATIO = 3.0  # a token is typical of a language in which it is this many times as frequent as in any other
MIN_TOKEN_COUNT = 3  # occurrences of a typical token
BREAK = -1  # stands between texts
TOKEN_MASK = (1 << TOKEN_BITS) - 1

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class NgramCounter:
    """Owner of a model's n-gram table, which it loads from the cache or has another process count.

    The model lies at `path` and has this `identity`; the library `name` splits its text into tokens.
    """

    def __init__(self, path: Path, identity: str, name: BackendName) -> None:
        self.identity = identity
        self._command = ["phrases", "--backend", name, "--model", str(path)]
        self._has_counted = False
        self.drafter: StaticNgram | None = None  # None before the table was counted
        self._load_table()

    def _load_table(self) -> None:
        table = load_ngram_table(self.identity)
        self.drafter = StaticNgram(table) if table else None

    def count(self, costs: CostModel | None) -> Iterator[None]:
        """Count the table if it can pay at these `costs` and does not exist yet; yield while the other process runs.

        That process ends with this iterator.
        """
        if self.drafter or self._has_counted or not can_pay(costs):
            return
        yield from self.count_now()

    def count_now(self) -> Iterator[None]:
        """Count the table, whatever passes cost; yield while the other process runs."""
        for code in run_engine_command(*self._command):
            if code is None:
                yield
            else:
                self._has_counted = True
                log.info("counting common phrases ended with code %d", code)
        self._load_table()


def load_or_build_table(path: Path, vocabulary: AbstractContextManager[ModelVocabulary]) -> NgramTable:
    """Return the table of the model at `path`: the stored one, or count it with this vocabulary and store it.

    Raises Failure.
    """
    identity = file_identity(path, read_header(path).data_offset)
    if table := load_ngram_table(identity):
        return table
    with vocabulary as words:
        table = build_table((read_texts(file, words) for file in sentence_files()), words.n_tokens)
    try:
        store_ngram_table(identity, table)
    except OSError as error:
        raise Failure("unwritable.phrases", reason=error.strerror) from error
    return table


def can_pay(costs: CostModel | None) -> bool:
    """Return whether drafts pay at these costs that are right in one of six to ten cases."""
    return costs is not None and costs.c(2) < MAX_TWO_TOKEN_COST


def sentence_files() -> list[Path]:
    """Return one file of sentences per language, always in the same order.

    Raises Failure if the installation lacks them.
    """
    files = sorted(asset("phrases").glob("*.txt.xz"))
    if not files:
        raise Failure("no_such_file.phrases")
    return files


def read_texts(file: Path, vocabulary: Vocabulary) -> Iterator[list[int]]:
    """Yield the tokens of one text after the other from a file of sentences. Raises Failure if the file is damaged."""
    try:
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise Failure("no_such_file.phrases_damaged", f"{file.name}: {error}") from error
    for at in range(0, len(lines), SENTENCES_PER_TEXT):
        yield vocabulary.tokenize(" ".join(lines[at : at + SENTENCES_PER_TEXT]), special=False)


@dataclass(frozen=True, slots=True)
class Followers:
    """Arrays of equal length: contexts or whole keys of the table, the tokens that follow, and their chances."""

    contexts: Integers
    tokens: Integers
    chances: Floats

    @classmethod
    def joined(cls, parts: Sequence[Followers]) -> Followers:
        """Return the entries of all parts, one part after the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))

    def select(self, which: NDArray[np.bool_] | Integers) -> Followers:
        """Return the entries that are marked in `which`, or those at its indices, in their order."""
        return Followers(self.contexts[which], self.tokens[which], self.chances[which])


def build_table(languages: Iterable[Iterable[Sequence[int]]], n_vocab: int) -> NgramTable:
    """Return the table of these texts' tokens; languages are numbered in their order.

    For the largest language this takes some 150 bytes per token meanwhile. Raises ValueError for a vocabulary that is
    too large.
    """
    if n_vocab > MAX_VOCABULARY:
        raise ValueError(f"a vocabulary of {n_vocab:,} tokens is too large")
    entries, frequencies = [], []
    for number, texts in enumerate(languages):
        tokens = np.concatenate([np.array([BREAK]), *(np.array([*text, BREAK], np.int64) for text in texts)])
        entries.append(build_entries(number, tokens))
        frequencies.append(np.bincount(tokens[tokens != BREAK], minlength=n_vocab))
    table = Followers.joined(entries)
    return NgramTable(
        Arrays(
            keys=table.contexts.astype("<i8").tobytes(),
            tokens=table.tokens.astype("<u4").tobytes(),
            chances=np.round(table.chances * CHANCE_STEPS).astype(np.uint8).tobytes(),
            languages=typical_languages(np.array(frequencies)).tobytes(),
        )
    )


def typical_languages(counts: Integers) -> NDArray[np.uint8]:
    """Return the language that each token is typical of, or UNKNOWN, from `counts` [languages, vocabulary]."""
    shares = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1)
    best = np.argmax(shares, axis=0)
    highest = np.max(shares, axis=0)
    np.put_along_axis(shares, best[None], 0, axis=0)
    known = (highest >= TYPICAL_RATIO * np.max(shares, axis=0)) & (counts.max(axis=0) >= MIN_TOKEN_COUNT)
    return np.where(known, best, UNKNOWN).astype(np.uint8)


def build_entries(language: int, tokens: Integers) -> Followers:
    """Return a language's entries by ascending keys. `tokens`: all its texts, with BREAK before and behind each."""
    single, double = likeliest_followers(tokens)
    place = np.searchsorted(single.contexts, double.contexts & TOKEN_MASK)
    same = single.tokens[place] == double.tokens
    informative = ~same | (np.abs(log_odds(single.chances[place]) - log_odds(double.chances)) >= SAME_LOG_ODDS)
    double = double.select(informative & ((double.chances >= MIN_CHANCE) | (single.chances[place] >= MIN_CHANCE)))
    single = single.select(single.chances >= MIN_CHANCE)
    entries = Followers.joined([single, double])
    keys = entries.contexts | language << 2 * TOKEN_BITS
    return Followers(keys, entries.tokens, entries.chances).select(np.argsort(keys))


def likeliest_followers(tokens: Integers) -> tuple[Followers, Followers]:
    """Return the likeliest follower of each single token, and of each pair of tokens.

    Pairs that were followed fewer than MIN_PAIR_COUNT times are left out.
    """
    inside = (tokens[:-1] != BREAK) & (tokens[1:] != BREAK)
    joined = tokens[:-1][inside] << TOKEN_BITS | tokens[1:][inside]
    pairs, of_pair, counts = np.unique(joined, return_inverse=True, return_counts=True)
    chance, best = smoothed_chances(pairs >> TOKEN_BITS, counts, np.zeros(len(pairs)))
    single = Followers(pairs[best] >> TOKEN_BITS, pairs[best] & TOKEN_MASK, chance[best])

    place = np.full(len(tokens), BREAK)  # index in `pairs` of each token with the next one
    place[:-1][inside] = of_pair
    both = (place[:-1] != BREAK) & (place[1:] != BREAK)
    triples, counts = np.unique(place[:-1][both] << 32 | place[1:][both], return_counts=True)
    first, second = triples >> 32, triples & 0xFFFFFFFF  # pairs that share the middle token
    chance, best = smoothed_chances(first, counts, chance[second])
    often = np.add.reduceat(counts, run_starts(first)) >= MIN_PAIR_COUNT if len(first) else np.zeros(0, bool)
    contexts = pairs[first[best]] + (1 << TOKEN_BITS)  # plus 1 on the first token, because 0 is ANY
    return single, Followers(contexts, pairs[second[best]] & TOKEN_MASK, chance[best]).select(often)


def smoothed_chances(contexts: Integers, counts: Integers, shorter: Floats) -> tuple[Floats, Integers]:
    """Return the chance of each follower of a context, and the index of each context's likeliest follower.

    `contexts`: ascending; `counts`: of each follower; `shorter`: its chance given one token less.
    """
    first = run_starts(contexts)
    if not len(first):
        return np.zeros(0), np.zeros(0, np.int64)
    kinds = np.diff(np.append(first, len(contexts)))
    seen = np.repeat(np.add.reduceat(counts, first), kinds)
    chance = (counts - DISCOUNT + DISCOUNT * np.repeat(kinds, kinds) * shorter) / seen
    group = np.repeat(np.arange(len(first)), kinds)
    highest = np.flatnonzero(chance == np.maximum.reduceat(chance, first)[group])
    return chance, highest[run_starts(group[highest])]


def run_starts(groups: Integers) -> Integers:
    """Return the indices where runs of equal numbers begin; -1 must not occur."""
    return np.flatnonzero(np.diff(groups, prepend=-1))


def log_odds(chance: Floats) -> Floats:
    """Return the logarithms of the odds of chances, which are limited to 0.001 … 0.999."""
    bounded = np.clip(chance, 1e-3, 1 - 1e-3)
    return np.log(bounded / (1 - bounded))
