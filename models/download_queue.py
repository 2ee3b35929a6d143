"""Queue of model downloads: one runs at a time, each can be paused and cancelled, unfinished ones are offered again.

A thread of its own does the work. Listeners are called from that thread or from the caller's, so a window must forward
the call to its own thread.
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
from common.paths import display_name
from common.sentences import Sentence
from models.arrival import check_arrival
from models.download import Download
from models.hub import Hub, RemoteFile, RemoteModel, is_safe_path
from models.locations import own_folder
from models.network import Network
from models.part_file import PartFile, Source, check_room
from models.progress import DownloadProgress
from models.projector import is_projector_name, own_projectors
from models.split import part_names

log = logging.getLogger(__name__)
State = Literal["waiting", "running", "paused", "failed", "done", "cancelled"]


@dataclass(frozen=True, slots=True)
class DownloadJob:
    """State of one model's download.

    `problem` says why it failed, or what is odd about a finished model; `path` is the first file of a finished model.
    """

    id: int
    name: str
    state: State
    progress: DownloadProgress
    problem: Sentence | None = None
    path: Path | None = None

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "cancelled")


@dataclass(frozen=True, slots=True)
class ModelDownload:
    """Model to download: the source of each of its files and the path where it is to lie."""

    name: str
    files: tuple[tuple[Source, Path], ...]

    @property
    def size(self) -> int:
        return sum(source.size for source, _ in self.files)

    @property
    def path(self) -> Path:
        """Path of the model's first file, which may exist already."""
        target = self.files[0][1]
        return target.with_name(part_names(target.name)[0])

    def bytes_on_disk(self) -> int:
        """Return the bytes that are on the disk already, complete files and parts."""
        return sum(_size(target) or _size(PartFile(target).path) for _, target in self.files)

    def run(
        self, network: Network, started: Callable[[Download], None] = lambda _download: None
    ) -> Iterator[DownloadProgress]:
        """Download one file after the other and yield the progress over all of them. Raises Failure.

        `started` is called with each file's download.
        """
        self._write_notes()
        before = 0
        for source, target in self.files:
            download = Download(source, target, network)
            started(download)
            for progress in download.run():
                yield replace(progress, done=before + progress.done, total=self.size)
            before += source.size

    def check(self) -> Sentence | None:
        """Return a sentence if the downloaded model is not what the catalogue had said of it."""
        source = self.files[0][0]
        if is_projector_name(self.path.name):  # all that was missing
            return None
        return check_arrival(self.path, source.repo, source.path)

    def _write_notes(self) -> None:
        """Write a note for each missing file, and check that the disk has room for all.

        A restart then also knows of files whose download had not begun.
        """
        to_come = [(source, PartFile(target)) for source, target in self.files if not target.exists()]
        for source, part in to_come:
            noted = part.read_note()
            if noted is None or noted.sha256 != source.sha256:
                part.write_note(source)
        if to_come:
            check_room(to_come[0][1].target, self.size - self.bytes_on_disk())


def plan_download(model: RemoteModel, hub: Hub, folder: Path | None = None) -> ModelDownload:
    """Return the download of a hub model, with its projector, into our folder, below its repository's name.

    Raises Failure.
    """
    folder = folder or own_folder()
    return ModelDownload(model.name, tuple((_source(file, hub), _target(file, folder)) for file in model.all_files))


def _source(file: RemoteFile, hub: Hub) -> Source:
    return Source(hub.address_of(file), file.size, file.sha256, "", file.repo, file.path, file.commit)


def _target(file: RemoteFile, folder: Path) -> Path:
    where = f"{file.repo}/{file.path}"
    if not is_safe_path(where):
        raise Failure("refused.file_name", name=file.path[:80])
    return folder.joinpath(*where.split("/"))


