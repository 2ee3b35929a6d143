"""Data of the models' dialog: downloads, local models, recommended ones, and results of the hub. Knows no Qt."""

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
from models.catalogue import CatalogueEntry
from models.collection import LocalModel
from models.download_queue import DownloadJob
from models.estimate import guess_estimate
from models.hub import RemoteModel, RepoResult
from models.locations import LocationKind
from models.titles import title_from_name, title_of

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
ORIGINS: dict[LocationKind, str] = {
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
    """Texts and actions of one model's row.

    `key` stays the same while the row changes. `fraction` is the progress of a download, None for other rows; `tone` is
    the colour of the verdict.
    """

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
    """Everything that the models' dialog shows.

    `words` filter local and recommended models; `results` and `files` are the hub's answers; `hidden` are the ids of
    finished jobs that the user has hidden; `loaded` is the path of the loaded model.
    """

    local_models: list[LocalModel] = field(default_factory=list)
    entries: tuple[CatalogueEntry, ...] = ()
    results: tuple[RepoResult, ...] = ()
    files: tuple[RemoteModel, ...] = ()
    jobs: tuple[DownloadJob, ...] = ()
    hidden: set[int] = field(default_factory=set)
    verdicts: dict[Hashable, Verdict] = field(default_factory=dict)
    loaded: Path | None = None
    words: str = ""

    def sections(self) -> dict[str, list[ModelRow]]:
        """Return the rows by section, in the order in which they are shown."""
        return {
            "jobs": [job_row(job) for job in self.jobs if job.id not in self.hidden and job.state != "cancelled"],
            "here": self._matching(self._local_row(model) for model in self.local_models),
            "hub": self._hub_rows(),
            "entries": self._matching(
                self._entry_row(entry) for entry in self.entries if not self.has_file(entry.file)
            ),
        }

    def has_file(self, file: str) -> bool:
        """Return whether a file of this name is on this computer or being downloaded."""
        jobs = (job.name for job in self.jobs if job.state != "cancelled")
        return file in jobs or any(path.name == file for model in self.local_models for path in model.files)

    def local_model(self, path: Path) -> LocalModel | None:
        return next((model for model in self.local_models if model.path == path), None)

    def questions(self) -> dict[Hashable, Ask]:
        """Return the questions for the planner about rows without a verdict, by the rows' keys."""
        questions: dict[Hashable, Ask] = {
            ("here", model.path): Ask(path=path_text(model.path)) for model in self.local_models if model.usable
        }
        questions |= {("entry", entry.id): Ask(estimate=entry.estimate) for entry in self.entries}
        questions |= {_file_key(model): Ask(estimate=self._guessed(model)) for model in self.files}
        return {key: ask for key, ask in questions.items() if key not in self.verdicts}

    def drafters_for(self, model: LocalModel) -> list[LocalModel]:
        """Return the smaller local models with the same vocabulary, which can draft for `model`."""
        facts = model.facts
        return [one for one in self.local_models if facts and one.facts and one.facts.can_draft_for(facts)]

    def _guessed(self, model: RemoteModel) -> Estimate:
        known = next((one for one in self.results if one.repo == model.files[0].repo), RepoResult(""))
        return guess_estimate(model.name, model.size, model.quantisation, known.parameters, known.n_ctx_train)

    def _hub_rows(self) -> list[ModelRow]:
        """Return a row for each result of the hub, followed by the rows of its files if the user has opened them."""
        rows = []
        for result in self.results:
            rows.append(result_row(result))
            rows += [self._file_row(model) for model in self.files if model.files[0].repo == result.repo]
        return rows

    def _local_row(self, model: LocalModel) -> ModelRow:
        return local_row(model, self.verdicts.get(("here", model.path)), model.path == self.loaded)

    def _entry_row(self, entry: CatalogueEntry) -> ModelRow:
        return entry_row(entry, self.verdicts.get(("entry", entry.id)))

    def _file_row(self, model: RemoteModel) -> ModelRow:
        return file_row(model, self.verdicts.get(_file_key(model)), self.has_file(model.name))

    def _matching(self, rows: Iterable[ModelRow]) -> list[ModelRow]:
        words = title_from_name(self.words).casefold().split()  # so that a file's name finds its model too
        return [row for row in rows if all(word in f"{row.title} {row.facts}".casefold() for word in words)]


def local_row(model: LocalModel, verdict: Verdict | None, loaded: bool) -> ModelRow:
    facts = model.facts
    words = [tr("in use")] if loaded else []
    if facts:
        words += [parameters(facts.parameters), facts.quantisation]
    words += [show_bytes(model.size), tr(ORIGINS[model.location.kind]), facts.licence if facts else ""]
    actions: list[Action] = []
    if model.usable:
        actions += ["unload", "options"] if loaded else ["load", "options"]
    if model.location.kind == "own" or model.location.path == model.path:
        actions += [] if loaded else ["remove"]
    elif model.location.kind == "added":
        actions += ["forget"]
    note = worded(model.problem)
    if model.usable:  # a usable model's note, such as a missing template, is no problem
        words.append(note)
    return ModelRow(
        key=("here", model.path),
        title=local_title(model),
        facts=" · ".join(filter(None, words)),
        verdict=verdict_words(verdict) if model.usable else "",
        tone=tone_of(verdict),
        problem="" if model.usable else note,
        actions=tuple(actions),
    )


def entry_row(entry: CatalogueEntry, verdict: Verdict | None) -> ModelRow:
    return ModelRow(
        key=("entry", entry.id),
        title=entry.title,
        facts=" · ".join((show_bytes(entry.size), entry.licence, tr(entry.about))),
        verdict=verdict_words(verdict),
        tone=tone_of(verdict),
        actions=("download",),
    )


def result_row(result: RepoResult) -> ModelRow:
    words = [parameters(result.parameters) if result.parameters else "", result.architecture, result.licence]
    words.append(tr_n("{n} download", "{n} downloads", result.downloads))
    gated = tr("Available only with an account on huggingface.co.") if result.gated else ""
    return ModelRow(
        key=("repo", result.repo),
        title=result.repo,
        facts=" · ".join(filter(None, words)),
        problem=gated,
        actions=() if result.gated else ("files",),
    )


def file_row(model: RemoteModel, verdict: Verdict | None, is_local: bool) -> ModelRow:
    """Return the row of one file of the hub; `is_local`: the file is on this computer or being downloaded."""
    return ModelRow(
        key=("file", model.files[0].repo, model.files[0].path),
        title=model.name,
        facts=" · ".join(
            filter(None, (model.quantisation, show_bytes(model.size), tr("on this computer") if is_local else ""))
        ),
        verdict=verdict_words(verdict),
        tone=tone_of(verdict),
        actions=() if is_local else ("download",),
    )


def job_row(job: DownloadJob) -> ModelRow:
    progress = job.progress
    words = [tr("{done} of {total}", done=show_bytes(progress.done), total=show_bytes(progress.total))]
    if job.state != "running":
        words.insert(0, tr(STATES[job.state]))
    else:
        words.insert(0, tr(PHASES[progress.phase]))
        if progress.speed:
            words.append(tr("{speed}/s", speed=show_bytes(int(progress.speed))))
        if progress.seconds_left is not None:
            words.append(tr("{time} left", time=duration(progress.seconds_left)))
    actions: dict[str, tuple[Action, ...]] = {
        "running": ("pause", "cancel"), "waiting": ("pause", "cancel"), "paused": ("resume", "cancel"),
        "failed": ("resume", "cancel"), "done": ("load", "hide"),
    }  # fmt: skip
    return ModelRow(
        key=("job", job.id),
        title=job.name,
        facts=" · ".join(words),
        problem=worded(job.problem),
        actions=actions.get(job.state, ()),
        fraction=progress.fraction,
    )


def local_title(model: LocalModel) -> str:
    """Return the model's title; Ollama may have one file under several names, so its own name is used there."""
    return model.name if model.location.kind == "ollama" else title_of(model.path)


def parameters(number: int) -> str:
    """Return a number of parameters as '135M' or '1.5B'."""
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
