"""Queue of model downloads: one runs at a time, each can be paused and cancelled, unfinished ones are offered again.

Window and terminal use the same queue. A thread of its own does the work. Listeners are called from that thread or from
the caller's, so a window must forward the call to its own thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from common.failures import Failure
from common.sentences import Sentence
from models.download import Download
from models.model_download import ModelDownload
from models.network import Network
from models.progress import DownloadProgress

log = logging.getLogger(__name__)
State = Literal["waiting", "running", "paused", "failed", "done", "cancelled"]


@dataclass(frozen=True, slots=True)
class DownloadJob:
    """State of one model's download.

    `problem` says why it failed, or what is odd about a finished model, `detail` what the terminal adds; `path` is the
    first file of a finished model.
    """

    id: int
    name: str
    state: State
    progress: DownloadProgress
    problem: Sentence | None = None
    path: Path | None = None
    detail: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "cancelled")


class DownloadQueue:
    """Queue of downloads. `listeners` get a job after each change; `close` ends the thread and keeps the parts."""

    def __init__(self, network: Network | None = None) -> None:
        self.listeners: list[Callable[[DownloadJob], None]] = []
        self._network = network or Network()
        self._jobs: dict[int, DownloadJob] = {}
        self._downloads: dict[int, ModelDownload] = {}
        self._at_work: int | None = None  # the job whose files the thread has open, even if it was just paused
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
            id = self._unfinished(model.path) or len(self._jobs) + 1
            self._downloads[id] = model
            progress = DownloadProgress("connecting", model.bytes_on_disk(), model.size)
            self._jobs.setdefault(id, DownloadJob(id, model.name, "paused", progress))
            problem = self._claim(model)
        if problem:
            self._set(id, "failed", ("waiting", "paused", "failed"), problem)
        elif state == "waiting":
            self.resume(id)
        else:
            self._notify(self._jobs[id])
        return self._jobs[id]

    def resume(self, id: int) -> None:
        """Let a paused or failed download wait for its turn again."""
        self._set(id, "waiting", ("paused", "failed", "waiting"))
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
        """Stop a download and delete what only it has brought; a whole model stays."""
        self._set(id, "cancelled", ("waiting", "running", "paused", "failed"))
        with self._changed:
            if self._at_work != id:  # otherwise the thread does it when it has closed the files
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
            return self._changed.wait_for(lambda: self._at_work is None and not self._waiting(), seconds)

    # --- the thread ---

    def _work(self) -> None:
        while (id := self._next()) is not None:
            try:
                self._run(id)
            except Failure as failure:
                log.info("a download: %s", failure.log_text)
                self._set(id, "failed", ("running",), failure)
            except Exception:
                log.exception("bug in a download")
                self._set(id, "failed", ("running",), Failure("internal.download"))
            with self._changed:
                self._running = self._at_work = None
                self._discard(id)
                self._changed.notify_all()

    def _next(self) -> int | None:
        with self._changed:
            while not self._closed:
                if waiting := self._waiting():
                    self._at_work = id = waiting[0]
                    self._jobs[id] = replace(self._jobs[id], state="running")
                    return id
                self._changed.wait()
        return None

    def _run(self, id: int) -> None:
        self._notify(self._jobs[id])
        download = self._downloads[id]
        steps = download.run(self._network, self._set_running)
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
        problem = download.check()
        self._set(id, "done", ("running",), Failure(problem) if problem else None, download.path)

    def _set_running(self, download: Download) -> None:
        self._running = download

    def _advance(self, id: int, progress: DownloadProgress) -> bool:
        """Publish a running job's progress; return whether it shall go on."""
        with self._changed:
            job = self._jobs[id] = replace(self._jobs[id], progress=progress)
        if job.state == "running":
            self._notify(job)
        return job.state == "running"

    # --- jobs ---

    def _unfinished(self, path: Path) -> int | None:
        """Return the job that downloads the model at `path`."""
        return next(
            (id for id, job in self._jobs.items() if not job.is_over and self._downloads[id].path == path), None
        )

    def _waiting(self) -> list[int]:
        return [id for id, job in self._jobs.items() if job.state == "waiting"]

    def _set(
        self, id: int, state: State, only: tuple[State, ...], failure: Failure | None = None, path: Path | None = None
    ) -> None:
        """Change a job's state if it is one of `only`."""
        with self._changed:
            job = self._jobs[id]
            if job.state not in only:
                return
            problem, detail = (failure.sentence, failure.detail) if failure else (None, "")
            self._jobs[id] = replace(job, state=state, problem=problem, path=path, detail=detail)
            if job.state == "running" and state in ("paused", "cancelled") and self._running:
                self._running.shutdown()
            self._changed.notify_all()
        self._notify(self._jobs[id])

    def _claim(self, model: ModelDownload) -> Failure | None:
        """Claim the model's files; return the failure that prevents it."""
        try:
            model.claim()
        except Failure as failure:
            return failure
        return None

    def _discard(self, id: int) -> None:
        """Give up the files of a cancelled job, unless the model has been queued again.

        And those of a finished one, because `add` may have claimed them once more while it ended.
        """
        download = self._downloads[id]
        if self._jobs[id].state in ("cancelled", "done") and self._unfinished(download.path) is None:
            download.release()

    def _notify(self, job: DownloadJob) -> None:
        for listener in list(self.listeners):
            listener(job)
