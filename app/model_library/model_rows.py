"""What the window says about models: each as one row of words and the actions that it allows. Knows no Qt."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from app.plan_words import Tone, tone_of, verdict_words
from app.words import mark, tr, tr_n, worded
from common.byte_sizes import show_bytes
from common.planning import Verdict
from models.catalogue import Entry
from models.collection import LocalModel
from models.downloads import Job
from models.hub import RemoteModel, RepoResult
from models.places import Kind
from models.titles import title_of

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
