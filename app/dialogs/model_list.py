"""What the models' dialog shows, in sections: downloads, models here, suggestions, what the hub has; each model as one
row of words and the actions that it allows. Knows no Qt.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.memory_plan import Tone, tone_of, verdict_words
from app.words import mark, tr, tr_n, worded
from common.byte_sizes import show_bytes
from common.paths import path_text
from common.planning import Ask, Estimate, Verdict
from models.catalogue import Entry
from models.collection import LocalModel
from models.downloads import Job
from models.estimate import guess
from models.hub import RemoteModel, RepoResult
from models.places import Kind
from models.titles import cleaned, title_of

SECTIONS = {
    "jobs": mark("Downloads"),
    "here": mark("On this computer"),
    "hub": mark("Results from huggingface.co"),
    "entries": mark("Recommended"),
}
Action = Literal[
    "load", "unload", "options", "remove", "forget", "download", "files", "pause", "resume", "cancel", "hide"
]
ACTIONS: dict[Action, str] = {
    "load": mark("Load"),
    "unload": mark("Unload"),
    "options": mark("Options…"),
    "remove": mark("Remove"),
    "forget": mark("Remove folder"),
    "download": mark("Download"),
    "files": mark("Show files"),
    "pause": mark("Pause"),
    "resume": mark("Resume"),
    "cancel": mark("Cancel"),
    "hide": mark("Hide"),
}
PLACES: dict[Kind, str] = {
    "own": mark("downloaded"),
    "added": mark("added by you"),
    "built-in": mark("built in"),
    "lm-studio": mark("from LM Studio"),
    "ollama": mark("from Ollama"),
    "hub": mark("from the Hugging Face cache"),
    "llama.cpp": mark("from llama.cpp"),
}
STATES = {
    "waiting": mark("Waiting"),
    "paused": mark("Paused"),
    "failed": mark("Stopped"),
    "done": mark("Done"),
    "cancelled": mark("Cancelled"),
}
PHASES = {
    "connecting": mark("Connecting"),
    "receiving": mark("Downloading"),
    "waiting": mark("Connection lost; retrying"),
    "checking": mark("Verifying"),
}


@dataclass(frozen=True, slots=True)
class ModelRow:
    """`key` stays the same while the row changes. `fraction`: of a download, else None; `tone`: of the verdict."""

    key: Hashable
    title: str
    facts: str = ""
    verdict: str = ""
    tone: Tone = ""
    problem: str = ""
    actions: tuple[Action, ...] = ()
    fraction: float | None = None


@dataclass
class ModelList:
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


def local_row(model: LocalModel, verdict: Verdict | None, loaded: bool) -> ModelRow:
    facts = model.facts
    said = [tr("in use")] if loaded else []
    if facts:
        said += [parameters(facts.parameters), facts.quantisation]
    said += [show_bytes(model.size), tr(PLACES[model.place.kind]), facts.licence if facts else ""]
    actions: list[Action] = []
    if model.usable:
        actions += ["unload", "options"] if loaded else ["load", "options"]
    if model.place.kind == "own" or model.place.path == model.path:
        actions += [] if loaded else ["remove"]
    elif model.place.kind == "added":
        actions += ["forget"]
    note = worded(model.problem)
    if model.usable:  # that it has no template is worth knowing, but no problem
        said.append(note)
    return ModelRow(
        key=("here", model.path),
        title=local_title(model),
        facts=" · ".join(filter(None, said)),
        verdict=verdict_words(verdict) if model.usable else "",
        tone=tone_of(verdict),
        problem="" if model.usable else note,
        actions=tuple(actions),
    )


def entry_row(entry: Entry, verdict: Verdict | None) -> ModelRow:
    return ModelRow(
        key=("entry", entry.id),
        title=entry.title,
        facts=" · ".join((show_bytes(entry.size), entry.licence, tr(entry.about))),
        verdict=verdict_words(verdict),
        tone=tone_of(verdict),
        actions=("download",),
    )


def result_row(result: RepoResult) -> ModelRow:
    said = [parameters(result.parameters) if result.parameters else "", result.architecture, result.licence]
    said.append(tr_n("{n} download", "{n} downloads", result.downloads))
    gated = tr("Available only with an account on huggingface.co.") if result.gated else ""
    return ModelRow(
        key=("repo", result.repo),
        title=result.repo,
        facts=" · ".join(filter(None, said)),
        problem=gated,
        actions=() if result.gated else ("files",),
    )


def file_row(model: RemoteModel, verdict: Verdict | None, here: bool) -> ModelRow:
    """`here`: it was or is being downloaded."""
    return ModelRow(
        key=("file", model.files[0].repo, model.files[0].path),
        title=model.name,
        facts=" · ".join(
            filter(None, (model.quantisation, show_bytes(model.size), tr("on this computer") if here else ""))
        ),
        verdict=verdict_words(verdict),
        tone=tone_of(verdict),
        actions=() if here else ("download",),
    )


def job_row(job: Job) -> ModelRow:
    progress = job.progress
    said = [tr("{done} of {total}", done=show_bytes(progress.done), total=show_bytes(progress.total))]
    if job.state != "running":
        said.insert(0, tr(STATES[job.state]))
    else:
        said.insert(0, tr(PHASES[progress.phase]))
        if progress.speed:
            said.append(tr("{speed}/s", speed=show_bytes(int(progress.speed))))
        if progress.seconds_left is not None:
            said.append(tr("{time} left", time=duration(progress.seconds_left)))
    actions: dict[str, tuple[Action, ...]] = {
        "running": ("pause", "cancel"), "waiting": ("pause", "cancel"), "paused": ("resume", "cancel"),
        "failed": ("resume", "cancel"), "done": ("load", "hide"),
    }  # fmt: skip
    return ModelRow(
        key=("job", job.id),
        title=job.name,
        facts=" · ".join(said),
        problem=worded(job.problem),
        actions=actions.get(job.state, ()),
        fraction=progress.fraction,
    )


def local_title(model: LocalModel) -> str:
    """Ollama may have one file under several names."""
    return model.name if model.place.kind == "ollama" else title_of(model.path)


def parameters(number: int) -> str:
    """'135M', '1.5B'."""
    if number >= 10**9:
        return f"{number / 1e9:.1f}B".replace(".0B", "B")
    return f"{number / 1e6:.0f}M"


def duration(seconds: float) -> str:
    minutes = int(seconds + 59) // 60
    if minutes >= 120:
        return tr("{hours} hours", hours=minutes // 60)
    return tr_n("{n} minute", "{n} minutes", max(1, minutes))


def _file_key(model: RemoteModel) -> Hashable:
    return ("file", model.files[0].repo, model.files[0].path)
