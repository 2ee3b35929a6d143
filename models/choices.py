"""Models that can be recommended on this computer: the catalogue's entries, and the files of them that are here."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.failures import Failure
from common.paths import path_text
from common.planning import Ask, Verdict
from models.catalogue import CatalogueEntry, catalogue
from models.collection import LocalModel
from models.default import BUILT_IN
from models.recommend import Candidate, entry_of_file
from models.titles import title_of


@dataclass(frozen=True, slots=True)
class Choice:
    """A model to choose: an entry of the catalogue to download, or a `model` on this computer.

    `entry` is None for a model on this computer that the catalogue does not know.
    """

    entry: CatalogueEntry | None
    model: LocalModel | None = None

    @property
    def key(self) -> Hashable:
        """The key of its row in the list of models: ('here', path) or ('entry', id)."""
        if self.model:
            return "here", self.model.path
        return "entry", self.entry.id if self.entry else ""

    @property
    def ask(self) -> Ask:
        """The question to the planner about it, with nothing required of the plan."""
        if self.model:
            return Ask(path=path_text(self.model.path))
        return Ask(estimate=self.entry.estimate if self.entry else None)

    def candidate(self, verdict: Verdict) -> Candidate:
        """Return it as a candidate for the recommendation; an unknown model has the lowest tier, 0."""
        tier = self.entry.tier if self.entry else 0
        return Candidate(self, tier, self.entry.size if self.entry and not self.model else 0, verdict)


def choices(entries: Iterable[CatalogueEntry], models: Iterable[LocalModel]) -> list[Choice]:
    """Return the usable models on this computer, then all entries of the catalogue."""
    entries = tuple(entries)
    return [*local_choices(entries, models), *(Choice(entry) for entry in entries)]


def local_choices(entries: Iterable[CatalogueEntry], models: Iterable[LocalModel]) -> Iterator[Choice]:
    """Yield the usable models on this computer, each with the catalogue's entry whose file it is."""
    entries = tuple(entries)
    for model in models:
        if model.usable:
            yield Choice(entry_of(model, entries), model)


def entry_of(model: LocalModel, entries: Iterable[CatalogueEntry]) -> CatalogueEntry | None:
    """Return the entry that this model is a file of, in any quantisation; None if it is another architecture."""
    entry = entry_of_file(model.path, entries, model.name)
    return entry if entry and model.facts and model.facts.architecture == entry.architecture else None


def tier_of_file(path: Path | None) -> int | None:
    """Return the quality tier of the model file at `path`, by its name: 0 for the built-in one, None if not known."""
    if path is None:
        return None
    if path.name.casefold() in BUILT_IN:
        return 0
    try:
        entry = entry_of_file(path, catalogue(), title_of(path))
    except Failure:  # the installation lacks the catalogue
        return None
    return entry.tier if entry else None


def candidates(choices: Iterable[Choice], verdicts: Mapping[Hashable, Verdict]) -> list[Candidate]:
    """Return the choices that have a verdict as candidates.

    An entry is left out if a file of it is here that fits: nothing needs to be downloaded then.
    """
    known = [choice.candidate(verdicts[choice.key]) for choice in choices if choice.key in verdicts]
    here = {choice_of(one).entry for one in known if choice_of(one).model and one.fits}
    return [one for one in known if choice_of(one).model or choice_of(one).entry not in here]


def choice_of(candidate: Candidate) -> Choice:
    """Return the choice that a candidate of `candidates` stands for."""
    assert isinstance(candidate.key, Choice)
    return candidate.key
