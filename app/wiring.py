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
from app.control.chat_options_control import ChatOptionsControl
from app.control.draft_controller import DraftController
from app.control.engine_monitor_controller import EngineMonitorController
from app.control.import_export_controller import ImportExportController
from app.control.keeping import Keeping
from app.control.message_controller import MessageController
from app.control.model_keeper import ModelKeeper
from app.control.palette_controller import PaletteController
from app.control.preferences import Preferences
from app.control.settings_plan import SettingsPlan
from app.control.status_controller import ContextMenu, StatusController
from app.control.unsaved_controller import UnsavedController
from app.control.welcome_controller import WelcomeController
from app.control.window_state_controller import WindowStateController
from app.folders import Folders
from app.intervals import Intervals
from app.look.icons import application_icon
from app.services.background import Background
from app.services.engine_client import EngineClient
from app.services.frames import Collector
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.store.chat_store import ChatStore
from app.store.recovery import open_store
from app.window import Window
from common.failures import Failure
from common.folders import cache_folder
from models.default import default_model

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Models:
    """The engine, which model it has, and what is said of it."""

    engine: EngineQueue
    keeper: ModelKeeper
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
    options: ChatOptionsControl
    engine_monitor: EngineMonitorController
    context_menu: ContextMenu
    unsaved: UnsavedController
    storage: Keeping
    window_state: WindowStateController

    def close(self) -> None:
        """Everything is kept; what cannot be, `unsaved` names when the store's writes are done."""
        parts = (
            self.window_state, self.chat, self.list, self.import_export, self.palette, self.drafts, self.storage
        )  # fmt: skip
        for part in parts:
            part.close()


def compose_settings(
    window: Window, appearance: Appearance, settings: Settings, intervals: Intervals, max_tokens: int | None
) -> Preferences:
    preferences = Preferences(settings, window, window.notice, intervals.settled, max_tokens)
    bind = window.commands.bind
    bind("settings", preferences.open)
    bind("larger", appearance.larger)
    bind("smaller", appearance.smaller)
    bind("normal", appearance.normal)
    appearance.application.applicationStateChanged.connect(preferences.activated)
    appearance.shown += [preferences]
    return preferences


def compose_models(
    window: Window, client: EngineClient, store: ChatStore, preferences: Preferences, intervals: Intervals
) -> Models:
    settings = preferences.settings
    keeper = ModelKeeper(window, settings.path, lambda: preferences.options)
    engine = EngineQueue(client, preferences.options, keeper.settings.tailored, patience_ms=intervals.patience)
    status = StatusController(window, engine, store, intervals.tick)
    plan = SettingsPlan(preferences, keeper.planner, keeper.options.question)
    client.received.connect(engine.handle)
    client.ended.connect(engine.engine_ended)
    keeper.settings.changed.connect(preferences.renew)
    keeper.chosen.connect(status.use_model)
    keeper.unloaded.connect(engine.unload)
    settings.changed.connect(keeper.fetching.settings_changed)
    preferences.changed.connect(engine.use_options)
    preferences.settled.connect(engine.settle)
    for listener in (preferences.stands, keeper.stands, plan.stands):
        engine.state.phase_changed.connect(listener)
    window.commands.bind("models", keeper.open)
    return Models(engine, keeper, status)


def compose_chats(
    window: Window, models: Models, store: ChatStore, preferences: Preferences, folders: Folders, intervals: Intervals
) -> Chats:
    engine = models.engine
    open_chats = OpenChats(store)
    chat = ChatController(window, open_chats, engine, intervals.opened)
    messages = MessageController(window, open_chats, engine, intervals.typed)
    drafts = DraftController(window, open_chats, engine, chat, intervals.typed)
    upkeep = Upkeep(store.path, window, intervals.tidied, intervals.tidied_again)
    chat_list = ChatListController(window, open_chats, engine, chat, upkeep)
    chats = Chats(
        open_chats,
        chat,
        messages,
        drafts,
        chat_list,
        ImportExportController(window, open_chats, chat_list),
        PaletteController(window, open_chats, engine, chat, store.path),
        ChatOptionsControl(window, open_chats, preferences.settings, Personas(store)),
        EngineMonitorController(window, engine, open_chats),
        ContextMenu(window.status, open_chats, engine, window.notice),
        UnsavedController(window, open_chats, messages, drafts, intervals.stored_again),
        Keeping(preferences, chat_list, folders, cache_folder()),
        WindowStateController(window, open_chats, intervals.placed),
    )
    window.commands.bind("kept", chats.storage.open)
    preferences.settled.connect(chat.read_ahead_soon)
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
    ) -> None:
        super().__init__()
        intervals = intervals or Intervals()
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.setWindowIcon(application_icon())
        self.folders, self._first_model = folders, model
        settings = Settings(folders.settings)
        self.appearance = Appearance(application, settings)
        self.store, self._recovery = open_store(folders.store)
        self.store.writer.use_thread(Background(self).tell)
        self.client = EngineClient(command, self)
        self.window = Window(folders.geometry)
        self.preferences = compose_settings(self.window, self.appearance, settings, intervals, max_tokens)
        self.models = compose_models(self.window, self.client, self.store, self.preferences, intervals)
        self.chats = compose_chats(self.window, self.models, self.store, self.preferences, folders, intervals)
        self.appearance.shown += [self.models.keeper, self.chats.options]
        self.engine, self.open_chats = self.models.engine, self.chats.open_chats
        self.window.closing.connect(self.stop)
        self._collector = Collector(self)
        self.lost: list[str] = []  # sentences, for whoever closes the window

    def start(self) -> None:
        """Load the model; the window may be shown before or after."""
        self._collector.start()
        self.preferences.tell_problems()
        if self._recovery is not None:
            self.window.notice.tell(self._recovery.__str__, kind="problem")
        try:
            self.models.status.start(self._first_model or default_model())
        except Failure as failure:
            self.window.notice.tell_failure(failure)

    def stop(self) -> None:
        """Keep what is written, end the engine, close the store."""
        self._collector.close()
        self.chats.close()
        self.models.status.close()
        self.appearance.close()
        self.preferences.close()
        self.models.keeper.close()
        if self.engine.active is not None:
            self.engine.active.fail("", reason="cancelled")
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
