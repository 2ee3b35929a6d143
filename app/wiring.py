"""Puts the parts together: the only module that knows them all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QFileDialog

from app.assistant.assistant import Assistant
from app.assistant.engine_client import EngineClient
from app.assistant.standing import Standing
from app.background import Background
from app.collector import Collector
from app.composer.waiting import waiting_line
from app.control.appearance import Appearance
from app.control.attaching import Attaching
from app.control.beginning import Beginning
from app.control.chat_commands import ChatCommands, Deeds
from app.control.chat_options_control import ChatOptionsControl
from app.control.context_control import ContextControl
from app.control.keeping import Keeping
from app.control.librarian import Librarian
from app.control.message_acts import MessageActs
from app.control.model_keeper import ModelKeeper
from app.control.place_keeper import PlaceKeeper
from app.control.preferences import Preferences
from app.control.problem_notice import ProblemNotice
from app.control.settings_plan import SettingsPlan
from app.control.sheets import Sheets
from app.control.tidying import Tidying
from app.control.unsent_keeper import UnsentKeeper
from app.control.unstored import Unstored
from app.control.watching import Watching
from app.folders import Folders
from app.intervals import Intervals
from app.library.recovery import open_library
from app.look.icons import application_icon
from app.markdown.guard import ask_about_link
from app.open_chats.conversation import Change, Conversation
from app.open_chats.persona import Personas
from app.open_chats.shelf import Shelf
from app.open_chats.unsent import UnsentStore
from app.settings.settings import Settings
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
        self.shelf = Shelf(self.library)
        self.window = Window(folders.geometry)
        self.preferences = Preferences(settings, self.window, self.window.notice, intervals.settled, max_tokens)
        self.assistant = Assistant(self.client, self.preferences.options, patience_ms=intervals.patience)
        self.acts = MessageActs(self.shelf, self.assistant, self.window, intervals.typed)
        self.context = ContextControl(self.window.status, self.shelf, self.assistant, self.window.notice)
        self.models = ModelKeeper(self.window, folders.settings, lambda: self.preferences.options)
        self.assistant.tailor = self.models.settings.tailored
        self.models.settings.listeners.append(self.preferences.renew)
        settings.listeners.append(self.models.fetching.settings_changed)
        self._problems = ProblemNotice(self.window.notice, self.choose_model, self.assistant.start_engine)
        self._opened = QTimer(self)
        unsent = UnsentKeeper(UnsentStore(self.library), self.window.notice, intervals.typed)
        self.attaching = Attaching(self.window, self.assistant, unsent, self._opened.start)
        self.unstored = Unstored(self.shelf, self.acts, self.attaching, self.window, intervals.stored_again)
        self._first_model = model
        self._remembered: Path | None = None
        self.librarian = Librarian(
            self.shelf,
            self.assistant,
            self.window,
            Tidying(self.library.path, self, intervals.tidied, intervals.tidied_again),
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
        self.beginning.show()

    def start(self) -> None:
        """Load the model; the window may be shown before or after."""
        self._collector.start()
        self.preferences.tell_problems()
        if self._recovery is not None:
            self.window.notice.tell(self._recovery.__str__, kind="problem")
        try:
            self.window.status.show_models(self.library.recent_models())
            self.assistant.use_model(self._first_model or default_model())
        except Failure as failure:
            self._problems.complain(failure)

    def stop(self) -> None:
        """Keep what is written, end the engine, close the library."""
        self.places.close()
        self._tick.stop()
        self._collector.close()
        self._opened.stop()
        self.librarian.close()
        self.sheets.close()
        self.attaching.close()
        self.appearance.close()
        self.preferences.close()
        self.keeping.close()
        self.models.close()
        conversation = self.assistant.active
        if conversation is not None:
            conversation.fail("", reason="cancelled")
        self.client.close()
        self.library.writer.close()  # from here on what is written is done at once
        self.lost = self.unstored.close()
        try:
            self.library.close()
        except Failure as failure:
            log.warning("%s", failure)

    # --- connections ------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        window = self.window
        self.client.received.connect(self.assistant.handle)
        self.client.ended.connect(self.assistant.engine_ended)
        self.assistant.listeners.append(self._stands)
        self.assistant.listeners += [self.preferences.stands, self.attaching.stands, self.models.stands]
        self.models.chosen.connect(self.use_model)
        self.models.unloaded.connect(self.assistant.unload)
        self.shelf.listeners += [self._changed, self.attaching.changed]
        window.composer.sent.connect(self.send)
        window.composer.stopped.connect(self.stop_answer)
        window.welcome.asked.connect(self.send)
        window.transcript.link.connect(lambda address: ask_about_link(window.notice, address))
        window.sidebar.new.connect(self.new_chat)
        window.sidebar.opened.connect(self.open_chat)
        window.status.choose.connect(self.choose_model)
        window.status.manage.connect(self.models.open)
        window.status.chosen.connect(self.use_model)
        self.preferences.changed.connect(self.assistant.use_options)
        self.preferences.settled.connect(self._settle)
        self.application.applicationStateChanged.connect(self.preferences.activated)
        window.closing.connect(self.stop)
        self._tick.setInterval(self._intervals.tick)
        self._tick.timeout.connect(self.assistant.tick)
        self._opened.setSingleShot(True)
        self._opened.setInterval(self._intervals.opened)
        self._opened.timeout.connect(lambda: self.assistant.opened(self.shelf.current))

    def _bind(self) -> None:
        bind = self.window.commands.bind
        bind("settings", self.preferences.open)
        bind("open_model", self.choose_model)
        bind("models", self.models.open)
        bind("larger", self.appearance.larger)
        bind("smaller", self.appearance.smaller)
        bind("normal", self.appearance.normal)
        self.sheets = Sheets(self.window, self.shelf.chats, self.library.path)
        self.sheets.open_chat.connect(self.librarian.open_at)
        deeds = Deeds(
            self.new_chat,
            self.open_chat,
            lambda chat_id: self.librarian.delete([chat_id]),
            self._edit_title,
            self.acts.answer_again,
            self.stop_answer,
            self.sheets.dismiss,
        )
        ChatCommands(self.window, self.shelf, deeds)
        self.beginning = Beginning(self.window, self.shelf, self.open_chat)
        self.places = PlaceKeeper(self.window, self.shelf, self._intervals.placed)
        settings, personas = self.preferences.settings, Personas(self.library)
        self.options = ChatOptionsControl(self.window, self.shelf, settings, personas, self._opened.start)
        self.watching = Watching(self.window, self.assistant, self.shelf)
        self.appearance.shown += [self.window, self.watching, self.preferences, self.sheets, self.options]
        self.keeping = Keeping(self.preferences, self.librarian, self._folders, cache_folder())
        self.settings_plan = SettingsPlan(self.preferences, self.models.planner, self.models.options.question)
        self.assistant.listeners += [self.beginning.stands, self.settings_plan.stands]
        bind("kept", self.keeping.open)
        self.appearance.shown += [self.models, self.librarian, self]

    # --- what the user does -----------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        self.beginning.asked()
        self.attaching.send(text)

    def stop_answer(self) -> None:
        self.assistant.stop(self.shelf.current)

    def new_chat(self) -> None:
        if len(self.shelf.current.tree):
            self.shelf.new()
            self._show_current()
        self.window.close_overlay()
        self.window.composer.setFocus()

    def open_chat(self, chat_id: str) -> None:
        try:
            self.shelf.open(chat_id)
        except Failure as failure:
            self._problems.complain(failure)
            return
        self._show_current()
        self.window.close_overlay()
        self.window.composer.setFocus()

    def choose_model(self) -> None:
        start = str(self.assistant.standing.path.parent) if self.assistant.standing.path else ""
        dialog = QFileDialog(self.window, tr("Open model"), start, tr("Models (*.gguf);;All files (*)"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.use_model)
        dialog.open()

    def use_model(self, path: str) -> None:
        self.assistant.use_model(path_of(path).absolute())

    def raise_window(self, model: str) -> None:
        """A second start of the program: show the window, and load the model it asked for."""
        self.window.raise_window()
        if model:
            self.use_model(model)

    # --- what the parts say -----------------------------------------------------------------------------------------

    def _changed(self, conversation: Conversation, change: Change) -> None:
        self._look_after_answer()
        if change.kind in ("chat", "ended"):
            self.librarian.list_soon()
        if change.kind in ("ended", "branch", "chat") and not conversation.busy:
            self._opened.start()
        if change.kind == "storage":
            self.window.notice.tell(change.words, kind="problem")
        if conversation is not self.shelf.current:
            return
        if change.kind in ("phase", "ended"):
            self._show_waiting()
        elif change.kind in ("added", "chat"):
            self.window.show_page(not conversation.messages)
            self._show_title(conversation)

    def _look_after_answer(self) -> None:
        """From time to time, while there is one: a window that waits wakes the processor for nothing."""
        if self.assistant.active is None:
            self._tick.stop()
        elif not self._tick.isActive():
            self._tick.start()

    def _stands(self, standing: Standing) -> None:
        self._look_after_answer()
        self.window.status.show_standing(standing)
        self._show_waiting()
        self._problems.show(standing.problem)
        self.sheets.model, self.sheets.limits = standing.model, standing.limits
        was_ready, self._was_ready = self._was_ready, standing.phase == "ready"
        if self._was_ready and not was_ready:
            self._opened.start()
        if standing.phase == "ready" and standing.path and standing.path != self._remembered:
            self._remember(standing.path)

    def _settle(self) -> None:
        self.assistant.settle()
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
        conversation = self.shelf.current
        self.window.composer.set_busy(conversation.busy)
        self.window.composer.set_progress(*waiting_line(self.assistant.standing, conversation))

    def _show_current(self) -> None:
        conversation = self.shelf.current
        self.window.show_page(not conversation.messages)  # first: what is laid out then has its width
        self.window.transcript.show_conversation(conversation)
        self.window.status.show_chat(conversation.chat.id)
        self.acts.offer_deleted()
        self.attaching.show(conversation)
        self.options.show()
        self._show_title(conversation)
        self.watching.show_current()
        self.places.soon()
        self.librarian.list_now()
        self._show_waiting()
        self._opened.start()

    def _show_title(self, conversation: Conversation) -> None:
        self.window.header.show_title(conversation.chat.title if conversation.messages else "")

    def _edit_title(self) -> None:
        if self.window.sidebar.isHidden():
            self.window.toggle_sidebar()
        self.window.sidebar.rename(self.shelf.current.chat.id)
