"""Data of the models' dialog: downloads, local models, recommended ones, and results of the hub. Knows no Qt."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from app.dialogs.model_details import Details, details_of, weights
from app.model_fit import Tone, tone_of, verdict_words, writing_speed
from app.settings.servers import SavedServer
from app.words import mark, tr, tr_n, worded
from common.byte_sizes import show_bytes
from common.paths import path_text
from common.planning import Ask, Estimate, Verdict
from common.units import duration
from models.catalogue import CatalogueEntry
from models.choices import Choice, candidates, choice_of, choices
from models.collection import LocalModel
from models.download_queue import DownloadJob
from models.estimate import guess_estimate
from models.hub import HubModel, RepoResult
from models.licences import licence_name
from models.locations import LocationKind
from models.recommend import READING_SPEED, Candidate, Recommendation, rank, recommend
from models.servers import is_open
from models.titles import title_from_name, title_of

SECTIONS = {
    "jobs": mark("Downloads"),
    "here": mark("On this computer"),
    "servers": mark("On servers"),
    "hub": mark("Results from huggingface.co"),
    "entries": mark("Recommended"),
}
Action = Literal[
    "load", "loading", "unload", "options", "remove", "forget", "download", "files", "pause", "resume", "cancel",
    "hide", "use", "server",
]  # fmt: skip
ACTIONS: dict[Action, str] = {
    "load": mark("Load"),
    "loading": mark("Loading…"),  # in place of "load", so that nothing moves; it cannot be pressed
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
    "use": mark("Use"),
    "server": mark("Edit server…"),
}
ORIGINS: dict[LocationKind, str] = {
    "own": mark("downloaded"),
    "added": mark("added by you"),
    "built-in": mark("built in"),
    "lm-studio": mark("from LM Studio"),
    "ollama": mark("from Ollama"),
    "jan": mark("from Jan"),
    "gpt4all": mark("from GPT4All"),
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
BEST, FASTER = mark("Best for this computer"), mark("Faster")
Use = Literal["", "loading", "loaded"]
USES: dict[Use, str] = {"loading": mark("being loaded"), "loaded": mark("in use")}
STEPS: dict[Use, Action] = {"": "load", "loading": "loading", "loaded": "unload"}
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
    the colour of the verdict; `badge` says why it is recommended; `details` are the lines of the model's card.
    """

    key: Hashable
    title: str
    facts: str = ""
    verdict: str = ""
    tone: Tone = ""
    problem: str = ""
    actions: tuple[Action, ...] = ()
    fraction: float | None = None
    badge: str = ""
    details: Details = ()


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions for listing a model: it fits into memory, is good at something, knows a `language` ("" for any)."""

    fits: bool = False
    coding: bool = False
    thinking: bool = False
    vision: bool = False
    language: str = ""

    def admit(self, entry: CatalogueEntry | None, verdict: Verdict | None) -> bool:
        """Return whether a model meets the conditions. Without a catalogue `entry`, only its size can be judged."""
        if self.fits and verdict is not None and verdict.verdict not in ("fits", "tight"):
            return False
        if entry is None:
            return not (self.coding or self.thinking or self.vision or self.language)
        wanted = ((self.coding, entry.coding), (self.thinking, entry.thinking), (self.vision, entry.vision))
        return all(has or not want for want, has in wanted) and self.language in ("", *entry.languages)


@dataclass
class ModelList:
    """The content of the models' dialog.

    `words` and `filters` filter local and recommended models; `results` and `files` are the hub's answers; `hidden` are
    the ids of finished jobs that the user has hidden; `loaded` is the path of the loaded model, `loading` that of the
    one being loaded; `servers` are those that the user has connected to. `shown` has the places of the rows that the
    user has seen since the dialog was opened; verdicts and another model in use do not move them.
    """

    local_models: list[LocalModel] = field(default_factory=list)
    entries: tuple[CatalogueEntry, ...] = ()
    results: tuple[RepoResult, ...] = ()
    files: tuple[HubModel, ...] = ()
    jobs: tuple[DownloadJob, ...] = ()
    hidden: set[int] = field(default_factory=set)
    verdicts: dict[Hashable, Verdict] = field(default_factory=dict)
    loaded: Path | None = None
    loading: Path | None = None
    shown: dict[Hashable, int] = field(default_factory=dict)
    words: str = ""
    filters: Filters = Filters()
    servers: tuple[SavedServer, ...] = ()

    def sections(self) -> dict[str, list[ModelRow]]:
        """Return the rows by section, in the order in which they are shown.

        What was shown keeps its place; before the rest comes the model in use, then the best one. Recommended models
        are listed once the best of them is known.
        """
        ranked, badges = self._ranked(), self._badges()
        rows = {one.key: self._choice_row(one, badges.get(one.key, "")) for one in self._filtered(ranked)}
        here = [one for one in ranked if one.model]
        entries = [one for one in ranked if one.model is None and one.entry and not self.has_file(one.entry.file)]
        entries = [one for one in entries if not self.ranking or one.key in self.shown]
        unusable = [local_row(model, None, "") for model in self.local_models if not model.usable]
        return {
            "jobs": [job_row(job) for job in self.jobs if job.id not in self.hidden and job.state != "cancelled"],
            "here": self._matching([*_rows_of(here, rows), *self._unless_filtered(unusable)]),
            "servers": self._matching(self._unless_filtered(self._server_rows())),
            "hub": self._hub_rows(),
            "entries": self._matching(_rows_of(entries, rows)),
        }

    # --- recommendation ---

    def recommendation(self) -> Recommendation:
        """Return the best and a faster model for this computer, among those with a verdict."""
        return recommend(self._candidates())

    def best_here(self) -> Candidate | None:
        """Return the best model on this computer that fits and is quick: the highest tier, then the most weights."""
        here = [one for one in self._candidates() if choice_of(one).model and one.fits and one.speed >= READING_SPEED]
        return max(here, key=lambda one: (one.tier, _parameters(choice_of(one))), default=None)

    @property
    def ranking(self) -> bool:
        """Whether the planner has not yet answered for every model of the catalogue."""
        return any(("entry", entry.id) not in self.verdicts for entry in self.entries)

    @property
    def judged(self) -> bool:
        """Whether the planner has answered for every model."""
        return bool(self.entries) and all(one.key in self.verdicts for one in choices(self.entries, self.local_models))

    def _candidates(self) -> list[Candidate]:
        return candidates(choices(self.entries, self.local_models), self.verdicts)

    def _ranked(self) -> list[Choice]:
        """Return all choices in the order of `sections`; those without a verdict come after the others."""
        ranked = sorted(
            choices(self.entries, self.local_models),
            key=lambda one: rank(one.candidate(self.verdicts.get(one.key, Verdict()))),
            reverse=True,
        )
        return sorted(ranked, key=lambda one: self._place(one.key))

    def _place(self, key: Hashable) -> tuple[int, bool]:
        """Return a key that sorts rows: those that were shown as they were, then the model in use, then the others."""
        in_use = key in (("here", self.loaded), ("remote", self.loaded))
        return self.shown.get(key, len(self.shown)), not in_use

    def _filtered(self, models: Iterable[Choice]) -> list[Choice]:
        return [one for one in models if self.filters.admit(one.entry, self.verdicts.get(one.key))]

    def _unless_filtered(self, rows: list[ModelRow]) -> list[ModelRow]:
        return rows if self.filters == Filters() else []

    def _badges(self) -> dict[Hashable, str]:
        """Return why models are recommended, by the keys of those that are."""
        advice = self.recommendation()
        return {choice_of(one).key: tr(words) for words, one in ((BEST, advice.best), (FASTER, advice.faster)) if one}

    # --- rows ---

    def has_file(self, file: str) -> bool:
        """Return whether a file of this name is on this computer or being downloaded."""
        jobs = (job.name for job in self.jobs if job.state != "cancelled")
        return file in jobs or any(path.name == file for model in self.local_models for path in model.files)

    def local_model(self, path: Path) -> LocalModel | None:
        return next((model for model in self.local_models if model.path == path), None)

    def questions(self) -> dict[Hashable, Ask]:
        """Return the questions for the planner about rows without a verdict, by the rows' keys."""
        questions: dict[Hashable, Ask] = {("entry", one.id): Ask(estimate=one.estimate) for one in self.entries}
        questions |= {
            ("here", model.path): Ask(path=path_text(model.path)) for model in self.local_models if model.usable
        }
        questions |= {_file_key(model): Ask(estimate=self._guessed(model)) for model in self.files}
        return {key: ask for key, ask in questions.items() if key not in self.verdicts}

    def drafters_for(self, model: LocalModel) -> list[LocalModel]:
        """Return the smaller local models with the same vocabulary, which can draft for `model`."""
        facts = model.facts
        return [one for one in self.local_models if facts and one.facts and one.facts.can_draft_for(facts)]

    def _guessed(self, model: HubModel) -> Estimate:
        known = next((one for one in self.results if one.repo == model.files[0].repo), RepoResult(""))
        return guess_estimate(model.name, model.size, model.quantisation, known.parameters, known.n_ctx_train)

    def _hub_rows(self) -> list[ModelRow]:
        """Return a row for each result of the hub, followed by the rows of its files if the user has opened them."""
        rows = []
        for result in self.results:
            rows.append(result_row(result))
            rows += [self._file_row(model) for model in self.files if model.files[0].repo == result.repo]
        return rows

    def _server_rows(self) -> list[ModelRow]:
        """Return a row for each model of each server."""
        rows = [server_row(server, path, self._use_of(path)) for server in self.servers for path in server.paths]
        return sorted(rows, key=lambda row: self._place(row.key))

    def _use_of(self, path: Path) -> Use:
        return "loaded" if path == self.loaded else "loading" if path == self.loading else ""

    def _choice_row(self, choice: Choice, badge: str) -> ModelRow:
        verdict = self.verdicts.get(choice.key)
        if choice.model:
            row = local_row(choice.model, verdict, self._use_of(choice.model.path))
        else:
            assert choice.entry
            row = entry_row(choice.entry, verdict)
        details = details_of(choice, verdict)
        return replace(row, badge=badge, details=details)

    def _file_row(self, model: HubModel) -> ModelRow:
        return file_row(model, self.verdicts.get(_file_key(model)), self.has_file(model.name))

    def _matching(self, rows: Iterable[ModelRow]) -> list[ModelRow]:
        words = title_from_name(self.words).casefold().split()  # so that a file's name finds its model too
        return [row for row in rows if all(word in f"{row.title} {row.facts}".casefold() for word in words)]


