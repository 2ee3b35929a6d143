"""Catalogue of models that are suggested for download: the shipped one and what a fetched one adds. Never connects.

Sizes are the published ones. Digests are not listed here: the hub's own are fetched with the file (`models.hub`). A
catalogue may come from the hub (`models.catalogue_update`), so it is hostile input: texts, numbers and the count of
entries have limits, and it can only add or replace entries.
"""

from __future__ import annotations

import logging
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from common.failures import Failure
from common.files import read_small
from common.folders import data_folder
from common.paths import printable
from common.planning import Estimate
from common.sentences import Sentence
from models.assets import asset
from models.features import SNAPSHOTS
from models.hub import check_repo, is_safe_path

log = logging.getLogger(__name__)
FILE = "catalogue.toml"  # in the data folder: the catalogue that was fetched last
MOST_BYTES = 256 << 10  # ten times the shipped one
MOST_ENTRIES = 200

Id = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,39}\Z")]
Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}\Z")]
Language = Annotated[str, Meta(pattern=r"^[a-z]{2,3}\Z")]
Name = Annotated[str, Meta(min_length=1, max_length=60)]
Line = Annotated[str, Meta(max_length=240)]
Bytes = Annotated[int, Meta(ge=1, le=1 << 42)]
Weights = Annotated[int, Meta(ge=0, le=1 << 42)]
Dimension = Annotated[int, Meta(ge=1, le=1 << 24)]
Layers = Annotated[int, Meta(ge=1, le=1024)]
Share = Annotated[float, Meta(ge=0, le=1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]


class RecommendedSampling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of sampling that a model's makers recommend, as the engine names them; None where they say nothing."""

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_k: Annotated[int, Meta(ge=0, le=1000)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    min_p: Share | None = None
    repeat_penalty: Annotated[float, Meta(gt=0, le=2)] | None = None
    presence_penalty: Penalty | None = None


class CatalogueEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Model of the catalogue: one file of a repository on the hub, and what is known of it before it is downloaded.

    Attributes:
        licence_note: conditions of a licence that is not a plain open one.
        about: one sentence.
        architecture: the header's `general.architecture`.
        quantisations: those that the repository offers; `file` is of the first.
        parameters, active: weights, and those that take part in one token; 0 if all do.
        kv_layers: layers with keys and values; 0 if all have some. More numbers, also of windows and experts:
            `common.planning.Estimate`.
        state: bytes of the recurrent states of one chat.
        languages: ISO 639 codes of languages that its makers name.
        tier: quality from 1 to 10; `tier_source` says who measured it, and when.
        sampling: for answers without thoughts; `sampling_thinking`: for those with thoughts, None if the same.
        stop: strings that end an answer, besides the header's tokens.
        approximate: whether some numbers or the tier are estimates, because they are not published.
    """

    id: Id
    title: Name
    repo: str
    file: str
    size: Bytes
    licence: Name
    licence_note: Line = ""
    about: Line
    architecture: Word
    quantisations: Annotated[tuple[Word, ...], Meta(min_length=1, max_length=40)]
    parameters: Weights
    active: Weights = 0
    layers: Layers
    kv_layers: Annotated[int, Meta(ge=0, le=1024)] = 0
    kv_width: Dimension
    window: Annotated[int, Meta(ge=0, le=1 << 24)] = 0
    window_layers: Annotated[int, Meta(ge=0, le=1024)] = 0
    window_width: Annotated[int, Meta(ge=0, le=1 << 24)] = 0
    state: Weights = 0
    experts: Annotated[int, Meta(ge=0, le=1 << 16)] = 0
    used_experts: Annotated[int, Meta(ge=0, le=1 << 16)] = 0
    attention: Annotated[int, Meta(ge=0, le=1 << 24)] = 0
    embedding: Dimension
    feed_forward: Dimension
    vocabulary: Dimension
    context: Dimension
    coding: bool = False
    thinking: bool = False
    vision: bool = False
    languages: Annotated[tuple[Language, ...], Meta(max_length=250)]
    tier: Annotated[int, Meta(ge=1, le=10)]
    tier_source: Line
    sampling: RecommendedSampling = RecommendedSampling()
    sampling_thinking: RecommendedSampling | None = None
    stop: Annotated[tuple[Name, ...], Meta(max_length=16)] = ()
    approximate: bool = False

    def __post_init__(self) -> None:
        texts = (self.title, self.licence, self.licence_note, self.about, self.tier_source, *self.stop)
        if any(printable(text) != text for text in texts):
            raise ValueError(f"{self.id}: a text has characters that cannot be shown")
        try:
            check_repo(self.repo)
        except Failure as failure:
            raise ValueError(f"{self.id}: {failure}") from failure
        if not is_safe_path(self.file) or not self.file.lower().endswith(".gguf"):
            raise ValueError(f"{self.id}: {self.file[:80]!r} cannot be a model's file")
        parts = (
            (self.active, self.parameters),
            (self.kv_layers, self.layers),
            (self.window_layers, self.kv_layers or self.layers),
            (self.used_experts, self.experts),
        )
        if any(part > whole for part, whole in parts):
            raise ValueError(f"{self.id}: a part is larger than the whole")
        if bool(self.window) != bool(self.window_layers) or bool(self.experts) != bool(self.used_experts):
            raise ValueError(f"{self.id}: a number of windows or of experts is missing")

    @property
    def quantisation(self) -> str:
        return self.quantisations[0]

    @property
    def active_share(self) -> float:
        """Share of the weights that take part in one token."""
        return self.active / self.parameters if self.active else 1.0

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
            kv_layers=self.kv_layers,
            window=self.window,
            window_layers=self.window_layers,
            window_width=self.window_width,
            state_bytes=self.state,
            snapshots=self.state > 0 and self.architecture in SNAPSHOTS,
            experts=self.experts,
            used_experts=self.used_experts,
            active_share=self.active_share,
            quantisation=self.quantisation,
        )


class CatalogueFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a catalogue's file: `date` is the day on which it was written, like 2026-11-25."""

    date: Annotated[str, Meta(pattern=r"^20\d\d-[01]\d-[0-3]\d\Z")]
    model: Annotated[tuple[CatalogueEntry, ...], Meta(max_length=MOST_ENTRIES)]

    def __post_init__(self) -> None:
        for what in ("id", "title"):
            if len({getattr(entry, what) for entry in self.model}) < len(self.model):
                raise ValueError(f"two entries have the same {what}")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Entries from the smallest to the largest, and the date of the newest file that they come from.

    `problem` says why the fetched catalogue is not used, if it is damaged.
    """

    entries: tuple[CatalogueEntry, ...]
    date: str
    problem: Sentence | None = None


def parse_catalogue(content: bytes) -> CatalogueFile:
    """Return the catalogue in `content`. Raises ValueError if it breaks the format or a limit."""
    if len(content) > MOST_BYTES:
        raise ValueError(f"over {MOST_BYTES} bytes")
    try:
        return msgspec.convert(tomllib.loads(content.decode("utf-8")), CatalogueFile)
    except RecursionError as error:
        raise ValueError("values within values without end") from error


def catalogue() -> tuple[CatalogueEntry, ...]:
    """Return all entries from the smallest to the largest. Raises Failure if the installation lacks the catalogue."""
    return current_catalogue().entries


def current_catalogue() -> Catalogue:
    """Return the shipped catalogue, with the entries of a newer one if such a one was fetched. Raises Failure."""
    return _read(fetched_path())


def fetched_path() -> Path:
    """Return the path of the catalogue that was fetched last; there may be none."""
    return data_folder() / FILE


def forget_catalogue() -> None:
    """Read the catalogue anew when it is needed next, because the fetched one has changed."""
    _read.cache_clear()


def merged(shipped: CatalogueFile, fetched: CatalogueFile) -> CatalogueFile:
    """Return the shipped catalogue with the fetched one's entries added, or put in the place of those with their ids.

    Raises ValueError if two entries then have the same title.
    """
    entries = {entry.id: entry for entry in (*shipped.model, *fetched.model)}
    return CatalogueFile(fetched.date, tuple(entries.values()))


@cache
def shipped_catalogue() -> CatalogueFile:
    """Return the catalogue of this installation. Raises Failure."""
    try:
        return parse_catalogue(asset(FILE).read_bytes())
    except (OSError, ValueError) as error:
        raise Failure("no_such_file.catalogue", str(error)) from error


@cache
def _read(fetched: Path) -> Catalogue:
    newest, problem = shipped_catalogue(), None
    try:
        newer = parse_catalogue(read_small(fetched, MOST_BYTES + 1))
        if newer.date > newest.date:
            newest = merged(newest, newer)
    except FileNotFoundError:
        pass  # none was fetched
    except (OSError, ValueError) as error:
        log.warning("the fetched catalogue is not used: %s", error)
        problem = Sentence.of("bad_catalogue.here")
    return Catalogue(tuple(sorted(newest.model, key=lambda entry: entry.size)), newest.date, problem)


def find_entry(words: str) -> CatalogueEntry | None:
    """Return the entry with this id or title, or the only entry of this repository; None if no single one matches."""
    same = [entry for entry in catalogue() if words.lower() in (entry.id.lower(), entry.title.lower())]
    same = same or [entry for entry in catalogue() if words == entry.repo]
    return same[0] if len(same) == 1 else None
