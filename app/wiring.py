"""Composes the application: the only module that knows all parts."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from app.control.api_controller import ApiController
from app.control.appearance import Appearance
from app.control.chat_controller import ChatController
from app.control.chat_list_controller import ChatListController, Upkeep
from app.control.chat_model_controller import ChatModelController
from app.control.chat_options_controller import ChatOptionsController
from app.control.collections_controller import CollectionsController
from app.control.context_menu import ContextMenu
from app.control.dictation_controller import DictationController
from app.control.draft_controller import DraftController
from app.control.engine_monitor_controller import EngineMonitorController
from app.control.find_controller import FindController
from app.control.import_controller import ImportController
from app.control.import_export_controller import ImportExportController
from app.control.indexing_controller import IndexingController
from app.control.memory_controller import MemoryController
from app.control.message_controller import MessageController
from app.control.model_controller import ModelController
from app.control.notification_controller import NotificationController
from app.control.offer_controller import OfferController
from app.control.own_tools import OwnToolWork
from app.control.page_controller import PageController
from app.control.palette_controller import PaletteController
from app.control.possible_commands import allow_what_is_possible
from app.control.preparation_controller import PreparationController
from app.control.project_controller import ProjectController
from app.control.quick_controller import QuickController
from app.control.retriever import Retriever
from app.control.room_controller import RoomController
from app.control.screenshot_controller import ScreenshotController
from app.control.server_contents import ServerContents
from app.control.settings_controller import SettingsController
from app.control.smaller_model_controller import SmallerModelController
from app.control.snippet_controller import SnippetController
from app.control.speech_controller import SpeechController
from app.control.status_controller import StatusController
from app.control.storage_controller import StorageController
from app.control.summary_controller import SummaryController
from app.control.title_controller import TitleController
from app.control.tool_servers_controller import ToolServersController
from app.control.tools_controller import ToolsController
from app.control.unsaved_controller import UnsavedController
from app.control.welcome_controller import WelcomeController
from app.control.window_state_controller import WindowStateController
from app.folders import Folders
from app.foundation import Foundation, Intervals
from app.look.theme import application_icon
from app.markdown.inline import import_in_background
from app.notice import NO_MODEL
from app.services.background import Background
from app.services.json_line_process import wait_for_children
from app.services.timers import Debounce, Throttle
from app.settings.settings import Settings
from app.state.collections import Collections
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.state.snippets import FILE as SNIPPETS
from app.state.tool_desk import ToolDesk
from app.window import Window
from common.failures import Failure
from common.folders import cache_folder

log = logging.getLogger(__name__)


class Models:
    """The engine queue, and the controllers of models and of the status line."""

    def __init__(self, window: Window, foundation: Foundation, open_chats: OpenChats, intervals: Intervals) -> None:
        settings, engine, keys = foundation.settings, foundation.engine, foundation.keys
        self.engine = engine
        keys.setParent(window)
        settings.changed.connect(engine.model.apply_settings)
        controller = self.controller = ModelController(window, settings, engine, open_chats, keys, foundation.first)
        self.status = StatusController(window, engine, controller, settings, intervals.tick, intervals.minute)
        SmallerModelController(window.notice, engine, controller, settings)  # owned by the models' controller
        engine.state.phase_changed.connect(controller.engine_changed)
        window.commands.bind("models", controller.open)
        window.commands.bind("server", controller.connect_to_server)
        window.commands.bind("open_model", controller.choose_model)


def compose_settings(
    window: Window, appearance: Appearance, settings: Settings, models: Models, intervals: Intervals
) -> SettingsController:
    controller = SettingsController(settings, window, models.controller, intervals.settings_settled)
    models.engine.state.phase_changed.connect(controller.engine_changed)
    controller.settled.connect(models.engine.reload_if_outdated)
    bind = window.commands.bind
    bind("settings", controller.open)
    bind("larger", appearance.larger)
    bind("smaller", appearance.smaller)
    bind("normal", appearance.normal)
    appearance.application.applicationStateChanged.connect(controller.application_state_changed)
    return controller


class Chats:
    """The open chats and their controllers."""

    def __init__(
        self,
        window: Window,
        models: Models,
        open_chats: OpenChats,
        settings: SettingsController,
        folders: Folders,
        intervals: Intervals,
    ) -> None:
        engine, store, values = models.engine, open_chats.store, settings.settings
        self.open_chats = open_chats
        chat = self.chat = ChatController(window, open_chats, engine, intervals.read_ahead)
        RoomController(open_chats, engine, models.controller)
        self.messages = MessageController(window, open_chats, engine, models.controller, intervals.save_text)
        known_collections = self.known_collections = Collections(store)
        retriever = Retriever(known_collections, engine, window.notice, folders.collections, window)
        indexing = IndexingController(known_collections, engine, folders.collections, intervals.index, window)
        self.collections = CollectionsController(window, open_chats, known_collections, indexing, retriever)
        self.desk = ToolDesk(open_chats, engine, values)
        own_tools = OwnToolWork(open_chats, known_collections, retriever, values, window)
        self.tools = ToolsController(window, open_chats, self.desk, own_tools)
        drafts = self.drafts = DraftController(window, open_chats, engine, chat, retriever, intervals.save_text)
        drafts.folder_given.connect(self.collections.offer)
        drafts.files.model_wanted.connect(models.controller.use)
        drafts.files.download_wanted.connect(models.controller.download)
        upkeep = Upkeep(store.path, window, intervals.upkeep, intervals.upkeep_retry)
        self.list = ChatListController(window, open_chats, engine, chat, upkeep)
        self.projects = ProjectController(
            window, open_chats, engine, self.list, known_collections, models.controller, values
        )
        self.import_export = ImportExportController(window, open_chats, self.list)
        self.tool_servers = ToolServersController(window, settings, engine, open_chats, self.desk)
        contents = ServerContents(window, open_chats, self.tool_servers.sources, drafts.files)
        self.tools.menu_made.connect(contents.add_menus)
        self.snippets = SnippetController(window, folders.data / SNIPPETS, contents)
        self.options = ChatOptionsController(window, open_chats, engine, values, Personas(store))
        self.screenshot = ScreenshotController(window, drafts)
        self.pages = PageController(window, open_chats, drafts, values, intervals.links)
        self.dictation = DictationController(window, open_chats, models.controller, drafts, values)
        self.titles = TitleController(window, open_chats, engine, self.list, values, intervals.title)
        self.memory = MemoryController(window, open_chats, engine, values, intervals.memory)
        self.summaries = SummaryController(window, open_chats, engine, self.messages, values, intervals.title)
        self.model = ChatModelController(window, open_chats, engine, models.controller)
        self.find = FindController(window, open_chats)
        self.importing = ImportController(window, self.import_export)
        self.palette = PaletteController(window, open_chats, engine, chat, settings, store.path)
        self.quick = QuickController(window, open_chats, engine, chat, drafts, self.snippets, values)
        self.engine_monitor = EngineMonitorController(window, engine, open_chats)
        self.context_menu = ContextMenu(window.status, open_chats, engine, window.notice)
        self.notifications = NotificationController(window, open_chats, chat, values, intervals.notify_after / 1000)
        self.unsaved = UnsavedController(window, open_chats, drafts, intervals.save_retry)
        self.storage = StorageController(settings, self.list, folders, cache_folder(), window.notice, self.collections)
        self.window_state = WindowStateController(window, open_chats, intervals.save_window)
        window.commands.bind("storage", self.storage.open)
        window.commands.bind("logs", self.storage.open_logs)
        settings.settled.connect(chat.read_ahead_soon)
        allow_what_is_possible(window, open_chats, engine)
        SpeechController(window, open_chats, intervals.speech)
        WelcomeController(window, open_chats, engine, chat, drafts).show()

    def close(self) -> None:
        """Close the controllers and store everything.

        Once the store's writer is closed, `unsaved` lists what could not be stored.
        """
        parts = (
            self.tools, self.quick, self.window_state, self.list, self.find, self.importing, self.import_export,
            self.palette, self.drafts, self.collections, self.storage, self.notifications, self.projects,
            self.tool_servers, self.dictation,
        )  # fmt: skip
        for part in parts:
            part.close()


class Chickadee(QObject):
    """The running application: one window, one engine, one store."""

    def __init__(self, foundation: Foundation, preparation: Sequence[str] = ()) -> None:
        """Build the window; `preparation` is the command that completes the set-up, empty if nothing is left."""
        super().__init__()
        foundation.setParent(self)
        self._foundation = foundation
        self.folders, intervals = foundation.folders, foundation.intervals
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.setWindowIcon(application_icon())
        self.settings, self.store, self.process = foundation.settings, foundation.store, foundation.process
        self.appearance = Appearance(application, self.settings)
        self.window = Window(self.folders.geometry)
        self.open_chats = OpenChats(self.store)
        self.models = Models(self.window, foundation, self.open_chats, intervals)
        self.preparation = PreparationController(self.window, self.models.engine, self.models.controller, preparation)
        self.settings_controller = compose_settings(self.window, self.appearance, self.settings, self.models, intervals)
        self.api = ApiController(self.settings_controller, self.models.engine)
        self.window.commands.bind("local_api", self.api.open)
        self.chats = Chats(self.window, self.models, self.open_chats, self.settings_controller, self.folders, intervals)
        self.chats.engine_monitor.show_processes(lambda: self.api.front.memory_bytes, lambda: self.process.memory_bytes)
        self.engine = self.models.engine
        self._check_notices()
        self.offers = OfferController(self.window, self.engine, self.models.controller, self.settings, intervals.offers)
        self.window.closing.connect(self.stop)
        self.unsaved_sentences: list[str] = []  # sentences that the program prints after the window has closed

    def _check_notices(self) -> None:
        """Have the notices whose cause has gone removed at everything that may remove one."""
        chats, check = self.chats, self.window.notice.check
        for event in (
            chats.drafts.files.changed,
            chats.known_collections.changed,
            chats.known_collections.progress_changed,
        ):
            event.connect(check)
        self.engine.state.phase_changed.connect(check)
        self.settings.changed.connect(check)
        self.models.controller.listed.connect(check)

    def start(self) -> None:
        """Start the engine with the first model, unless it has started; the window may be shown before or after."""
        foundation = self._foundation
        foundation.collector.start()
        self.settings_controller.report_problems()
        if foundation.recovery is not None:
            self.window.notice.post(foundation.recovery.__str__, kind="problem")
        self.models.controller.list_recent()
        if foundation.started:
            self.engine.state.repeat()  # what happened before there was a window to hear of it
        foundation.start()
        if foundation.failure:
            self.window.notice.post_failure(foundation.failure, NO_MODEL)
        self.preparation.start()
        self.offers.start()
        self.api.apply()
        import_in_background()  # while the engine starts; else the first answer would wait for this import

    def stop(self) -> None:
        """Store everything, end the engine, close the store."""
        # Nothing that waits or works in the background has an outcome that is still wanted.
        timers: list[Debounce | Throttle] = [*self.window.findChildren(Debounce), *self.window.findChildren(Throttle)]
        for timer in timers:
            timer.cancel()
        for background in self.window.findChildren(Background):
            background.close()
        self.chats.close()
        self.models.status.close()
        self.api.close()
        self.preparation.close()
        self.appearance.close()
        self.settings_controller.close()
        self.models.controller.close()
        if self.engine.active is not None:
            self.engine.active.fail_answer(None, reason="cancelled")
        self.process.close()
        self.store.writer.close()  # later writes are done at once, in this thread; the children end meanwhile
        self.unsaved_sentences = self.chats.unsaved.close()
        try:
            self.store.close()
        except Failure as failure:
            log.warning("%s", failure.log_text)
        wait_for_children()
        self._foundation.collector.close()

    def ask(self, question: str, token: str = "") -> None:
        """Show the quick window and ask `question` there, because the program was started with `--ask`."""
        self.chats.quick.open(question, token)

    def raise_window(self, model: str) -> None:
        """Show the window and load `model`, because the program was started a second time."""
        self.window.raise_window()
        if model:
            self.models.controller.use_model(model)