def local_row(model: LocalModel, verdict: Verdict | None, use: Use) -> ModelRow:
    facts = model.facts
    words = [tr(USES[use])] if use else []
    if facts:
        words += [weights(facts.parameters), facts.quantisation]
    words += [show_bytes(model.size), tr(ORIGINS[model.location.kind]), licence_name(facts.licence) if facts else ""]
    actions: list[Action] = []
    if model.usable:
        actions += [STEPS[use], "options"]
    if model.location.kind == "own" or model.location.path == model.path:
        actions += [] if use else ["remove"]
    elif model.location.kind == "added":
        actions += ["forget"]
    note = worded(model.problem)
    if model.usable:  # a usable model's note, such as a missing template, is no problem
        words.append(note)
    return ModelRow(
        key=("here", model.path),
        title=local_title(model),
        facts=" · ".join(filter(None, words)),
        verdict=_judgement(verdict) if model.usable else "",
        tone=tone_of(verdict),
        problem="" if model.usable else note,
        actions=tuple(actions),
    )


def server_row(server: SavedServer, path: Path, use: Use) -> ModelRow:
    """Return the row of a model on a server; its host is in its title."""
    words = [tr(USES[use])] if use else []
    words += [server.name, tr("chats are sent there"), tr("not encrypted") * is_open(server.url)]
    return ModelRow(
        key=("remote", path),
        title=title_of(path),
        facts=" · ".join(filter(None, words)),
        actions=("server",) if use else ("use", "server"),
    )


