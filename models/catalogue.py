"""The curated models that are suggested for download: open licences, 0.1 to 8 billion weights. Asks no network.

Sizes are the published ones; digests are not in it, the hub's own are fetched with the file (`models.hub`).
"""

from __future__ import annotations

import tomllib
from functools import cache

import msgspec

from common.failures import Failure
from common.planning import Estimate
from models.assets import asset


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of the catalogue. `about` is one sentence; the numbers are those of `models.estimate.Estimate`."""

    id: str
    title: str
    repo: str
    file: str
    size: int
    licence: str
    quantisation: str
    about: str
    layers: int
    kv_width: int
    embedding: int
    feed_forward: int
    vocabulary: int
    context: int
    attention: int = 0

    @property
    def estimate(self) -> Estimate:
        return Estimate(
            name=self.title,
            size=self.size,
            layers=self.layers,
            kv_width=self.kv_width,
            embedding=self.embedding,
            feed_forward=self.feed_forward,
            vocabulary=self.vocabulary,
            n_ctx_train=self.context,
            attention=self.attention,
            quantisation=self.quantisation,
        )


class _File(msgspec.Struct):
    model: tuple[Entry, ...]


@cache
def catalogue() -> tuple[Entry, ...]:
    """From the smallest to the largest. Raises Failure when the installation lacks it."""
    path = asset("catalogue.toml")
    try:
        entries = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).model
    except (OSError, ValueError) as error:
        raise Failure("no_such_file.catalogue", str(error)) from error
    return tuple(sorted(entries, key=lambda entry: entry.size))


def entry_called(words: str) -> Entry | None:
    """By its id or title, or by its repository if that has one entry only."""
    same = [entry for entry in catalogue() if words.lower() in (entry.id.lower(), entry.title.lower())]
    same = same or [entry for entry in catalogue() if words == entry.repo]
    return same[0] if len(same) == 1 else None
