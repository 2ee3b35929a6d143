"""Puts the parts together: the only module that knows them all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from app.control.appearance import Appearance
from app.control.chat_controller import ChatController
from app.control.chat_list_controller import ChatListController, Upkeep
from app.control.chat_options_controller import ChatOptionsController
from app.control.draft_controller import DraftController
from app.control.engine_monitor_controller import EngineMonitorController
from app.control.import_export_controller import ImportExportController
from app.control.message_controller import MessageController
from app.control.model_controller import ModelController
from app.control.palette_controller import PaletteController
from app.control.preparation_controller import PreparationController
from app.control.settings_controller import SettingsController
from app.control.status_controller import ContextMenu, StatusController
from app.control.storage_controller import StorageController
from app.control.unsaved_controller import UnsavedController
from app.control.welcome_controller import WelcomeController
from app.control.window_state_controller import WindowStateController
from app.folders import Folders
from app.look.theme import application_icon
from app.markdown.grammar import prepare
from app.services.background import Background
from app.services.engine_client import EngineClient
from app.services.frames import Collector
from app.settings.settings import Settings
from app.state.engine_queue import PATIENCE_MS, EngineQueue
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.store.chat_store import ChatStore
from app.store.recovery import open_store
from app.window import Window
from common.failures import Failure
from common.folders import cache_folder
from models.default import default_model

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Intervals:
    """How long the window waits before it does something by itself, in milliseconds; tests are in more of a hurry."""

    tick: int = 250  # between looks at whether the engine still reacts
    patience: int = PATIENCE_MS  # with an engine that was asked to stop
    opened: int = 300  # who leafs through the chats does not want each of them read
    typed: int = 500  # at most so much of what is typed is not stored yet
    settled: int = 800  # who changes several settings does not want the model loaded again for each
    placed: int = 1_000  # a window that is dragged, and an answer that is followed, change all the time
    tidied: int = 3_000  # after the last change that may ask for the store's upkeep
    tidied_again: int = 60_000  # after a failure
    stored_again: int = 5_000  # what could not be stored has failed before, and fails fast


@dataclass(frozen=True)
class Models:
    """The engine, which model it has, and what is said of it."""

    engine: EngineQueue
    controller: ModelController
    status: StatusController


@dataclass(frozen=True)
class Chats:
    """The chats, and what is done with them."""

    open_chats: OpenChats
    chat: ChatController
    messages: MessageController
    drafts: DraftController
    list: ChatListController
    import_export: ImportExportController
    palette: PaletteController
    options: ChatOptionsController
    engine_monitor: EngineMonitorController
    context_menu: ContextMenu
    unsaved: UnsavedController
    storage: StorageController
    window_state: WindowStateController

    def close(self) -> None:
        """Everything is kept; what cannot be, `unsaved` names when the store's writes are done."""
        parts = (
            self.window_state, self.chat, self.list, self.import_export, self.palette, self.drafts, self.storage
        )  # fmt: skip
        for part in parts:
            part.close()


def compose_models(
    window: Window, client: EngineClient, store: ChatStore, settings: Settings, intervals: Intervals
) -> Models:
    engine = EngineQueue(client, settings, patience_ms=intervals.patience)
    settings.changed.connect(engine.use_settings)
    controller = ModelController(window, settings, engine)
    status = StatusController(window, engine, store, intervals.tick)
    client.received.connect(engine.handle)
    client.ended.connect(engine.engine_ended)
    engine.state.phase_changed.connect(controller.stands)
    window.commands.bind("models", controller.open)
    return Models(engine, controller, status)


def compose_settings(
    window: Window, appearance: Appearance, settings: Settings, models: Models, intervals: Intervals
) -> SettingsController:
    controller = SettingsController(settings, window, models.controller, intervals.settled)
    models.engine.state.phase_changed.connect(controller.stands)
    controller.settled.connect(models.engine.settle)
    bind = window.commands.bind
    bind("settings", controller.open)
    bind("larger", appearance.larger)
    bind("smaller", appearance.smaller)
    bind("normal", appearance.normal)
    appearance.application.applicationStateChanged.connect(controller.activated)
    return controller


