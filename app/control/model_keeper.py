"""The models in the running window: finds them, asks whether they fit, removes, and has them loaded or downloaded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.control.bringing import Bringing
from app.control.fetching import Fetching
from app.control.model_options_control import ModelOptionsControl
from app.model_library.model_page import ModelPage
from app.model_library.model_settings import ModelSettings
from app.model_library.models_dialog import ModelsDialog
from app.services.background import Background
from app.services.planner import Planner
from app.services.timers import Throttle
from app.settings.options import Options
from app.settings_view.one_dialog import OneDialog
from app.state.engine_state import EngineState
from app.words import Saying, told, tr
from common.failures import Failure
from common.paths import path_of, path_text
from common.planning import Ask, Verdict
from models.added import Added
from models.catalogue import catalogue
from models.collection import LocalModel, scan
from models.places import own_folder

log = logging.getLogger(__name__)
SHOWN_EVERY_MS = 100
KEPT = ("weights_repacked", "weights_read", "vocabulary")  # what a loaded model gives back at the least


class ModelKeeper(QObject):
    """`chosen` carries the path of a model to load, `unloaded` asks to give up the one in use.

    `settings` is the settings' file, beside which models are kept; `options` gives what the settings say now."""

    chosen = Signal(str)
    unloaded = Signal()

    def __init__(self, window: QWidget, settings: Path, options: Callable[[], Options]) -> None:
        super().__init__(window)
        self.page = ModelPage()
        self.planner = Planner(self)
        self.settings = ModelSettings(settings)
        self.options = ModelOptionsControl(window, self.settings, self.planner, options)
        self.options.load.connect(self.chosen)
        self.options.changed.connect(self._judge_again)
        self._window = window
        self._dialog: OneDialog[ModelsDialog] = OneDialog(self._closed)
        self._own = settings.parent / own_folder().name
        self._added = Added(settings.with_name(Added().path.name))
        self.bringing = Bringing(self, self._added)
        self.fetching = Fetching(self, self.page, settings, self._own)
        self._background = Background(self)
        self._looked = 0
        self._show = Throttle(self._show_page, SHOWN_EVERY_MS, self)
        self.planner.answered.connect(self._judged)
        self.fetching.changed.connect(self._show.request)
        self.fetching.listed.connect(self._judge)
        self.fetching.arrived.connect(self.look)
        self.fetching.searched.connect(self._searched)
        for part in (self.fetching, self.bringing):
            part.failed.connect(self._complain)
        self.bringing.changed.connect(self.look)
        self.bringing.said.connect(self._tell)

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
        self.page.words = ""
        dialog = ModelsDialog(self.page, self._window)
        dialog.asked.connect(self.act)
        dialog.search.connect(self.search)
        dialog.typed.connect(self._typed)
        dialog.add_folder.connect(lambda: self.bringing.choose_folder(self.dialog))
        dialog.add_file.connect(lambda: self.bringing.choose_file(self.dialog))
        return dialog

    def close(self) -> None:
        """The window is closing: downloads go on at the next start."""
        self._background.close()
        self.bringing.finish()
        self._show.cancel()
        self.options.close()
        self.planner.close()
        self.fetching.close()
        self._dialog.close()

    def stands(self, state: EngineState) -> None:
        """Which model is in use."""
        loaded = state.path if state.phase == "ready" else None
        plan = state.model.plan if state.model else {}
        self.options.stands(loaded, sum(plan.get(name, 0) for name in KEPT))
        if loaded != self.page.loaded:
            self.page.loaded = loaded
            self._show.request()

    def retranslate(self) -> None:
        self.options.retranslate()
        self._dialog.retranslate()

    def restyle(self) -> None:
        self.options.restyle()
        self._dialog.restyle()

    def _closed(self) -> None:
        self.options.close()  # it lies on the dialog and goes with it
        self.bringing.finish()
        self.planner.forget()

    def _take_up(self) -> None:
        """The catalogue, and downloads that an earlier run did not end."""
        try:
            self.page.entries = catalogue()
        except Failure as failure:
            log.warning("%s (%s)", failure, failure.detail)
        self.fetching.take_up()

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
                self.planner.ask(key, self.options.question(path_of(question.path)))
            else:
                self.planner.ask(key, Ask(estimate=question.estimate, freed_bytes=self.options.freed))

    def _judge_again(self, path: Path) -> None:
        """Its options have changed."""
        self.page.verdicts.pop(("here", path), None)
        self.planner.ask(("here", path), self.options.question(path))
        self._show.request()

    def _judged(self, key: Hashable, verdict: Verdict) -> None:
        if isinstance(key, tuple) and key[0] in ("here", "entry", "file"):
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
            self._act_on_job(int(str(name)), action)
        elif kind == "entry":
            self.fetching.suggestion(str(name))
        elif kind == "repo":
            self.fetching.show_files(str(name))
        else:
            self.fetching.file(str(key[2]))

    def _act_here(self, model: LocalModel | None, action: str) -> None:
        if model is None:
            return
        if action == "load":
            self.chosen.emit(path_text(model.path))
        elif action == "unload":
            self.unloaded.emit()
        elif action == "options":
            self.options.open(model, self.page.drafters_for(model), self.dialog)
        elif action == "forget":
            self.bringing.forget(model.place.path)
        else:
            self.bringing.remove(model)

    def _act_on_job(self, id: int, action: str) -> None:
        job = next((job for job in self.page.jobs if job.id == id), None)
        if job is None:  # it ended as its button was pressed
            return
        if action == "load" and job.path:
            self.chosen.emit(path_text(job.path))
        elif action == "hide":
            self.page.hidden.add(job.id)
            self._show_page()
        else:
            self.fetching.act(job, action)

    def search(self, words: str) -> None:
        """Ask the hub: the user pressed the button that says so."""
        if self.dialog is not None:
            self.dialog.tell("")
            self.dialog.show_searching(True)
        self.fetching.search(words)

    def _searched(self, count: int) -> None:
        if self.dialog is not None:
            self.dialog.show_searching(False)
            if not count:
                self.dialog.tell(lambda: tr("No results on huggingface.co"))

    def add(self, path: str) -> None:
        """One more folder to look in, or one more file."""
        self.bringing.add(path)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _tell(self, sentence: Saying, undo: Callable[[], None]) -> None:
        if self.dialog is not None:
            self.dialog.tell(sentence, lambda: tr("Undo"), undo)

    def _typed(self, words: str) -> None:
        self.page.words = words
        self._show_page()

    def _complain(self, failure: Failure) -> None:
        log.warning("%s (%s)", failure, failure.detail)
        if self.dialog is not None:
            self.dialog.show_searching(False)
            self.dialog.tell(lambda: told(str(failure)))

    def _show_page(self) -> None:
        if self.dialog is not None:
            self.dialog.show_page()
