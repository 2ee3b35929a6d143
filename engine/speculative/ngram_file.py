"""The table of what usually comes next, counted for a model's vocabulary and kept from one start to the next."""

from __future__ import annotations

import hashlib
import io
import logging
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

from common.files import write_atomically
from common.folders import cache_folder
from engine.speculative.ngram_table import Entries, NgramTable

log = logging.getLogger("engine.draft")

MOST_KEPT = 8  # models: 5 to 6 MB each
VERSION = 1  # of the format, and of the texts and how they are counted
TYPES = {"keys": np.int64, "tokens": np.uint32, "chances": np.uint8, "languages": np.uint8}


def _path(model: str) -> Path:
    name = hashlib.sha256(f"{model} {VERSION}".encode()).hexdigest()[:32]
    return cache_folder() / "phrases" / f"{name}.npz"


def kept_phrases(model: str) -> NgramTable | None:
    """Of the model of this identity (`models.identity`); None if none can be read."""
    try:
        with _path(model).open("rb") as file:
            found = np.load(file, allow_pickle=False)
            if not isinstance(found, NpzFile):
                raise ValueError("it is a single array")
            arrays = {name: found[name] for name in TYPES}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        log.warning("The kept table of usual phrases cannot be read (%s); it is made again.", error)
        return None
    sizes = {len(arrays[name]) for name in ("keys", "tokens", "chances") if arrays[name].ndim == 1}
    if len(sizes) != 1 or any(arrays[name].ndim != 1 or arrays[name].dtype != kind for name, kind in TYPES.items()):
        log.warning("The kept table of usual phrases is damaged; it is made again.")
        return None
    return NgramTable(Entries(arrays["keys"], arrays["tokens"], arrays["chances"]), arrays["languages"])


def keep_phrases(model: str, table: NgramTable) -> None:
    """In place of the oldest, if MOST_KEPT others are kept. Raises OSError."""
    file = io.BytesIO()
    entries = table.entries
    np.savez(file, keys=entries.keys, tokens=entries.tokens, chances=entries.chances, languages=table.languages)
    path = _path(model)
    write_atomically(path, file.getvalue())
    for other in sorted(path.parent.glob("*.npz"), key=lambda kept: kept.stat().st_mtime)[:-MOST_KEPT]:
        other.unlink(missing_ok=True)
