"""The lines above the composer: which model the open chat had, and whether it may be sent to a server."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject

from app.control.model_controller import ModelController
from app.services.background import Background
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.store.chat import Chat
from app.window import Window
from common.files import is_file
from common.paths import path_of, path_text
from models.servers import remote_model
from models.titles import title_of


class ChatModelController(QObject):
    """Controller of the two lines above the composer about where the open chat is answered.

    One offers the chat's model: opening a chat never loads a model, only the button does. The other asks once whether
    the chat may be sent to a server; `EngineQueue` lets the chat wait until it is answered.
    """

    def __init__(self, window: Window, open_chats: OpenChats, engine: EngineQueue, models: ModelController) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._models = window, open_chats, engine, models
        self._line = window.chat_model
        self._line.switch_requested.connect(self._switch)
        self._background = Background(self)
        self._shown: tuple[str, str] | None = None  # the name and path of the model that is shown or looked for
        self._offered: Path | None = None
        window.consent.agreed.connect(self._agree)
        window.consent.refused.connect(self._refuse)
        open_chats.follow_current(
            self._update,
            open_chats.entry_changed,
            open_chats.phase_changed,
            open_chats.branch_changed,
            open_chats.options_changed,
        )
        engine.state.phase_changed.connect(lambda _state: self._update())
        models.on_disk.changed.connect(self._look_again)

    def _update(self) -> None:
        """Show the chat's model if it is another one than the loaded one, once it is known whether its file is here.

        Show the question whether the chat may be sent to a server too, while it waits for an answer.
        """
        conversation = self._open_chats.current
        project, begins = conversation.project, conversation.beginning_id
        self._window.consent.ask(conversation.asked_host, project.name if begins else "", bool(project.facts))
        chat = self._chat
        if is_in_use(chat, self._engine.state):
            self._shown = None
            self._line.show_model("", here=False)
        elif (chat.model, chat.model_path) != self._shown:
            self._shown = chat.model, chat.model_path
            self._look_again()

    @property
    def _chat(self) -> Chat:
        """The open chat's entry; a chat without messages has its project's model."""
        conversation = self._open_chats.current
        if conversation.messages:
            return conversation.chat
        return replace(conversation.chat, model=conversation.project.model, model_path=conversation.project.model_path)

    def _look_again(self) -> None:
        """Look for the file in a thread, because a disk may be slow."""
        chat, known = self._chat, self._models.on_disk.paths
        if self._shown == (chat.model, chat.model_path):
            self._background.run(lambda: find_model(chat, known), lambda path: self._show(chat, path))

    def _show(self, chat: Chat, path: Path | None) -> None:
        if self._shown != (chat.model, chat.model_path):  # another chat was opened meanwhile
            return
        if path is None and not self._models.on_disk.scanned:
            self._models.on_disk.scan()  # the file may have been moved; `changed` looks again
            return
        self._offered = path
        remote = remote_model(path_of(chat.model_path)) is not None
        self._line.show_model(chat.model, here=path is not None, remote=remote, wanted=not chat.leaf_id)

    def _switch(self) -> None:
        if self._offered is not None:
            self._models.use(self._offered)

    def _agree(self) -> None:
        conversation = self._open_chats.current
        if conversation.asked_host:
            conversation.agree()
            self._engine.submit(conversation)
        self._window.composer.setFocus()

    def _refuse(self) -> None:
        self._engine.stop(self._open_chats.current)
        self._window.composer.setFocus()


def is_in_use(chat: Chat, state: EngineState) -> bool:
    """Return whether the chat's model is the one in use; also if the chat has no model or none is in use."""
    if not chat.model or state.path is None:
        return True
    name = state.model.name if state.model else title_of(state.path)
    return chat.model == name or chat.model_path == path_text(state.path)


def find_model(chat: Chat, known: Collection[Path]) -> Path | None:
    """Return the file of the chat's model: where it was, or else the one of the same title among the `known` ones.

    Of a model on a server, return what stands for it if its server is still known.
    """
    if remote_model(path_of(chat.model_path)):
        return path_of(chat.model_path) if path_of(chat.model_path) in known else None
    if chat.model_path and is_file(path_of(chat.model_path)):
        return path_of(chat.model_path)
    return next((path for path in known if title_of(path) == chat.model and is_file(path)), None)
