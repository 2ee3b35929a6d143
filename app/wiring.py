"""Puts the parts together: the only module that knows them all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QFileDialog

from app.assistant.engine_client import EngineClient
from app.background import Background
from app.collector import Collector
from app.composer.waiting import waiting_line
from app.control.appearance import Appearance
from app.control.chat_controller import ChatCommands, Deeds
from app.control.chat_list_controller import ChatListController
from app.control.chat_options_control import ChatOptionsControl
from app.control.draft_controller import DraftController
from app.control.draft_keeper import DraftKeeper
from app.control.engine_monitor_controller import EngineMonitorController
from app.control.keeping import Keeping
from app.control.message_controller import MessageController
from app.control.model_keeper import ModelKeeper
from app.control.palette_controller import PaletteController
from app.control.preferences import Preferences
from app.control.problem_notice import ProblemNotice
from app.control.settings_plan import SettingsPlan
from app.control.status_controller import ContextController
from app.control.tidying import Upkeep
from app.control.unsaved_controller import UnsavedController
from app.control.welcome_controller import WelcomeController
from app.control.window_state_controller import WindowStateController
from app.folders import Folders
from app.intervals import Intervals
from app.library.recovery import open_library
from app.look.icons import application_icon
from app.markdown.web_links import ask_about_link
from app.settings.settings import Settings
from app.state.conversation import Change, Conversation
from app.state.draft import DraftStore
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.window import Window
from app.words import tr
from common.failures import Failure
from common.folders import cache_folder
from common.paths import path_of
from models.default import default_model

log = logging.getLogger(__name__)


class Chickadee(QObject):
    """The running application: one window, one engine, one library."""

    def __init__(
        self,
        folders: Folders,
        model: Path | None = None,
        command: Sequence[str] | None = None,
        max_tokens: int | None = None,
        intervals: Intervals | None = None,
    ) -> None:
        super().__init__()
        self._intervals = intervals = intervals or Intervals()
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self.application = application
        self._folders = folders
        application.setWindowIcon(application_icon())
        settings = Settings(folders.settings)
        self.appearance = Appearance(application, settings)
        self.library, self._recovery = open_library(folders.library)
        self.library.writer.use_thread(Background(self).tell)
        self.client = EngineClient(command, self)
        self.open_chats = OpenChats(self.library)
        self.window = Window(folders.geometry)
        self.preferences = Preferences(settings, self.window, self.window.notice, intervals.settled, max_tokens)
        self.engine = EngineQueue(self.client, self.preferences.options, patience_ms=intervals.patience)
        self.messages = MessageController(self.open_chats, self.engine, self.window, intervals.typed)
        self.context = ContextController(self.window.status, self.open_chats, self.engine, self.window.notice)
        self.models = ModelKeeper(self.window, folders.settings, lambda: self.preferences.options)
        self.engine.tailor = self.models.settings.tailored
        self.models.settings.listeners.append(self.preferences.renew)
        settings.listeners.append(self.models.fetching.settings_changed)
        self._problems = ProblemNotice(self.window.notice, self.choose_model, self.engine.start_engine)
        self._opened = QTimer(self)
        unsent = DraftKeeper(DraftStore(self.library), self.window.notice, intervals.typed)
        self.drafts = DraftController(self.window, self.engine, unsent, self._opened.start)
        self.unsaved = UnsavedController(
            self.open_chats, self.messages, self.drafts, self.window, intervals.stored_again
        )
        self._first_model = model
        self._remembered: Path | None = None
        self.chat_list = ChatListController(
            self.open_chats,
            self.engine,
            self.window,
            Upkeep(self.library.path, self, intervals.tidied, intervals.tidied_again),
            self._show_current,
            self.open_chat,
            self._problems.complain,
        )
        self._collector = Collector(self)
        self._tick = QTimer(self)
        self._was_ready = False
        self.lost: list[str] = []  # sentences, for whoever closes the window
        self._connect()
        self._bind()
        self._show_current()
        self.welcome.show()

    def start(self) -> None:
        """Load the model; the window may be shown before or after."""
        self._collector.start()
        self.preferences.tell_problems()
        if self._recovery is not None:
            self.window.notice.tell(self._recovery.__str__, kind="problem")
        try:
            self.window.status.show_models(self.library.recent_models())
            self.engine.use_model(self._first_model or default_model())
        except Failure as failure:
            self._problems.complain(failure)

    def stop(self) -> None:
        """Keep what is written, end the engine, close the library."""
        self.window_state.close()
        self._tick.stop()
        self._collector.close()
        self._opened.stop()
        self.chat_list.close()
        self.palette.close()
        self.drafts.close()
        self.appearance.close()
        self.preferences.close()
        self.keeping.close()
        self.models.close()
        conversation = self.engine.active
        if conversation is not None:
            conversation.fail("", reason="cancelled")
        self.client.close()
        self.library.writer.close()  # from here on what is written is done at once
        self.lost = self.unsaved.close()
        try:
            self.library.close()
        except Failure as failure:
            log.warning("%s", failure)

    # --- connections ------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        window = self.window
        self.client.received.connect(self.engine.handle)
        self.client.ended.connect(self.engine.engine_ended)
        self.engine.listeners.append(self._stands)
        self.engine.listeners += [self.preferences.stands, self.drafts.stands, self.models.stands]
        self.models.chosen.connect(self.use_model)
        self.models.unloaded.connect(self.engine.unload)
        self.open_chats.listeners += [self._changed, self.drafts.changed]
        window.composer.sent.connect(self.send)
        window.composer.stopped.connect(self.stop_answer)
        window.welcome.asked.connect(self.send)
        window.transcript.link.connect(lambda address: ask_about_link(window.notice, address))
        window.sidebar.new.connect(self.new_chat)
        window.sidebar.opened.connect(self.open_chat)
        window.status.choose.connect(self.choose_model)
        window.status.manage.connect(self.models.open)
        window.status.chosen.connect(self.use_model)
        self.preferences.changed.connect(self.engine.use_options)
        self.preferences.settled.connect(self._settle)
        self.application.applicationStateChanged.connect(self.preferences.activated)
        window.closing.connect(self.stop)
        self._tick.setInterval(self._intervals.tick)
        self._tick.timeout.connect(self.engine.tick)
        self._opened.setSingleShot(True)
        self._opened.setInterval(self._intervals.opened)
        self._opened.timeout.connect(lambda: self.engine.opened(self.open_chats.current))

    def _bind(self) -> None:
        bind = self.window.commands.bind
        bind("settings", self.preferences.open)
        bind("open_model", self.choose_model)
        bind("models", self.models.open)
        bind("larger", self.appearance.larger)
        bind("smaller", self.appearance.smaller)
        bind("normal", self.appearance.normal)
        self.palette = PaletteController(self.window, self.open_chats.chats, self.library.path)
        self.palette.open_chat.connect(self.chat_list.open_at)
        deeds = Deeds(
            self.new_chat,
            self.open_chat,
            lambda chat_id: self.chat_list.delete([chat_id]),
            self._edit_title,
            self.messages.answer_again,
            self.stop_answer,
            self.palette.dismiss,
        )
        ChatCommands(self.window, self.open_chats, deeds)
        self.welcome = WelcomeController(self.window, self.open_chats, self.open_chat)
        self.window_state = WindowStateController(self.window, self.open_chats, self._intervals.placed)
        settings, personas = self.preferences.settings, Personas(self.library)
        self.options = ChatOptionsControl(self.window, self.open_chats, settings, personas, self._opened.start)
        self.engine_monitor = EngineMonitorController(self.window, self.engine, self.open_chats)
        self.appearance.shown += [self.window, self.engine_monitor, self.preferences, self.palette, self.options]
        self.keeping = Keeping(self.preferences, self.chat_list, self._folders, cache_folder())
        self.settings_plan = SettingsPlan(self.preferences, self.models.planner, self.models.options.question)
        self.engine.listeners += [self.welcome.stands, self.settings_plan.stands]
        bind("kept", self.keeping.open)
        self.appearance.shown += [self.models, self.chat_list, self]

    # --- what the user does -----------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        self.welcome.asked()
        self.drafts.send(text)

    def stop_answer(self) -> None:
        self.engine.stop(self.open_chats.current)

    def new_chat(self) -> None:
        if len(self.open_chats.current.tree):
            self.open_chats.new()
            self._show_current()
        self.window.close_overlay()
        self.window.composer.setFocus()

    def open_chat(self, chat_id: str) -> None:
        try:
            self.open_chats.open(chat_id)
        except Failure as failure:
            self._problems.complain(failure)
            return
        self._show_current()
        self.window.close_overlay()
        self.window.composer.setFocus()

    def choose_model(self) -> None:
        start = str(self.engine.state.path.parent) if self.engine.state.path else ""
        dialog = QFileDialog(self.window, tr("Open model"), start, tr("Models (*.gguf);;All files (*)"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.use_model)
        dialog.open()

    def use_model(self, path: str) -> None:
        self.engine.use_model(path_of(path).absolute())

    def raise_window(self, model: str) -> None:
        """A second start of the program: show the window, and load the model it asked for."""
        self.window.raise_window()
        if model:
            self.use_model(model)

    # --- what the parts say -----------------------------------------------------------------------------------------

    def _changed(self, conversation: Conversation, change: Change) -> None:
        self._look_after_answer()
        if change.kind in ("chat", "ended"):
            self.chat_list.list_soon()
        if change.kind in ("ended", "branch", "chat") and not conversation.busy:
            self._opened.start()
        if change.kind == "storage":
            self.window.notice.tell(change.words, kind="problem")
        if conversation is not self.open_chats.current:
            return
        if change.kind in ("phase", "ended"):
            self._show_waiting()
        elif change.kind in ("added", "chat"):
            self.window.show_page(not conversation.messages)
            self._show_title(conversation)

    def _look_after_answer(self) -> None:
        """From time to time, while there is one: a window that waits wakes the processor for nothing."""
        if self.engine.active is None:
            self._tick.stop()
        elif not self._tick.isActive():
            self._tick.start()

    def _stands(self, state: EngineState) -> None:
        self._look_after_answer()
        self.window.status.show_engine(state)
        self._show_waiting()
        self._problems.show(state.problem)
        self.palette.model, self.palette.limits = state.model, state.limits
        was_ready, self._was_ready = self._was_ready, state.phase == "ready"
        if self._was_ready and not was_ready:
            self._opened.start()
        if state.phase == "ready" and state.path and state.path != self._remembered:
            self._remember(state.path)

    def _settle(self) -> None:
        self.engine.settle()
        self._opened.start()

    def _remember(self, path: Path) -> None:
        self._remembered = path
        try:
            self.library.remember_model(path)
            self.window.status.show_models(self.library.recent_models())
        except Failure as failure:
            log.warning("%s (%s)", failure, failure.detail)

    def retranslate(self) -> None:
        self._show_waiting()

    def restyle(self) -> None:
        """What is wired here has no look of its own."""

    def _show_waiting(self) -> None:
        conversation = self.open_chats.current
        self.window.composer.set_busy(conversation.busy)
        self.window.composer.set_progress(*waiting_line(self.engine.state, conversation))

    def _show_current(self) -> None:
        conversation = self.open_chats.current
        self.window.show_page(not conversation.messages)  # first: what is laid out then has its width
        self.window.transcript.show_conversation(conversation)
        self.window.status.show_chat(conversation.chat.id)
        self.messages.offer_deleted()
        self.drafts.show(conversation)
        self.options.show()
        self._show_title(conversation)
        self.engine_monitor.show_current()
        self.window_state.soon()
        self.chat_list.list_now()
        self._show_waiting()
        self._opened.start()

    def _show_title(self, conversation: Conversation) -> None:
        self.window.header.show_title(conversation.chat.title if conversation.messages else "")

    def _edit_title(self) -> None:
        if self.window.sidebar.isHidden():
            self.window.toggle_sidebar()
        self.window.sidebar.rename(self.open_chats.current.chat.id)
