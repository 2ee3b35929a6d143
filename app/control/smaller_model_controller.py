"""A model that is larger than the memory: says before it is loaded how slow it will be, and offers a smaller one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from app.control.model_controller import ModelController
from app.dialogs.model_list import ModelList, local_title
from app.notice import NoticeArea
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.words import UiText, tr
from common.byte_sizes import show_bytes
from engine.protocol.events import SpeedExpected
from models.choices import Choice, choice_of
from models.network import offline_reason

TOPIC = "slow model"


class SmallerModelController(QObject):
    """Controller of the notice about the expected speed.

    The sentence comes at once, with a button that opens the list of models. Once the planner has judged all models, the
    button names one of them.
    """

    def __init__(self, notice: NoticeArea, engine: EngineQueue, models: ModelController, settings: Settings) -> None:
        super().__init__(models)
        self._notice, self._engine, self._models, self._settings = notice, engine, models, settings
        self._expected: SpeedExpected | None = None  # while the notice names no model yet
        self._slow: Path | None = None  # the model that the notice is about
        engine.model.speed_expected.connect(self._say)
        engine.state.phase_changed.connect(self._engine_changed)
        models.listed.connect(self._name_model)

    def _say(self, expected: SpeedExpected) -> None:
        self._slow = self._engine.state.path
        if not expected.is_slow:
            self._notice.post(expected.sentence, topic=TOPIC)
            return
        self._expected = expected
        self._post(expected, lambda: tr("Choose another model"), self._models.open)
        self._models.judge()

    def _post(self, expected: SpeedExpected, step: UiText, work: Callable[[], object]) -> None:
        self._notice.post(expected.sentence, step, work, kind="problem", topic=TOPIC)

    def _name_model(self) -> None:
        """Name a smaller model on the notice's button, once all models were judged."""
        expected = self._expected
        if expected is None or not self._models.list.judged:
            return
        self._expected = None
        choice = smaller_choice(self._models.list, online=offline_reason(self._settings.path) is None)
        if choice is not None:
            self._post(expected, lambda: button_words(choice), lambda: self._use(choice))

    def _use(self, choice: Choice) -> None:
        """Load the smaller model, or download it; conditions of its licence are shown before in the list of models."""
        if choice.model is not None:
            self._models.use(choice.model.path)
            return
        if choice.entry is not None and choice.entry.licence_note:
            self._models.open()
        self._models.do_action(("entry", choice.entry.id if choice.entry else ""), "download")

    def _engine_changed(self, state: EngineState) -> None:
        """Remove the notice when another model is chosen or this one could not be loaded."""
        if self._slow is not None and (state.path != self._slow or state.phase == "failed"):
            self._slow = self._expected = None
            self._notice.solve(TOPIC)


def smaller_choice(listed: ModelList, online: bool) -> Choice | None:
    """Return the model to offer instead of one that is too large: the best one that fits and is quick.

    One on this computer comes first, because it can be used at once; then the recommended download, if `online`; then
    the built-in model.
    """
    here, best = listed.best_here(), listed.recommendation().best
    if here is not None and here.tier:
        return choice_of(here)
    if best is not None and (online or choice_of(best).model):
        entry = choice_of(best).entry
        if choice_of(best).model or (entry and not listed.has_file(entry.file)):  # else it is being downloaded
            return choice_of(best)
    return choice_of(here) if here else None


def button_words(choice: Choice) -> str:
    if choice.model is not None:
        return tr("Use {model}", model=local_title(choice.model))
    assert choice.entry is not None
    return tr("Download {model} ({size})", model=choice.entry.title, size=show_bytes(choice.entry.size))