def entry_row(entry: CatalogueEntry, verdict: Verdict | None) -> ModelRow:
    return ModelRow(
        key=("entry", entry.id),
        title=entry.title,
        facts=" · ".join((show_bytes(entry.size), licence_name(entry.licence), tr(entry.about))),
        verdict=_judgement(verdict),
        tone=tone_of(verdict),
        actions=("download",),
    )


def result_row(result: RepoResult) -> ModelRow:
    words = [weights(result.parameters) if result.parameters else "", result.architecture, licence_name(result.licence)]
    words.append(tr_n("{n} download", "{n} downloads", result.downloads))
    gated = tr("Available only with an account on huggingface.co.") if result.gated else ""
    return ModelRow(
        key=("repo", result.repo),
        title=result.repo,
        facts=" · ".join(filter(None, words)),
        problem=gated,
        actions=() if result.gated else ("files",),
    )


def file_row(model: HubModel, verdict: Verdict | None, is_local: bool) -> ModelRow:
    """Return the row of one file of the hub; `is_local`: the file is on this computer or being downloaded."""
    return ModelRow(
        key=("file", model.files[0].repo, model.files[0].path),
        title=model.name,
        facts=" · ".join(filter(None, (model.quantisation, _sizes(model), tr("on this computer") if is_local else ""))),
        verdict=_judgement(verdict),
        tone=tone_of(verdict),
        actions=() if is_local else ("download",),
    )


