"""Memory: asks the model for facts about the user in idle time, if the user wants that, and the dialog of all facts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from app.dialogs.memory_dialog import SETTING, FactLine, MemoryDialog
from app.look.sheet import HasDialog, OneDialog
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.memory import MOST_TOKENS, Memory, facts_question, proposed_facts
from app.state.open_chats import OpenChats
from app.state.titles import LEAST_PARAMETERS
from app.store.chat import ChatMessage
from app.store.project_store import Fact
from app.window import Window
from app.words import UiText, tr, tr_n
from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.settings import Value

TOPIC = "memory"
WHOLE = ("end", "stop", "length")  # ends of an answer after which facts are asked for


class MemoryController(QObject, HasDialog[MemoryDialog]):
    """Controller of the setting `window.memory` and of the command `memory`."""

    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, settings: Settings, pause_ms: int
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._settings = window, open_chats, engine, settings
        self.memory = Memory(open_chats.projects)
        self._dialog = OneDialog[MemoryDialog](self._closed)
        self._forgotten: Fact | None = None
        self._next: Conversation | None = None
        self._asked: dict[str, int] = {}  # number of messages of a chat when facts were asked for last
        self._pause = Debounce(self._ask, pause_ms, self)
        window.commands.bind("memory", self.open)
        open_chats.answer_ended.connect(self._answer_ended)
        self.memory.changed.connect(self._show)
        open_chats.projects.changed.connect(lambda _folder_id: self._show())
        settings.changed.connect(self._show)

    # --- asking the model ---------------------------------------------------------------------------------------------

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        if answer.stop_reason in WHOLE and self._is_wanted(conversation):
            self._next = conversation
            self._pause.request()

    def _is_wanted(self, conversation: Conversation) -> bool:
        """Return whether the loaded model is to propose facts after this chat."""
        state = self._engine.state
        able = state.model is not None and state.model.parameters >= LEAST_PARAMETERS and not state.host
        wanted = self._settings.values[SETTING] == "on" and not (state.power.reason or state.power.postpones_idle_work)
        is_new = len(conversation.messages) > self._asked.get(conversation.chat.id, 0)
        kept = conversation.state == "listed" and not conversation.temporary
        return able and wanted and is_new and kept and not conversation.busy

    def _ask(self) -> None:
        conversation, self._next = self._next, None
        if conversation is None or not self._is_wanted(conversation):
            return
        messages = list(conversation.messages)

        def written(answer: str | Sentence | None) -> None:
            if answer is None:  # the engine has other work
                self._next = self._next or conversation
                self._pause.request()
                return
            self._asked[conversation.chat.id] = len(messages)
            if isinstance(answer, str) and self._is_kept(conversation):
                self._propose(proposed_facts(answer, messages), conversation)

        self._engine.idle.ask(conversation, facts_question(messages), MOST_TOKENS, written)

    def _is_kept(self, conversation: Conversation) -> bool:
        """Return whether proposals of this chat are still wanted: it may have been deleted meanwhile."""
        return self._settings.values[SETTING] == "on" and conversation.state == "listed"

    def _propose(self, facts: list[str], conversation: Conversation) -> None:
        n = self.memory.propose(facts, conversation.project.id or None)

        def words() -> str:
            return tr_n(
                "The model proposes {n} fact about you to remember.",
                "The model proposes {n} facts about you to remember.",
                n,
            )

        if n:
            holds = partial(bool, self.memory.proposals)
            self._window.notice.post(words, lambda: tr("Look…"), self.open, topic=TOPIC, holds=holds)

    # --- the dialog ---------------------------------------------------------------------------------------------------

    def open(self) -> None:
        self._dialog.show(lambda: MemoryDialog(self._window), self._connect)
        self._window.notice.solve(TOPIC)

    def _connect(self, dialog: MemoryDialog) -> None:
        memory = self.memory
        dialog.approved.connect(lambda *values: self._guarded(lambda: memory.approve(*values)))
        dialog.changed.connect(lambda *values: self._guarded(lambda: memory.change(*values)))
        dialog.refused.connect(memory.refuse)
        dialog.forgotten.connect(lambda id: self._guarded(lambda: self._forget(id)))
        dialog.added.connect(lambda text: self._guarded(lambda: memory.approve("", text, None)))
        dialog.undo_requested.connect(lambda: self._guarded(self._undo))
        dialog.setting_changed.connect(self._change_setting)
        self._show()

    def _closed(self) -> None:
        self._forgotten = None

    def _show(self) -> None:
        self._window.notice.check()
        if self.dialog is None:
            return
        folders = [(folder.id, folder.name) for folder in self._open_chats.folders()]
        lines = [FactLine(each.id, each.text, each.folder_id, True) for each in self.memory.proposals]
        lines += [FactLine(each.id, each.text, each.folder_id, False) for each in self._open_chats.projects.facts()]
        self.dialog.show_facts(lines, folders)
        self.dialog.show_setting(self._settings.values[SETTING], self._settings.differs(SETTING))

    def _change_setting(self, name: str, value: Value | None) -> None:
        problem = self._settings.reset([name]) if value is None else self._settings.change({name: value})
        self._note("", problem=problem)

    def _forget(self, id: str) -> None:
        """Delete a fact, and what the engine has kept of the chats that began with it."""
        fact = self._forgotten = self.memory.forget(id)
        if fact is None:
            return
        chats = [chat.id for chat in self._open_chats.chats() if fact.folder_id in (None, chat.folder_id)]
        folders = [folder.id for folder in self._open_chats.folders() if fact.folder_id in (None, folder.id)]
        for each in (*folders, *chats):
            self._engine.idle.forget(each)
        self._note(lambda: tr("The fact was deleted."), can_undo=True)

    def _undo(self) -> None:
        if self._forgotten is not None:
            self._open_chats.projects.remember(self._forgotten)
        self._forgotten = None  # only now: what could not be stored can be brought back later
        self._note("")

    def _note(self, words: UiText, can_undo: bool = False, problem: UiText = "") -> None:
        if self.dialog is not None:
            self.dialog.show_note(words, can_undo, problem)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            self._note("")
            work()
        except Failure as failure:
            self._note("", can_undo=self._forgotten is not None, problem=failure.sentence)
