"""Search and downloads for the models' dialog: what the hub is asked, what is on its way. Connects only if asked to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.dialogs.model_list import ModelList
from app.services.background import Background
from models.downloads import Downloads, Job, Wanted, unfinished, wanted
from models.hub import Hub, RemoteModel, RepoResult
from models.network import Network, forbidden
from models.places import Place
from models.removal import purge


class ModelDownloads(QObject):
    """Puts what it learns into `models`. `changed` carries what is new in it: its results, files or jobs, or that one
    more model has arrived. `failed` carries the Failure that ended a search or kept a download from beginning; a later
    one is told in its job."""

    changed = Signal(str)
    failed = Signal(object)

    def __init__(self, parent: QObject, models: ModelList, settings: Path, own: Path) -> None:
        """`settings` is the file whose switch forbids connections, `own` the folder for what is downloaded."""
        super().__init__(parent)
        self._models, self._settings, self._own = models, settings, own
        self.hub = Hub(Network(settings))
        self._downloads: Downloads | None = None
        self._background = Background(self)

    def take_up(self) -> None:
        """The first time: downloads that an earlier run did not end."""
        if self._downloads is not None:
            return
        self._downloads = Downloads(self.hub.network)
        self._downloads.listeners.append(lambda _job: self._background.tell(self._progressed))
        purge(Place("own", self._own))
        for model in unfinished(self._own):
            self._downloads.add(model, state="paused")

    def close(self) -> None:
        """Downloads go on at the next start."""
        self._background.close()
        if self._downloads is not None:
            self._downloads.close()

    def settings_changed(self) -> None:
        """Connections may be forbidden now: what is under way waits."""
        if self._downloads is not None and forbidden(self._settings):
            self._downloads.pause_all()

    # --- what the user asks -----------------------------------------------------------------------------------------

    def search(self, words: str) -> None:
        self._background.run(lambda: self.hub.search(words), self._found, self.failed.emit)

    def show_files(self, repo: str) -> None:
        self._background.run(lambda: self.hub.models(repo), self._listed, self.failed.emit)

    def suggestion(self, id: str) -> None:
        """Download one of the catalogue."""
        entry = next(entry for entry in self._models.entries if entry.id == id)
        self._fetch(lambda: wanted(self.hub.model(entry.repo, entry.file), self.hub, self._own))

    def file(self, path: str) -> None:
        """Download one that the hub has listed."""
        model = next(one for one in self._models.files if one.files[0].path == path)
        self._fetch(lambda: wanted(model, self.hub, self._own))

    def act(self, job: Job, action: str) -> None:
        assert self._downloads
        if action == "pause":
            self._downloads.pause(job.id)
        elif action == "resume":
            self._downloads.resume(job.id)
        else:
            self._downloads.cancel(job.id)

    def queue(self, model: Wanted) -> None:
        assert self._downloads
        self._downloads.add(model)

    # --- what comes of it -------------------------------------------------------------------------------------------

    def _fetch(self, find: Callable[[], Wanted]) -> None:
        self._background.run(find, self.queue, self.failed.emit)

    def _found(self, results: tuple[RepoResult, ...]) -> None:
        self._models.results, self._models.files = results, ()
        self.changed.emit("results")

    def _listed(self, files: tuple[RemoteModel, ...]) -> None:
        self._models.files = files
        self.changed.emit("files")

    def _progressed(self) -> None:
        """Of several jobs, or moments, one hears only of the last."""
        assert self._downloads
        before = {job.id for job in self._models.jobs if job.state == "done"}
        self._models.jobs = self._downloads.jobs
        done = {job.id for job in self._models.jobs if job.state == "done"}
        self.changed.emit("arrived" if done - before else "jobs")
