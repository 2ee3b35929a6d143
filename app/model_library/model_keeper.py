"""The models in the running window: finds them, asks whether they fit, downloads, removes, and has them loaded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.assistant.options import Options
from app.assistant.planner import Planner
from app.assistant.standing import Standing
from app.background import Background
from app.look.throttle import Throttle
from app.model_library.model_options_control import ModelOptionsControl
from app.model_library.model_page import ModelPage
from app.model_library.model_settings import ModelSettings
from app.model_library.models_dialog import ModelsDialog
from app.words import told, tr
from models.added import Added
from models.catalogue import catalogue
from models.collection import LocalModel, scan
from models.downloads import Downloads, Job, Wanted, unfinished, wanted
from models.failures import Failure
from models.hub import Hub, RemoteModel, RepoResult
from models.network import Network, forbidden
from models.places import Place, own_folder
from models.removal import Removal, purge, remove
from models.verdict import Ask, Verdict

log = logging.getLogger(__name__)
SHOWN_EVERY_MS = 100
KEPT = ("weights_repacked", "weights_read", "vocabulary")  # what a loaded model gives back at the least


class ModelKeeper(QObject):
    """`chosen` carries the path of a model to load, `unloaded` asks to give up the one in use.

    `settings` is the settings' file, beside which models are kept; `options` gives what the settings say now."""

    chosen = Signal(str)
    unloaded = Signal()
    _job = Signal(object)  # from the downloads' thread into the window's

    def __init__(self, window: QWidget, settings: Path, options: Callable[[], Options]) -> None:
        super().__init__(window)
        self.page = ModelPage()
        self.dialog: ModelsDialog | None = None
        self.planner = Planner(self)
        self.settings = ModelSettings(settings)
        self.options = ModelOptionsControl(window, self.settings, self.planner, options)
        self.options.load.connect(self.chosen)
        self.options.changed.connect(self._judge_again)
        self._window, self._settings_path = window, settings
        self._hub = Hub(Network(settings))
        self._own = settings.parent / own_folder().name
        self._added = Added(settings.with_name(Added().path.name))
        self._downloads: Downloads | None = None
        self._background = Background(self)
        self._removal: Removal | None = None
        self._looked = 0
        self._show = Throttle(self._show_page, SHOWN_EVERY_MS, self)
        self.planner.answered.connect(self._judged)
        self._job.connect(self._progressed)

    # --- opening and closing ----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show the dialog and look again what is here."""
        if self.dialog is None:
            self._take_up()
            self.page.words = ""
            dialog = self.dialog = ModelsDialog(self.page, self._window)
            dialog.asked.connect(self.act)
            dialog.search.connect(self.search)
            dialog.typed.connect(self._typed)
            dialog.add_folder.connect(self._choose_folder)
            dialog.add_file.connect(self._choose_file)
            dialog.finished.connect(self._closed)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()
        self.look()

    def close(self) -> None:
        """The window is closing: downloads go on at the next start."""
        self._background.close()
        self._finish_removal()
        self._show.cancel()
        self.options.close()
        self.planner.close()
        if self._downloads is not None:
            self._downloads.close()
        if self.dialog is not None:
            self.dialog.close()

    def stands(self, standing: Standing) -> None:
        """Which model is in use."""
        loaded = standing.path if standing.phase == "ready" else None
        plan = standing.model.plan if standing.model else {}
        self.options.stands(loaded, sum(plan.get(name, 0) for name in KEPT))
        if loaded != self.page.loaded:
            self.page.loaded = loaded
            self._show.request()

    def settings_changed(self) -> None:
        """Connections may be forbidden now: what is under way waits."""
        if self._downloads is not None and forbidden(self._settings_path):
            self._downloads.pause_all()

    def retranslate(self) -> None:
        self.options.retranslate()
        if self.dialog is not None:
            self.dialog.retranslate()

    def restyle(self) -> None:
        self.options.restyle()
        if self.dialog is not None:
            self.dialog.restyle()

    def _closed(self) -> None:
        self.dialog = None
        self._finish_removal()
        self.planner.forget()

    def _take_up(self) -> None:
        """The first time: the catalogue, and downloads that an earlier run did not end."""
        if self._downloads is not None:
            return
        self._downloads = Downloads(self._hub.network)
        self._downloads.listeners.append(self._job.emit)
        purge(Place("own", self._own))
        try:
            self.page.entries = catalogue()
        except Failure as failure:
            log.warning("%s (%s)", failure, failure.detail)
        for model in unfinished(self._own):
            self._downloads.add(model, state="paused")

    # --- what is here -----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Scan the places; rows come when all are known, 0.1 s for each new file."""
        added, self._looked = self._added.read(), self._looked + 1
        number = self._looked
        self._background.run(
            lambda: list(scan(added, stop=lambda: self._background.closed, own=self._own)),
            lambda models: self._found(number, models),
            self._complain,
        )

    def _found(self, number: int, models: list[LocalModel]) -> None:
        if number != self._looked:  # a later look is under way, or was faster
            return
        gone = {("here", model.path) for model in self.page.here} - {("here", model.path) for model in models}
        for key in gone:
            self.page.verdicts.pop(key, None)
        self.page.here = models
        self._show_page()
        self._judge()

    def _judge(self) -> None:
        for key, question in self.page.questions().items():
            if question.path:
                self.planner.ask(key, self.options.question(Path(question.path)))
            else:
                self.planner.ask(key, Ask(estimate=question.estimate, freed_bytes=self.options.freed))

    def _judge_again(self, path: Path) -> None:
        """Its options have changed."""
        self.page.verdicts.pop(("here", path), None)
        self.planner.ask(("here", path), self.options.question(path))
        self._show.request()

    def _judged(self, key: Hashable, verdict: Verdict) -> None:
        if isinstance(key, tuple) and key[0] == "options":
            return
        self.page.verdicts[key] = verdict
        self._show.request()

    # --- what the user does -----------------------------------------------------------------------------------------

    def act(self, key: tuple[object, ...], action: str) -> None:
        """A row's button was pressed."""
        try:
            self._act(key, action)
        except Failure as failure:
            self._complain(failure)

    def _act(self, key: tuple[object, ...], action: str) -> None:
        kind, name = key[0], key[1]
        if kind == "here":
            self._act_here(self.page.model(Path(str(name))), action)
        elif kind == "job":
            self._act_on_job(next(job for job in self.page.jobs if job.id == name), action)
        elif kind == "entry":
            entry = next(entry for entry in self.page.entries if entry.id == name)
            self._fetch(lambda: wanted(self._hub.model(entry.repo, entry.file), self._hub, self._own))
        elif kind == "repo":
            self._background.run(lambda: self._hub.models(str(name)), self._listed, self._complain)
        else:
            model = next(one for one in self.page.files if one.files[0].path == key[2])
            self._fetch(lambda: wanted(model, self._hub, self._own))

    def _act_here(self, model: LocalModel | None, action: str) -> None:
        if model is None:
            return
        if action == "load":
            self.chosen.emit(str(model.path))
        elif action == "unload":
            self.unloaded.emit()
        elif action == "options":
            self.options.open(model, self.page.drafters_for(model), self.dialog)
        elif action == "forget":
            self._forget(model.place.path)
        else:
            self._remove(model)

    def _act_on_job(self, job: Job, action: str) -> None:
        assert self._downloads
        if action == "load" and job.path:
            self.chosen.emit(str(job.path))
        elif action == "hide":
            self.page.hidden.add(job.id)
            self._show_page()
        elif action == "pause":
            self._downloads.pause(job.id)
        elif action == "resume":
            self._downloads.resume(job.id)
        else:
            self._downloads.cancel(job.id)

    def search(self, words: str) -> None:
        """Ask the hub: the user pressed the button that says so."""
        if self.dialog is not None:
            self.dialog.tell("")
            self.dialog.show_searching(True)
        self._background.run(lambda: self._hub.search(words), self._searched, self._complain)

    def _searched(self, results: tuple[RepoResult, ...]) -> None:
        self.page.results, self.page.files = results, ()
        if self.dialog is not None:
            self.dialog.show_searching(False)
            if not results:
                self.dialog.tell(tr("huggingface.co has no model of this kind with these words."))
        self._show_page()

    def _listed(self, models: tuple[RemoteModel, ...]) -> None:
        self.page.files = models
        self._show_page()
        self._judge()

    def _fetch(self, find: object) -> None:
        assert callable(find)
        self._background.run(find, self._queue, self._complain)

    def _queue(self, model: Wanted) -> None:
        assert self._downloads
        self._downloads.add(model)

    def _progressed(self, job: Job) -> None:
        assert self._downloads
        was = {one.id: one.state for one in self.page.jobs}
        self.page.jobs = self._downloads.jobs
        if job.state == "done" and was.get(job.id) != "done":
            self.look()
        self._show.request()

    def _remove(self, model: LocalModel) -> None:
        self._finish_removal()
        removal = self._removal = remove(model, self._added)
        said = tr("{model} was deleted.") if removal.deletes else tr("{model} is no longer listed; its file stays.")
        if self.dialog is not None:
            self.dialog.tell(said.format(model=model.name), tr("Undo"), self._undo)
        self.look()

    def _forget(self, folder: Path) -> None:
        """Look no more into a folder that was added."""
        if self._added.drop(folder) and self.dialog is not None:
            said = tr("{folder} is no longer looked into; its files stay.", folder=folder)
            self.dialog.tell(said, tr("Undo"), lambda: self.add(str(folder)))
        self.look()

    def _undo(self) -> None:
        removal, self._removal = self._removal, None
        try:
            if removal is not None:
                removal.undo()
        except Failure as failure:
            self._complain(failure)
        self.look()

    def _finish_removal(self) -> None:
        removal, self._removal = self._removal, None
        if removal is not None:
            removal.finish()

    def _choose_folder(self) -> None:
        chooser = QFileDialog(self.dialog, tr("Add folder…"))
        chooser.setFileMode(QFileDialog.FileMode.Directory)
        self._choose(chooser)

    def _choose_file(self) -> None:
        self._choose(QFileDialog(self.dialog, tr("Add file…"), "", tr("Models (*.gguf)")))

    def _choose(self, chooser: QFileDialog) -> None:
        chooser.fileSelected.connect(self.add)
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()

    def add(self, path: str) -> None:
        """One more folder to look in, or one more file."""
        try:
            self._added.add(Path(path))
        except Failure as failure:
            self._complain(failure)
        self.look()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _typed(self, words: str) -> None:
        self.page.words = words
        self._show_page()

    def _complain(self, failure: Failure) -> None:
        log.warning("%s (%s)", failure, failure.detail)
        if self.dialog is not None:
            self.dialog.show_searching(False)
            self.dialog.tell(told(str(failure)))

    def _show_page(self) -> None:
        if self.dialog is not None:
            self.dialog.show_page()
