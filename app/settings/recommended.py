"""What a model's makers recommend for its answers, by the catalogue: it holds where the user has set nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from app.settings.resolve import NOTHING, Values
from common.failures import Failure
from models.catalogue import CatalogueEntry, RecommendedSampling, catalogue
from models.recommend import entry_of_file
from models.titles import title_of


@dataclass(frozen=True, slots=True)
class Recommended:
    """Recommended values by the settings' names, for answers without and with thoughts, and strings that end answers.

    `stop` comes in addition to the tokens that the model's file names.
    """

    values: Values = field(default_factory=dict)
    thinking: Values = field(default_factory=dict)
    stop: tuple[str, ...] = ()


def recommended_for(model: Path | None) -> Recommended:
    """Return what the makers of the model at `model` recommend; nothing if the catalogue does not know it."""
    try:
        entry = entry_of_file(model, catalogue(), title_of(model)) if model else None
    except Failure:  # the installation lacks the catalogue; the models' dialog says so
        entry = None
    return recommended_by(entry) if entry else Recommended()


def recommended_by(entry: CatalogueEntry) -> Recommended:
    plain = _values(entry.sampling)
    return Recommended(plain, _values(entry.sampling_thinking) if entry.sampling_thinking else plain, entry.stop)


def _values(sampling: RecommendedSampling) -> Values:
    """Return the stated values by the settings' names.

    A presence penalty keeps small models out of loops as our repeat penalty does; both together distort the text.
    """
    found = msgspec.structs.asdict(sampling)
    if found["presence_penalty"] and found["repeat_penalty"] is None:
        found["repeat_penalty"] = 1.0
    return {f"answer.{name}": value for name, value in found.items() if value is not None} or NOTHING
