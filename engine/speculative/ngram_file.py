"""The table of what usually comes next, counted for a model's vocabulary and kept from one start to the next."""

from __future__ import annotations

import logging

import msgspec
import numpy as np
from numpy.typing import NDArray

from common.store import Store
from engine.speculative.ngram_table import Entries, NgramTable

log = logging.getLogger("engine.draft")


class Arrays(msgspec.Struct, frozen=True):
    """A `NgramTable` as bytes, lowest first: `keys` of 8 bytes each, `tokens` of 4, the others of 1."""

    keys: bytes
    tokens: bytes
    chances: bytes
    languages: bytes

    def __post_init__(self) -> None:
        if not len(self.keys) == 2 * len(self.tokens) == 8 * len(self.chances):
            raise ValueError("arrays of different lengths")


# The version is also of the texts and how they are counted. A model's takes 5 to 6 MB.
PHRASES = Store("phrases", 2, Arrays, binary=True, most_entries=8, most_bytes=64 << 20)


def kept_phrases(model: str) -> NgramTable | None:
    """Of the model of this identity (`models.identity`); None if none can be read."""
    found = PHRASES.get(model)
    if found is None:
        return None
    keys, tokens = np.frombuffer(found.keys, "<i8"), np.frombuffer(found.tokens, "<u4")
    entries = Entries(keys.astype(np.int64, copy=False), tokens.astype(np.uint32, copy=False), _bytes(found.chances))
    return NgramTable(entries, _bytes(found.languages))


def keep_phrases(model: str, table: NgramTable) -> None:
    """In place of the oldest, if there are too many. Raises OSError."""
    keys, tokens = table.entries.keys.astype("<i8"), table.entries.tokens.astype("<u4")
    chances, languages = table.entries.chances.tobytes(), table.languages.tobytes()
    PHRASES.put(Arrays(keys.tobytes(), tokens.tobytes(), chances, languages), model)


def _bytes(raw: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(raw, np.uint8)
