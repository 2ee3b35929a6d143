"""What the models' dialog shows, in sections: downloads, models here, suggestions, what the hub has. Knows no Qt."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from app.model_library.model_rows import ModelRow, entry_row, file_row, job_row, local_row, result_row
from app.words import mark
from common.paths import path_text
from common.planning import Ask, Estimate, Verdict
from models.catalogue import Entry
from models.collection import LocalModel
from models.downloads import Job
from models.estimate import guess
from models.hub import RemoteModel, RepoResult
from models.titles import cleaned

SECTIONS = {
    "jobs": mark("Downloads"),
    "here": mark("On this computer"),
    "hub": mark("Results from huggingface.co"),
    "entries": mark("Recommended"),
}


@dataclass
class ModelPage:
    """`words` filter what is here and suggested; `results` and `files` are what the hub answered; `hidden` jobs are
    over and were put away; `loaded` is the path of the model in use."""

    here: list[LocalModel] = field(default_factory=list)
    entries: tuple[Entry, ...] = ()
    results: tuple[RepoResult, ...] = ()
    files: tuple[RemoteModel, ...] = ()
    jobs: tuple[Job, ...] = ()
    hidden: set[int] = field(default_factory=set)
    verdicts: dict[Hashable, Verdict] = field(default_factory=dict)
    loaded: Path | None = None
    words: str = ""

    def sections(self) -> dict[str, list[ModelRow]]:
        """Rows by section, in the order they are shown."""
        return {
            "jobs": [job_row(job) for job in self.jobs if job.id not in self.hidden and job.state != "cancelled"],
            "here": self._matching(self._local(model) for model in self.here),
            "hub": self._found(),
            "entries": self._matching(self._entry(entry) for entry in self.entries if not self.has(entry.file)),
        }

    def has(self, file: str) -> bool:
        """Is a file of this name here, or on its way?"""
        jobs = (job.name for job in self.jobs if job.state != "cancelled")
        return file in jobs or any(path.name == file for model in self.here for path in model.files)

    def model(self, path: Path) -> LocalModel | None:
        return next((model for model in self.here if model.path == path), None)

    def questions(self) -> dict[Hashable, Ask]:
        """What the planner has not been asked yet, by the rows' keys."""
        asked: dict[Hashable, Ask] = {
            ("here", model.path): Ask(path=path_text(model.path)) for model in self.here if model.usable
        }
        asked |= {("entry", entry.id): Ask(estimate=entry.estimate) for entry in self.entries}
        asked |= {_file_key(model): Ask(estimate=self._guessed(model)) for model in self.files}
        return {key: ask for key, ask in asked.items() if key not in self.verdicts}

    def drafters_for(self, model: LocalModel) -> list[LocalModel]:
        """Smaller models here with the same vocabulary."""
        facts = model.facts
        return [one for one in self.here if facts and one.facts and one.facts.can_draft_for(facts)]

    def _guessed(self, model: RemoteModel) -> Estimate:
        known = next((one for one in self.results if one.repo == model.files[0].repo), RepoResult(""))
        return guess(model.name, model.size, model.quantisation, known.parameters, known.n_ctx_train)

    def _found(self) -> list[ModelRow]:
        """The results; under the one whose files were asked for, these."""
        rows = []
        for result in self.results:
            rows.append(result_row(result))
            rows += [self._file(model) for model in self.files if model.files[0].repo == result.repo]
        return rows

    def _local(self, model: LocalModel) -> ModelRow:
        return local_row(model, self.verdicts.get(("here", model.path)), model.path == self.loaded)

    def _entry(self, entry: Entry) -> ModelRow:
        return entry_row(entry, self.verdicts.get(("entry", entry.id)))

    def _file(self, model: RemoteModel) -> ModelRow:
        return file_row(model, self.verdicts.get(_file_key(model)), self.has(model.name))

    def _matching(self, rows: Iterable[ModelRow]) -> list[ModelRow]:
        words = cleaned(self.words).casefold().split()  # a file's name finds its model too
        return [row for row in rows if all(word in f"{row.title} {row.facts}".casefold() for word in words)]


def _file_key(model: RemoteModel) -> Hashable:
    return ("file", model.files[0].repo, model.files[0].path)
