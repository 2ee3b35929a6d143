"""The queue of downloads: one at a time, each can be paused and cancelled, and what was unfinished is offered again.

A thread of its own does the work. Listeners are called from that thread or the caller's: a window passes it on.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from common.failures import Failure
from common.paths import shown
from common.sentences import Sentence
from models.download import Download
from models.hub import Hub, RemoteFile, RemoteModel, is_safe_path
from models.network import Network
from models.part_file import PartFile, Source, check_room
from models.places import own_folder
from models.progress import Progress
from models.split import part_names

log = logging.getLogger(__name__)
State = Literal["waiting", "running", "paused", "failed", "done", "cancelled"]


@dataclass(frozen=True, slots=True)
class Job:
    """One model's download. `problem`: why it failed; `path` its first file once it is done."""

    id: int
    name: str
    state: State
    progress: Progress
    problem: Sentence | None = None
    path: Path | None = None

    @property
    def over(self) -> bool:
        return self.state in ("done", "cancelled")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The files of a model, and where each is to lie."""

    name: str
    files: tuple[tuple[Source, Path], ...]

    @property
    def size(self) -> int:
        return sum(source.size for source, _ in self.files)

    @property
    def path(self) -> Path:
        """The model's first file, which may be here already."""
        target = self.files[0][1]
        return target.with_name(part_names(target.name)[0])

    def here(self) -> int:
        """Bytes that are there already."""
        return sum(_size(target) or _size(PartFile(target).path) for _, target in self.files)

    def run(self, network: Network, started: Callable[[Download], None] = lambda _download: None) -> Iterator[Progress]:
        """Downloads one file after the other; the progress is that of all. Raises Failure."""
        self._note()
        before = 0
        for source, target in self.files:
            download = Download(source, target, network)
            started(download)
            for progress in download.run():
                yield replace(progress, done=before + progress.done, total=self.size)
            before += source.size

    def _note(self) -> None:
        """Write down what is still to come, so that a restart knows of parts that were not begun, and see that there
        is room for all of it."""
        to_come = [(source, PartFile(target)) for source, target in self.files if not target.exists()]
        for source, part in to_come:
            noted = part.source()
            if noted is None or noted.sha256 != source.sha256:
                part.note(source)
        if to_come:
            check_room(to_come[0][1].target, self.size - self.here())


def wanted(model: RemoteModel, hub: Hub, folder: Path | None = None) -> Wanted:
    """Where the hub's model is to lie: in our folder, under its repository's name. Raises Failure."""
    folder = folder or own_folder()
    return Wanted(model.name, tuple((_source(file, hub), _target(file, folder)) for file in model.files))


def _source(file: RemoteFile, hub: Hub) -> Source:
    return Source(hub.address_of(file), file.size, file.sha256, "", file.repo, file.path, file.commit)


def _target(file: RemoteFile, folder: Path) -> Path:
    where = f"{file.repo}/{file.path}"
    if not is_safe_path(where):
        raise Failure("refused.file_name", name=file.path[:80])
    return folder.joinpath(*where.split("/"))


def unfinished(folder: Path | None = None) -> Iterator[Wanted]:
    """Downloads that an earlier run began and did not end; of a model in parts those that are missing."""
    folder = folder or own_folder()
    models: dict[Path, list[tuple[Source, Path]]] = {}
    for state in sorted(folder.rglob("*.part.json")) if folder.is_dir() else ():
        target = state.with_name(state.name.removesuffix(".part.json"))
        source = PartFile(target).source()
        if source:
            models.setdefault(target.with_name(part_names(target.name)[0]), []).append((source, target))
    for first, files in models.items():
        yield Wanted(shown(first), tuple(files))