def compose_chats(
    window: Window,
    models: Models,
    store: ChatStore,
    settings: SettingsController,
    folders: Folders,
    intervals: Intervals,
) -> Chats:
    engine = models.engine
    open_chats = OpenChats(store)
    chat = ChatController(window, open_chats, engine, intervals.opened)
    messages = MessageController(window, open_chats, engine, intervals.typed)
    drafts = DraftController(window, open_chats, engine, chat, intervals.typed)
    upkeep = Upkeep(store.path, window, intervals.tidied, intervals.tidied_again)
    chat_list = ChatListController(window, open_chats, engine, chat, upkeep)
    chats = Chats(
        open_chats=open_chats,
        chat=chat,
        messages=messages,
        drafts=drafts,
        list=chat_list,
        import_export=ImportExportController(window, open_chats, chat_list),
        palette=PaletteController(window, open_chats, engine, chat, store.path),
        options=ChatOptionsController(window, open_chats, settings.settings, Personas(store)),
        engine_monitor=EngineMonitorController(window, engine, open_chats),
        context_menu=ContextMenu(window.status, open_chats, engine, window.notice),
        unsaved=UnsavedController(window, open_chats, messages, drafts, intervals.stored_again),
        storage=StorageController(settings, chat_list, folders, cache_folder()),
        window_state=WindowStateController(window, open_chats, intervals.placed),
    )
    window.commands.bind("storage", chats.storage.open)
    settings.settled.connect(chat.read_ahead_soon)
    WelcomeController(window, open_chats, engine, chat, drafts).show()
    return chats


class Chickadee(QObject):
    """The running application: one window, one engine, one store."""

    def __init__(
        self,
        folders: Folders,
        model: Path | None = None,
        command: Sequence[str] | None = None,
        max_tokens: int | None = None,
        intervals: Intervals | None = None,
        preparation: Sequence[str] = (),
    ) -> None:
        """`preparation`: the command that does what set-up has left to do."""
        super().__init__()
        intervals = intervals or Intervals()
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.setWindowIcon(application_icon())
        self.folders, self._first_model = folders, model
        fixed = {"answer.max_tokens": max_tokens} if max_tokens else {}
        self.settings = Settings(folders.settings, fixed)
        self.appearance = Appearance(application, self.settings)
        self.store, self._recovery = open_store(folders.store)
        self.store.writer.use_thread(Background(self).tell)
        self.client = EngineClient(command, self)
        self.window = Window(folders.geometry)
        self.models = compose_models(self.window, self.client, self.store, self.settings, intervals)
        self.preparation = PreparationController(self.window, self.models.engine, self.models.controller, preparation)
        self.settings_controller = compose_settings(self.window, self.appearance, self.settings, self.models, intervals)
        self.chats = compose_chats(self.window, self.models, self.store, self.settings_controller, folders, intervals)
        self.engine, self.open_chats = self.models.engine, self.chats.open_chats
        self.window.closing.connect(self.stop)
        self._collector = Collector(self)
        self.lost: list[str] = []  # sentences, for whoever closes the window

    def start(self) -> None:
        """Load the model; the window may be shown before or after."""
        self._collector.start()
        self.settings_controller.tell_problems()
        if self._recovery is not None:
            self.window.notice.tell(self._recovery.__str__, kind="problem")
        try:
            self.models.status.start(self._first_model or default_model())
        except Failure as failure:
            self.window.notice.tell_failure(failure)
        self.preparation.start()
        prepare()  # while the engine starts: the first answer would wait for it

    def stop(self) -> None:
        """Keep what is written, end the engine, close the store."""
        self._collector.close()
        self.chats.close()
        self.models.status.close()
        self.preparation.close()
        self.appearance.close()
        self.settings_controller.close()
        self.models.controller.close()
        if self.engine.active is not None:
            self.engine.active.fail(None, reason="cancelled")
        self.client.close()
        self.store.writer.close()  # from here on what is written is done at once
        self.lost = self.chats.unsaved.close()
        try:
            self.store.close()
        except Failure as failure:
            log.warning("%s", failure)

    def raise_window(self, model: str) -> None:
        """A second start of the program: show the window, and load the model it asked for."""
        self.window.raise_window()
        if model:
            self.models.status.use_model(model)