def _sizes(model: HubModel) -> str:
    """Return the size of the model, and what its projector adds."""
    size = show_bytes(model.size)
    if model.projector is None:
        return size
    return tr("{size}, and {more} to see pictures", size=size, more=show_bytes(model.projector.size))


def progress_words(job: DownloadJob) -> str:
    """Return state, bytes, speed and time left of a download."""
    progress = job.progress
    words = [tr("{done} of {total}", done=show_bytes(progress.done), total=show_bytes(progress.total))]
    if job.state != "running":
        words.insert(0, tr(STATES[job.state]))
    else:
        words.insert(0, tr(PHASES[progress.phase]))
        if progress.speed:
            words.append(tr("{speed}/s", speed=show_bytes(int(progress.speed))))
        if progress.seconds_left is not None:
            words.append(tr("{time} left", time=worded(duration(progress.seconds_left))))
    return " · ".join(words)


def job_row(job: DownloadJob) -> ModelRow:
    actions: dict[str, tuple[Action, ...]] = {
        "running": ("pause", "cancel"), "waiting": ("pause", "cancel"), "paused": ("resume", "cancel"),
        "failed": ("resume", "cancel"), "done": ("load", "hide"),
    }  # fmt: skip
    return ModelRow(
        key=("job", job.id),
        title=job.name,
        facts=progress_words(job),
        problem=worded(job.problem),
        actions=actions.get(job.state, ()),
        fraction=job.progress.fraction,
    )


def _judgement(verdict: Verdict | None) -> str:
    """Return whether the model fits, and how fast it writes."""
    return " · ".join(filter(None, (verdict_words(verdict), writing_speed(verdict))))


def local_title(model: LocalModel) -> str:
    """Return the model's title; Ollama may have one file under several names, so its own name is used there."""
    return model.name if model.location.kind == "ollama" else title_of(model.path)


def _file_key(model: HubModel) -> Hashable:
    return ("file", model.files[0].repo, model.files[0].path)


def _rows_of(models: Iterable[Choice], rows: Mapping[Hashable, ModelRow]) -> list[ModelRow]:
    return [rows[one.key] for one in models if one.key in rows]


def _parameters(choice: Choice) -> int:
    return choice.model.facts.parameters if choice.model and choice.model.facts else 0