class Downloads:
    """`listeners` get a Job whenever it changes. `close` ends the thread and keeps the parts."""

    def __init__(self, network: Network | None = None) -> None:
        self.listeners: list[Callable[[Job], None]] = []
        self._network = network or Network()
        self._jobs: dict[int, Job] = {}
        self._wanted: dict[int, Wanted] = {}
        self._running: Download | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def jobs(self) -> tuple[Job, ...]:
        with self._changed:
            return tuple(self._jobs.values())

    def add(self, model: Wanted, state: State = "waiting") -> Job:
        """Put it at the end of the queue; a model that is in it already is resumed."""
        with self._changed:
            for id, other in self._wanted.items():
                if other.path == model.path and not self._jobs[id].over:
                    self._wanted[id] = model
                    job = self._jobs[id]
                    break
            else:
                id = len(self._jobs) + 1
                self._wanted[id] = model
                job = self._jobs[id] = Job(id, model.name, state, Progress("connecting", model.here(), model.size))
        if state == "waiting":
            self.resume(job.id)
        else:
            self._tell(job)
        return self._jobs[job.id]

    def resume(self, id: int) -> None:
        """Also what failed."""
        self._set(id, "waiting", ("paused", "failed", "waiting"), problem=None)
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="downloads", daemon=True)
                self._thread.start()

    def pause(self, id: int) -> None:
        self._set(id, "paused", ("waiting", "running"))

    def pause_all(self) -> None:
        for job in self.jobs:
            self.pause(job.id)

    def cancel(self, id: int) -> None:
        """Delete what has arrived."""
        was_running = self._set(id, "cancelled", ("waiting", "running", "paused", "failed")) == "running"
        if not was_running:
            self._discard(id)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            if self._running:
                self._running.shutdown()
            thread = self._thread
        if thread:
            thread.join(timeout=5)

    def wait(self, seconds: float = 60) -> bool:
        """Until nothing is waiting or running; False if it is after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(map(_busy, self._jobs.values())), seconds)

    # --- the thread ---

    def _work(self) -> None:
        while (id := self._next()) is not None:
            try:
                self._do(id)
            except Failure as failure:
                log.info("%s: %s %s", failure.code, failure, failure.detail)
                self._set(id, "failed", ("running",), problem=failure.sentence)
            except Exception:
                log.exception("bug in a download")
                self._set(id, "failed", ("running",), problem=Sentence.of("internal.download"))
            finally:
                self._running = None
            if self._jobs[id].state == "cancelled":
                self._discard(id)

    def _next(self) -> int | None:
        with self._changed:
            while not self._closed:
                waiting = [id for id, job in self._jobs.items() if job.state == "waiting"]
                if waiting:
                    self._jobs[waiting[0]] = replace(self._jobs[waiting[0]], state="running")
                    return waiting[0]
                self._changed.wait()
        return None

    def _do(self, id: int) -> None:
        self._tell(self._jobs[id])
        steps = self._wanted[id].run(self._network, self._began)
        try:
            for progress in steps:
                if self._closed or not self._advance(id, progress):
                    return
        except Failure:
            if self._closed or self._jobs[id].state != "running":  # a read that was ended because of that
                return
            raise
        finally:
            steps.close()  # type: ignore[attr-defined]
        self._set(id, "done", ("running",), path=self._wanted[id].path)

    def _began(self, download: Download) -> None:
        self._running = download

    def _advance(self, id: int, progress: Progress) -> bool:
        """Show it; False when the job shall not go on."""
        with self._changed:
            job = self._jobs[id] = replace(self._jobs[id], progress=progress)
        if job.state == "running":
            self._tell(job)
        return job.state == "running"

    def _set(
        self, id: int, state: State, only: tuple[State, ...], problem: Sentence | None = None, path: Path | None = None
    ) -> State:
        """Change a job's state if it is one of `only`; returns the one before."""
        with self._changed:
            job = self._jobs[id]
            if job.state not in only:
                return job.state
            self._jobs[id] = replace(job, state=state, problem=problem, path=path)
            if job.state == "running" and state in ("paused", "cancelled") and self._running:
                self._running.shutdown()
            self._changed.notify_all()
        self._tell(self._jobs[id])
        return job.state

    def _discard(self, id: int) -> None:
        files = self._wanted[id].files
        for _, target in files:
            PartFile(target).delete()
            if len(files) > 1:  # parts of a model that will never be whole
                with contextlib.suppress(OSError):
                    target.unlink(missing_ok=True)

    def _tell(self, job: Job) -> None:
        for listener in list(self.listeners):
            listener(job)


def _busy(job: Job) -> bool:
    return job.state in ("waiting", "running")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
