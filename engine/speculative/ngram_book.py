"""What usually comes next, for the loaded model: read from the cache, or counted in idle time by another process.

It is counted in the sentences that come with Chickadee, in many languages, which takes some 10 seconds and 230 MB, once
for a model.
"""

from __future__ import annotations

import logging
import lzma
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from engine.costs.cost_model import CostModel
from engine.protocol import BackendName, DraftMode
from engine.run_subprocess import run_apart
from engine.speculative.ngram import StaticNgram
from engine.speculative.ngram_counts import counted
from engine.speculative.ngram_file import keep_phrases, kept_phrases
from engine.speculative.ngram_table import NgramTable
from engine.tokenization.tokens import ModelVocabulary, Vocabulary
from models.assets import asset
from models.failures import Failure
from models.header import read_header
from models.identity import file_identity

log = logging.getLogger("engine.phrases")

CHEAP = 1.3  # plain steps: where a pass of two tokens costs more, one right guess in six to ten does not pay
TOGETHER = 20  # sentences of a text, so that most words follow others


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

    def drafters(self, mode: DraftMode, table: CostModel | None) -> tuple[StaticNgram, ...]:
        """Its drafter, if `mode` is for it and there is one; in `auto` where it can pay."""
        wanted = mode == "phrases" or (mode == "auto" and can_pay(table))
        return (self._drafter,) if wanted and self._drafter else ()

    def count(self, table: CostModel | None) -> Iterator[None]:
        """Make it, if it can pay where passes cost what `table` says. The other process ends with this iterator."""
        if self._drafter or self._tried or not can_pay(table):
            return
        yield from self.count_now()

    def count_now(self) -> Iterator[None]:
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
        raise Failure("unwritable", f"The table of usual phrases cannot be kept: {error.strerror}.") from error
    return table


def can_pay(table: CostModel | None) -> bool:
    return table is not None and table.c(2) < CHEAP


def languages() -> list[Path]:
    """A file for each, in an order that does not change. Raises Failure when the installation lacks them."""
    found = sorted(asset("phrases").glob("*.txt.xz"))
    if not found:
        raise Failure("no_such_file", "The usual phrases are missing from this installation. Install Chickadee again.")
    return found


def texts(file: Path, vocabulary: Vocabulary) -> Iterator[list[int]]:
    """Tokens of one text after the other. Raises Failure when the file is damaged."""
    try:
        lines = lzma.decompress(file.read_bytes()).decode().splitlines()
    except (OSError, ValueError, lzma.LZMAError) as error:
        sentence = "The usual phrases of this installation are damaged. Install Chickadee again."
        raise Failure("no_such_file", sentence, f"{file.name}: {error}") from error
    for at in range(0, len(lines), TOGETHER):
        yield vocabulary.tokenize(" ".join(lines[at : at + TOGETHER]), special=False)
