"""Search and downloads for the models' dialog: what the hub is asked, what is on its way. Connects only if asked to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.model_library.model_page import ModelPage
from app.services.background import Background
from models.downloads import Downloads, Job, Wanted, unfinished, wanted
from models.hub import Hub, RemoteModel, RepoResult
from models.network import Network, forbidden
from models.places import Place
from models.removal import purge

log = logging.getLogger(__name__)


class Fetching(QObject):
    """Puts what it learns into `page`. `changed`: there is something new in it; `arrived`: one more model is here.

    `listed`: files of the hub, of which nobody knows yet whether they fit. `searched` carries the number of results,
    `failed` the Failure that ended a search or kept a download from beginning; a later one is told in its job."""

    changed = Signal()
    arrived = Signal()
    listed = Signal()
    searched = Signal(int)
    failed = Signal(object)
    _job = Signal(object)  # from the downloads' thread into the window's

    def __init__(self, parent: QObject, page: ModelPage, settings: Path, own: Path) -> None:
        """`settings` is the file whose switch forbids connections, `own` the folder for what is downloaded."""
        super().__init__(parent)
        self._page, self._settings, self._own = page, settings, own
        self.hub = Hub(Network(settings))
        self._downloads: Downloads | None = None
        self._background = Background(self)
        self._job.connect(self._progressed)

    def take_up(self) -> None:
        """The first time: downloads that an earlier run did not end."""
        if self._downloads is not None:
            return
        self._downloads = Downloads(self.hub.network)
        self._downloads.listeners.append(self._job.emit)
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
        entry = next(entry for entry in self._page.entries if entry.id == id)
        self._fetch(lambda: wanted(self.hub.model(entry.repo, entry.file), self.hub, self._own))

    def file(self, path: str) -> None:
        """Download one that the hub has listed."""
        model = next(one for one in self._page.files if one.files[0].path == path)
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
        self._page.results, self._page.files = results, ()
        self.searched.emit(len(results))
        self.changed.emit()

    def _listed(self, models: tuple[RemoteModel, ...]) -> None:
        self._page.files = models
        self.changed.emit()
        self.listed.emit()

    def _progressed(self, _job: Job) -> None:
        """The list is newer than what was told: of several jobs, or moments, one hears only of the last."""
        assert self._downloads
        before = {job.id for job in self._page.jobs if job.state == "done"}
        self._page.jobs = self._downloads.jobs
        if {job.id for job in self._page.jobs if job.state == "done"} - before:
            self.arrived.emit()
        self.changed.emit()
