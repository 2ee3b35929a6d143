"""How models come to this computer and leave it: search, downloads, folders and files that the user adds, removal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.dialogs.model_list import ModelList, local_title
from app.services.background import Background
from app.words import mark, tr
from common.failures import Failure
from common.paths import path_of, path_text, printable
from models.added_paths import AddedPaths
from models.catalogue import CatalogueEntry, catalogue
from models.catalogue_update import CatalogueUpdate, update_catalogue
from models.collection import LocalModel
from models.copying import copy_model, on_other_drive
from models.download_queue import DownloadJob, DownloadQueue
from models.hub import Hub, HubModel, RepoResult
from models.locations import ModelLocation, usual_folder
from models.model_download import ModelDownload, plan_download, unfinished_downloads
from models.network import Network, offline_reason
from models.removal import Removal, purge, remove

ENDED = ("done", "failed")
COPIES = "copied"  # folder below our own models; downloads lie in folders of their repository's owner


class ModelDownloads(QObject):
    """Search and downloads from the hub; `models` receives the results. Connects only when the user asks.

    Signals: `changed` names what is new in `models` (`results`, `files` or `jobs`) or says that a model has `arrived`.
    `failed` carries the Failure of a search or of starting a download; later failures are in the download's job, which
    `ended` carries. `unfinished` carries the jobs that an earlier run left; `updated` a CatalogueUpdate.
    """

    changed = Signal(str)
    failed = Signal(object)
    ended = Signal(object)
    unfinished = Signal(object)
    updated = Signal(object)

    def __init__(self, parent: QObject, models: ModelList, settings: Path, own_folder: Callable[[], Path]) -> None:
        """Prepare the downloads into the folder that `own_folder` gives.

        `settings` is the file whose switch forbids connections.
        """
        super().__init__(parent)
        self._models, self._settings, self._own_folder = models, settings, own_folder
        self.hub = Hub(Network(settings))
        self._background = Background(self)
        self._downloads = DownloadQueue(self.hub.network)
        self._downloads.listeners.append(lambda _job: self._background.call_in_window(self._jobs_changed))
        self._listed_unfinished = False

    def list_unfinished(self) -> None:
        """List the unfinished downloads of an earlier run as paused, at the first call."""
        if self._listed_unfinished:
            return
        self._listed_unfinished = True

        def find() -> list[ModelDownload]:
            folders = dict.fromkeys((self._own_folder(), usual_folder(self._settings)))
            for folder in folders:
                purge(ModelLocation("own", folder))
            return [model for folder in folders for model in unfinished_downloads(folder)]

        self._background.run(find, self._list_paused, self.failed.emit)

    def _list_paused(self, found: list[ModelDownload]) -> None:
        jobs = [self._downloads.add(model, state="paused") for model in found]
        if jobs:
            self.unfinished.emit(jobs)

    def close(self) -> None:
        """Stop the downloads; the next start lists the unfinished ones as paused."""
        self._background.close()
        self._downloads.close()

    def settings_changed(self) -> None:
        """Pause all downloads if the settings now forbid connections."""
        if offline_reason(self._settings):
            self._downloads.pause_all()

    # --- what the user asks -----------------------------------------------------------------------------------------

    def search(self, words: str) -> None:
        self._background.run(lambda: self.hub.search(words), self._found, self.failed.emit)

    def show_files(self, repo: str) -> None:
        self._background.run(lambda: self.hub.models(repo), self._listed, self.failed.emit)

    def download_entry(self, entry: CatalogueEntry) -> None:
        """Download the model of an entry of the catalogue."""
        self._fetch(lambda: plan_download(self.hub.model(entry.repo, entry.file), self.hub, self._own_folder()))

    def check_catalogue(self) -> None:
        """Fetch a newer catalogue if the hub has one; the user agreed to connect by pressing the button."""
        self._background.run(lambda: update_catalogue(self.hub), self._catalogue_checked, self.failed.emit)

    def _catalogue_checked(self, update: CatalogueUpdate) -> None:
        self._models.entries = catalogue()
        for entry in update.changed:
            self._models.verdicts.pop(("entry", entry.id), None)
        self.updated.emit(update)

    def download_file(self, model: HubModel) -> None:
        """Download a model that the hub has listed."""
        self._fetch(lambda: plan_download(model, self.hub, self._own_folder()))

    def do_action(self, job: DownloadJob, action: str) -> None:
        """Pause, resume or cancel the download, which deletes what has arrived; raise KeyError for another action."""
        downloads = self._downloads
        {"pause": downloads.pause, "resume": downloads.resume, "cancel": downloads.cancel}[action](job.id)

    def queue(self, model: ModelDownload) -> None:
        self._downloads.add(model)

    # --- what comes of it -------------------------------------------------------------------------------------------

    def _fetch(self, find: Callable[[], ModelDownload]) -> None:
        self._background.run(find, self.queue, self.failed.emit)

    def _found(self, results: tuple[RepoResult, ...]) -> None:
        self._models.results, self._models.files = results, ()
        self.changed.emit("results")

    def _listed(self, files: tuple[HubModel, ...]) -> None:
        self._models.files = files
        self.changed.emit("files")

    def _jobs_changed(self) -> None:
        """Copy the jobs into the list; emit `arrived` if a download has just been completed, else `jobs`."""
        before = {(job.id, job.state) for job in self._models.jobs}
        self._models.jobs = self._downloads.jobs
        ended = [job for job in self._models.jobs if job.state in ENDED and (job.id, job.state) not in before]
        self.changed.emit("arrived" if any(job.state == "done" for job in ended) else "jobs")
        for job in ended:
            self.ended.emit(job)


class LocalModels(QObject):
    """Models, files and folders that the user adds and removes; a removal can be undone.

    Signals: `changed` asks for a new scan; `undo_offered` carries a sentence and the function that undoes the removal;
    `copied` carries the path of a model that was copied here; `failed` carries a Failure.
    """

    changed = Signal()
    undo_offered = Signal(object, object)
    copied = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject, added: AddedPaths, own_folder: Callable[[], Path]) -> None:
        super().__init__(parent)
        self._added, self._own_folder = added, own_folder
        self._background = Background(self)
        self._removal: Removal | None = None

    def add(self, path: str) -> None:
        """Add a model file, or a folder to scan for models."""
        self._run(lambda: self._added.add(path_of(path)))

    def on_other_drive(self, path: Path) -> bool:
        """Return whether a file may be pulled out with the drive that it lies on."""
        return on_other_drive(path, self._own_folder())

    def copy_here(self, path: Path) -> None:
        """Copy a model into our own folder, in the background; the copy takes the place of the added file."""

        def copied(copy: Path | None) -> None:
            if copy is not None:
                self._run(lambda: self._added.drop(path))
                self.copied.emit(copy)

        folder, stop = self._own_folder() / COPIES, lambda: self._background.closed
        self._background.run(lambda: copy_model(path, folder, stop), copied, self.failed.emit)

    def close(self) -> None:
        self.finish_removal()
        self._background.close()

    def forget_folder(self, folder: Path) -> None:
        """Remove a folder that the user added from the list; its files stay."""
        if self._added.drop(folder):
            self.undo_offered.emit(
                lambda: tr(
                    "{folder} was removed from the list. Its files are still there.", folder=printable(str(folder))
                ),
                lambda: self.add(path_text(folder)),
            )
        self.changed.emit()

    def remove(self, model: LocalModel) -> None:
        """Delete a downloaded model, or take an added one off the list. Raises Failure."""
        self.finish_removal()
        removal = self._removal = remove(model, self._added)
        deleted = mark("{model} was deleted.")
        sentence = deleted if removal.deletes else mark("{model} was removed from the list. Its file is still there.")
        self.undo_offered.emit(lambda: tr(sentence, model=local_title(model)), self._undo)
        self.changed.emit()

    def finish_removal(self) -> None:
        """Complete the last removal, which can no longer be undone."""
        removal, self._removal = self._removal, None
        if removal is not None:
            removal.finish()

    def _undo(self) -> None:
        """Bring the removed model back; what cannot be brought back now is offered again."""
        try:
            if self._removal is not None:
                self._removal.undo()
            self._removal = None
        except Failure as failure:
            self.undo_offered.emit(failure.sentence, self._undo)
        self.changed.emit()

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            self.failed.emit(failure)
        self.changed.emit()
