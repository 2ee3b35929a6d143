"""Which kv-heads of a model may be compressed first, as `python -m engine rank-heads` found. Measures nothing."""

from __future__ import annotations

import msgspec

from common.store import Store
from engine.protocol import KVModeName
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.model import GraphModel
from engine.runtime.options import KVMode
from models.failures import Failure
from models.identity import file_identity

Head = tuple[int, int]  # layer, kv-head


class Price(msgspec.Struct, frozen=True):
    """Perplexity beside the plain model's, and the share of a plain cache's entries, with a share of the heads."""

    share: float
    ratio: float
    entries: float


class Ranking(msgspec.Struct, frozen=True):
    """`heads`: the least harmful first; `damage`: of each compressed alone, in nats per token (Kullback-Leibler)."""

    model: str
    mode: KVModeName
    tokens: int
    heads: tuple[Head, ...]
    damage: tuple[float, ...]
    prices: tuple[Price, ...] = ()

    def chosen(self, share: float) -> tuple[Head, ...]:
        return self.heads[: count_of(share, len(self.heads))]

    def price(self, share: float) -> Price | None:
        return next((price for price in self.prices if abs(price.share - share) < 1e-6), None)


RANKINGS = Store("rankings", 3, Ranking)


def count_of(share: float, heads: int) -> int:
    """How many heads a share of them is."""
    return max(1, round(share * heads))


def identity_of(model: GraphModel) -> str:
    return file_identity(model.path, model.header.data_offset)


def keep(ranking: Ranking) -> None:
    """Raises Failure where it cannot be written."""
    try:
        RANKINGS.put(ranking, ranking.model, ranking.mode)
    except OSError as error:
        sentence = f"The ranking cannot be kept in {RANKINGS.folder}: {error.strerror}."
        raise Failure("ranking_unwritable", sentence) from error


def read(identity: str, mode: str) -> Ranking | None:
    """What is kept for this model and mode; None if there is none, or it is of another or damaged."""
    return RANKINGS.get(identity, mode)


def heads_for(model: GraphModel, mode: KVMode) -> tuple[Head, ...]:
    """The heads that `mode` compresses; raises Failure where they are not known."""
    found = read(identity_of(model), mode.name)
    if found is None or not fits(found, model.dimensions):
        raise Failure(
            "no_ranking",
            f"Which heads of {model.path.name} can be kept shorter is not known yet for --kv {mode.name}. Run: "
            f"python -m engine rank-heads --kv {mode.name} --model {model.path}",
        )
    return found.chosen(mode.share)


def fits(ranking: Ranking, d: Dimensions) -> bool:
    """Are they all this model's heads, each once?"""
    return sorted(ranking.heads) == [(layer, head) for layer in range(d.layers) for head in range(d.kv_heads)]
