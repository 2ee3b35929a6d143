"""What a model's makers recommend for its answers: it holds where neither the user nor a program has set anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from common.failures import Failure
from engine.protocol.requests import Generate
from models.catalogue import CatalogueEntry, RecommendedSampling, catalogue
from models.default import BUILT_IN
from models.recommend import entry_of_file
from models.titles import title_of

Values = Mapping[str, float]  # by the names of Sampling's fields


@dataclass(frozen=True, slots=True)
class Recommended:
    """Recommended sampling for answers without and with thoughts, and strings that end answers.

    `stop` comes in addition to the tokens that the model's file names.
    """

    plain: Values = field(default_factory=dict)
    thinking: Values = field(default_factory=dict)
    stop: tuple[str, ...] = ()


def with_recommended(request: Generate, model: Path | None, given: Collection[str]) -> Generate:
    """Return the request with what the makers of `model` recommend, except for the fields of sampling in `given`."""
    recommended = recommended_for(model)
    plain, thinking = (
        replace(request.sampling, **{name: value for name, value in values.items() if name not in given})  # type: ignore[arg-type]
        for values in (recommended.plain, recommended.thinking)
    )
    stop = (*recommended.stop, *request.stop)
    return replace(request, sampling=plain, sampling_thinking=None if thinking == plain else thinking, stop=stop)


def recommended_for(model: Path | None) -> Recommended:
    """Return what the makers of the model at `model` recommend; nothing if the catalogue does not know it."""
    if model is None:
        return Recommended()
    if built_in := BUILT_IN.get(model.name.casefold()):
        return Recommended(_values(built_in.sampling), _values(built_in.sampling))
    try:
        entry = entry_of_file(model, catalogue(), title_of(model))
    except Failure:  # the installation lacks the catalogue; the models' dialog says so
        entry = None
    return recommended_by(entry) if entry else Recommended()


def recommended_by(entry: CatalogueEntry) -> Recommended:
    plain = _values(entry.sampling)
    return Recommended(plain, _values(entry.sampling_thinking) if entry.sampling_thinking else plain, entry.stop)


def _values(sampling: RecommendedSampling) -> Values:
    """Return the stated values.

    A presence penalty keeps small models out of loops as our repeat penalty does; both together distort the text.
    """
    values = msgspec.structs.asdict(sampling)
    if values["presence_penalty"] and values["repeat_penalty"] is None:
        values["repeat_penalty"] = 1.0
    return {name: value for name, value in values.items() if value is not None}