def unfinished_downloads(folder: Path | None = None) -> Iterator[ModelDownload]:
    """Yield the downloads that an earlier run left unfinished, of each model only the missing files.

    A projector belongs to the unfinished model in its folder; if that is complete, it is a download of its own.
    """
    folder = folder or own_folder()
    models: dict[Path, list[tuple[Source, Path]]] = {}
    for state in sorted(folder.rglob("*.part.json")) if folder.is_dir() else ():
        target = state.with_name(state.name.removesuffix(".part.json"))
        source = PartFile(target).read_note()
        if source:
            models.setdefault(target.with_name(part_names(target.name)[0]), []).append((source, target))
    for projector in [path for path in models if is_projector_name(path.name)]:
        others = [path for path in models if path.parent == projector.parent and not is_projector_name(path.name)]
        if others:
            models[others[0]] += models.pop(projector)
    for first, files in models.items():
        yield ModelDownload(display_name(first), tuple(files))


class DownloadQueue:
    """Queue of downloads. `listeners` get a job after each change; `close` ends the thread and keeps the parts."""

    def __init__(self, network: Network | None = None) -> None:
        self.listeners: list[Callable[[DownloadJob], None]] = []
        self._network = network or Network()
        self._jobs: dict[int, DownloadJob] = {}
        self._downloads: dict[int, ModelDownload] = {}
        self._running: Download | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    @property
    def jobs(self) -> tuple[DownloadJob, ...]:
        with self._changed:
            return tuple(self._jobs.values())

    def add(self, model: ModelDownload, state: State = "waiting") -> DownloadJob:
        """Append a download to the queue and return its job; a model that is queued already is resumed."""
        with self._changed:
            for id, other in self._downloads.items():
                if other.path == model.path and not self._jobs[id].is_over:
                    self._downloads[id] = model
                    job = self._jobs[id]
                    break
            else:
                id = len(self._jobs) + 1
                self._downloads[id] = model
                job = self._jobs[id] = DownloadJob(
                    id, model.name, state, DownloadProgress("connecting", model.bytes_on_disk(), model.size)
                )
        if state == "waiting":
            self.resume(job.id)
        else:
            self._notify(job)
        return self._jobs[job.id]

    def resume(self, id: int) -> None:
        """Let a paused or failed download wait for its turn again."""
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
        """Stop a download and delete what has arrived."""
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
        """Wait until no download is waiting or running; return False after `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(map(_busy, self._jobs.values())), seconds)

    # --- the thread ---

    def _work(self) -> None:
        while (id := self._next()) is not None:
            try:
                self._run(id)
            except Failure as failure:
                log.info("a download: %s", failure.log_text)
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

    def _run(self, id: int) -> None:
        self._notify(self._jobs[id])
        steps = self._downloads[id].run(self._network, self._set_running)
        try:
            for progress in steps:
                if self._closed or not self._advance(id, progress):
                    return
        except Failure:
            if self._closed or self._jobs[id].state != "running":  # the failure comes from ending the read
                return
            raise
        finally:
            steps.close()  # type: ignore[attr-defined]
        done = self._downloads[id]
        self._set(id, "done", ("running",), problem=done.check(), path=done.path)

    def _set_running(self, download: Download) -> None:
        self._running = download

    def _advance(self, id: int, progress: DownloadProgress) -> bool:
        """Publish a running job's progress; return whether it shall go on."""
        with self._changed:
            job = self._jobs[id] = replace(self._jobs[id], progress=progress)
        if job.state == "running":
            self._notify(job)
        return job.state == "running"

    def _set(
        self, id: int, state: State, only: tuple[State, ...], problem: Sentence | None = None, path: Path | None = None
    ) -> State:
        """Change a job's state if it is one of `only`; return its state before."""
        with self._changed:
            job = self._jobs[id]
            if job.state not in only:
                return job.state
            self._jobs[id] = replace(job, state=state, problem=problem, path=path)
            if job.state == "running" and state in ("paused", "cancelled") and self._running:
                self._running.shutdown()
            self._changed.notify_all()
        self._notify(self._jobs[id])
        return job.state

    def _discard(self, id: int) -> None:
        files = self._downloads[id].files
        for _, target in files:
            PartFile(target).delete()
            is_shared = is_projector_name(target.name) and target not in own_projectors(files[0][1])
            if len(files) > 1 and not is_shared:  # the other parts are useless without this one
                with contextlib.suppress(OSError):
                    target.unlink(missing_ok=True)

    def _notify(self, job: DownloadJob) -> None:
        for listener in list(self.listeners):
            listener(job)


def _busy(job: DownloadJob) -> bool:
    return job.state in ("waiting", "running")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
