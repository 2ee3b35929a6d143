"""How models come to this computer and leave it: search, downloads, folders and files that the user adds, removal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.dialogs.model_list import ModelList, local_title
from app.services.background import Background
from app.words import mark, tr
from common.failures import Failure
from common.paths import path_of, path_text, printable
from models.added import Added
from models.collection import LocalModel
from models.downloads import Downloads, Job, Wanted, unfinished, wanted
from models.hub import Hub, RemoteModel, RepoResult
from models.network import Network, forbidden
from models.places import Place
from models.removal import Removal, purge, remove


class ModelDownloads(QObject):
    """Connects only if asked to, and puts what it learns into `models`. `changed` carries what is new in it: its
    results, files or jobs, or that one more model has arrived. `failed` carries the Failure that ended a search or kept
    a download from beginning; a later one is told in its job."""

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


class LocalModels(QObject):
    """What the user adds and removes, with a way to undo it.

    `changed`: look again what is here. `said` carries a sentence and what undoes it, `failed` a Failure."""

    changed = Signal()
    said = Signal(object, object)
    failed = Signal(object)

    def __init__(self, parent: QObject, added: Added) -> None:
        super().__init__(parent)
        self._added = added
        self._removal: Removal | None = None

    def choose_folder(self, dialog: QWidget | None) -> None:
        chooser = QFileDialog(dialog, tr("Add folder…"))
        chooser.setFileMode(QFileDialog.FileMode.Directory)
        self._choose(chooser)

    def choose_file(self, dialog: QWidget | None) -> None:
        self._choose(QFileDialog(dialog, tr("Add file…"), "", tr("Models (*.gguf)")))

    def add(self, path: str) -> None:
        """One more folder to look in, or one more file."""
        self._do(lambda: self._added.add(path_of(path)))

    def forget(self, folder: Path) -> None:
        """Look no more into a folder that was added."""
        if self._added.drop(folder):
            self.said.emit(
                lambda: tr(
                    "{folder} was removed from the list. Its files are still there.", folder=printable(str(folder))
                ),
                lambda: self.add(path_text(folder)),
            )
        self.changed.emit()

    def remove(self, model: LocalModel) -> None:
        """Delete what was downloaded, take off the list what was added. Raises Failure."""
        self.finish()
        removal = self._removal = remove(model, self._added)
        gone = mark("{model} was deleted.")
        sentence = gone if removal.deletes else mark("{model} was removed from the list. Its file is still there.")
        self.said.emit(lambda: tr(sentence, model=local_title(model)), self._undo)
        self.changed.emit()

    def finish(self) -> None:
        """What was removed last cannot be undone any more."""
        removal, self._removal = self._removal, None
        if removal is not None:
            removal.finish()

    def _undo(self) -> None:
        removal, self._removal = self._removal, None
        self._do(removal.undo if removal else lambda: None)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            self.failed.emit(failure)
        self.changed.emit()

    def _choose(self, chooser: QFileDialog) -> None:
        chooser.fileSelected.connect(self.add)
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()
