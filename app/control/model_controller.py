"""The models in the running window: finds them, asks whether they fit, removes, and has them loaded or downloaded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.control.model_files import LocalModels, ModelDownloads
from app.dialogs.dialog import OneDialog
from app.dialogs.model_list import ModelList
from app.dialogs.model_options import ModelOptions
from app.dialogs.models_dialog import ModelsDialog
from app.memory_plan import PlanEffects
from app.services.background import Background
from app.services.planner import Planner, question
from app.services.timers import Throttle
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.words import Saying, tr
from common.failures import Failure
from common.paths import path_of
from common.planning import Ask, Verdict
from models.added import Added
from models.catalogue import catalogue
from models.collection import LocalModel, scan
from models.places import own_folder

log = logging.getLogger(__name__)
SHOWN_EVERY_MS = 100
KEPT = ("weights_repacked", "weights_read", "vocabulary")  # what a loaded model gives back at the least


class ModelController(QObject):
    """Models are kept beside the file of `settings`."""

    def __init__(self, window: QWidget, settings: Settings, engine: EngineQueue) -> None:
        super().__init__(window)
        self.list = ModelList()
        self.planner = Planner(self)
        self._window, self._settings, self._engine = window, settings, engine
        self._dialog: OneDialog[ModelsDialog] = OneDialog(self._closed)
        self._options: OneDialog[ModelOptions] = OneDialog(lambda: self._effects.forget())
        self._effects = PlanEffects(self.planner, self)
        self._asked: Ask | None = None  # about the model whose options are open
        self._freed = 0
        self._own = settings.path.parent / own_folder().name
        self._added = Added(settings.path.with_name(Added().path.name))
        self.local = LocalModels(self, self._added)
        self.downloads = ModelDownloads(self, self.list, settings.path, self._own)
        self._background = Background(self)
        self._looked = 0
        self._show = Throttle(self._show_list, SHOWN_EVERY_MS, self)
        self._connect()

    def _connect(self) -> None:
        self.planner.answered.connect(self._judged)
        self._effects.changed.connect(self._show_plan)
        self.downloads.changed.connect(self._learned)
        for part in (self.downloads, self.local):
            part.failed.connect(self._complain)
        self.local.changed.connect(self.look)
        self.local.said.connect(self._tell)
        self._settings.changed.connect(self._settings_changed)

    @property
    def dialog(self) -> ModelsDialog | None:
        """The open one."""
        return self._dialog.open

    # --- opening and closing ----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show the dialog and look again what is here."""
        self._dialog.show(self._make)
        self.look()

    def _make(self) -> ModelsDialog:
        self._take_up()
        self.list.words = ""
        dialog = ModelsDialog(self.list, self._window)
        dialog.asked.connect(self.act)
        dialog.search.connect(self.search)
        dialog.folder_button.clicked.connect(lambda: self.local.choose_folder(dialog))
        dialog.file_button.clicked.connect(lambda: self.local.choose_file(dialog))
        return dialog

    def close(self) -> None:
        """The window is closing: downloads go on at the next start."""
        self._background.close()
        self.local.finish()
        self._show.cancel()
        self._options.close()
        self.planner.close()
        self.downloads.close()
        self._dialog.close()

    def stands(self, state: EngineState) -> None:
        """Which model is in use, and what it gives back when another one is loaded."""
        loaded = state.path if state.phase == "ready" else None
        plan = state.model.plan if state.model else {}
        self._freed = sum(plan.get(name, 0) for name in KEPT)
        if loaded != self.list.loaded:
            self.list.loaded = loaded
            self._show.request()
        if self.options is not None:
            self.options.show_loaded(self.options.model.path == loaded)

    def _settings_changed(self) -> None:
        self.downloads.settings_changed()
        if self.options is not None:
            self._plan_options(self.options.model.path)

    def _closed(self) -> None:
        self._options.close()  # it lies on the dialog and goes with it
        self.local.finish()
        self.planner.forget()

    def _take_up(self) -> None:
        """The catalogue, and downloads that an earlier run did not end."""
        try:
            self.list.entries = catalogue()
        except Failure as failure:
            log.warning("%s (%s)", failure, failure.detail)
        self.downloads.take_up()

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
        gone = {("here", model.path) for model in self.list.here} - {("here", model.path) for model in models}
        for key in gone:
            self.list.verdicts.pop(key, None)
        self.list.here = models
        self._show_list()
        self._judge()

    def _judge(self) -> None:
        for key, asked in self.list.questions().items():
            if asked.path:
                self.planner.ask(key, self.question(path_of(asked.path)))
            else:
                self.planner.ask(key, Ask(estimate=asked.estimate, freed_bytes=self._freed))

    def _judged(self, key: Hashable, verdict: Verdict) -> None:
        if isinstance(key, tuple) and key[0] in ("here", "entry", "file"):
            self.list.verdicts[key] = verdict
            self._show.request()

    def plan_anew(self) -> None:
        """What could not be loaded may be possible now."""
        self.list.verdicts.clear()
        if self.dialog is not None:
            self._judge()
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
            self._act_here(self.list.model(Path(str(name))), action)
        elif kind == "job":
            self._act_on_job(int(str(name)), action)
        elif kind == "entry":
            self.downloads.suggestion(str(name))
        elif kind == "repo":
            self.downloads.show_files(str(name))
        else:
            self.downloads.file(str(key[2]))

    def _act_here(self, model: LocalModel | None, action: str) -> None:
        if model is None:
            return
        if action == "load":
            self._engine.use_model(model.path.absolute())
        elif action == "unload":
            self._engine.unload()
        elif action == "options":
            self.open_options(model)
        elif action == "forget":
            self.local.forget(model.place.path)
        else:
            self.local.remove(model)

    def _act_on_job(self, id: int, action: str) -> None:
        job = next((job for job in self.list.jobs if job.id == id), None)
        if job is None:  # it ended as its button was pressed
            return
        if action == "load" and job.path:
            self._engine.use_model(job.path.absolute())
        elif action == "hide":
            self.list.hidden.add(job.id)
            self._show_list()
        else:
            self.downloads.act(job, action)

    def search(self, words: str) -> None:
        """Ask the hub: the user pressed the button that says so."""
        if self.dialog is not None:
            self.dialog.tell("")
            self.dialog.show_searching(True)
        self.downloads.search(words)

    def _learned(self, what: str) -> None:
        """There is something new in the list."""
        if what == "results" and self.dialog is not None:
            self.dialog.show_searching(False)
            if not self.list.results:
                self.dialog.tell(lambda: tr("No results on huggingface.co"))
        elif what == "arrived":
            self.look()
        self._show.request()
        if what == "files":  # nobody knows yet whether they fit
            self._judge()

    def add(self, path: str) -> None:
        """One more folder to look in, or one more file."""
        self.local.add(path)

    # --- one model's options ----------------------------------------------------------------------------------------

    @property
    def options(self) -> ModelOptions | None:
        """The dialog that is open."""
        return self._options.open

    def open_options(self, model: LocalModel) -> None:
        """One model's at a time."""
        self._options.close()
        drafters = self.list.drafters_for(model)
        dialog = self._options.show(lambda: ModelOptions(model, drafters, self._settings, self.dialog or self._window))
        dialog.load_button.clicked.connect(lambda: self._engine.use_model(model.path.absolute()))
        dialog.show_loaded(model.path == self.list.loaded)
        self._asked = self.question(model.path)
        self._effects.ask(self._asked)

    def question(self, path: Path) -> Ask:
        """About a model, loaded as its options and the settings say."""
        return question(path, self._settings.options(path).load, self._freed)

    def _plan_options(self, path: Path) -> None:
        """Its options, or those of all models, may be others now."""
        asked = self.question(path)
        self._effects.ask(asked)
        if asked != self._asked:
            self._asked = asked
            self.list.verdicts.pop(("here", path), None)
            self.planner.ask(("here", path), asked)
            self._show.request()

    def _show_plan(self) -> None:
        if self.options is not None:
            self.options.show_plan(self._effects.verdict, self._effects.words)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _tell(self, sentence: Saying, undo: Callable[[], None]) -> None:
        if self.dialog is not None:
            self.dialog.tell(sentence, lambda: tr("Undo"), undo)

    def _complain(self, failure: Failure) -> None:
        log.warning("%s (%s)", failure, failure.detail)
        if self.dialog is not None:
            self.dialog.show_searching(False)
            self.dialog.tell(failure.sentence)

    def _show_list(self) -> None:
        if self.dialog is not None:
            self.dialog.show_models()
