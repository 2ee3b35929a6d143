"""A chat that outgrew the context: offers a model on this computer that has room for it."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject

from app.control.model_controller import ModelController
from app.state.conversation import TOO_LONG, Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.store.chat import ChatMessage
from common.paths import path_text
from common.planning import Verdict
from common.sentences import Sentence, decode_sentence
from engine.protocol.events import Remedy
from models.servers import remote_model

ANSWER_ROOM = 256  # tokens beside the chat that a model must have; more is asked for, the next power of two
PATIENCE = 180  # seconds of reading; a better model that takes longer is no help
QUESTION = "room"  # the planner's keys are (QUESTION, path)


class RoomController(QObject):
    """Controller that has the planner judge the other models with a context for the chat, and offers one of them."""

    def __init__(self, open_chats: OpenChats, engine: EngineQueue, models: ModelController) -> None:
        super().__init__(models)
        self._engine, self._models = engine, models
        self._needed = 0
        self._conversation: Conversation | None = None  # the chat that is too long, until a model is offered
        self._asked: set[Path] = set()
        self._verdicts: dict[Path, Verdict] = {}
        open_chats.answer_ended.connect(self._answer_ended)
        models.planner.answered.connect(self._judged)
        models.on_disk.changed.connect(self._ask)

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        needed = _tokens_needed(answer)
        self._conversation = conversation if needed else None
        if needed:
            self._needed = needed + ANSWER_ROOM
            self._asked, self._verdicts = set(), {}
            self._models.on_disk.scan()

    def _ask(self) -> None:
        """Ask whether the models that a scan has found have room."""
        if self._conversation is None or self._asked:
            return
        loaded = self._engine.state.path
        self._asked = {path for path in self._models.on_disk.paths if path != loaded and remote_model(path) is None}
        n_ctx = 1 << self._needed.bit_length()
        for path in self._asked:
            question = msgspec.structs.replace(self._models.question(path), n_ctx=n_ctx)
            self._models.planner.ask((QUESTION, path), question)

    def _judged(self, key: Hashable, verdict: Verdict) -> None:
        if self._conversation is None or not (isinstance(key, tuple) and key[0] == QUESTION):
            return
        self._verdicts[key[1]] = verdict
        if self._verdicts.keys() >= self._asked:
            conversation, self._conversation = self._conversation, None
            path = best_with_room(self._verdicts, self._needed)
            if path is not None and not conversation.busy:
                n_ctx = self._verdicts[path].n_ctx
                conversation.offer(Remedy("other_model", n_ctx=n_ctx, path=path_text(path)))


def best_with_room(verdicts: dict[Path, Verdict], needed: int) -> Path | None:
    """Return the largest model that has room for `needed` tokens and soon reads them; else the one that reads first."""

    def rank(path: Path) -> tuple[bool, float]:
        speed = verdicts[path].predicted_prompt_speed
        soon = speed * PATIENCE >= needed
        return soon, verdicts[path].total_bytes if soon else speed

    fitting = [path for path, each in verdicts.items() if each.verdict in ("fits", "tight") and each.n_ctx >= needed]
    return max(fitting, key=rank, default=None)


def _tokens_needed(answer: ChatMessage) -> int:
    """Return how many tokens the chat has that was too long to be answered; 0 if that is not why the answer ended."""
    problem = decode_sentence(answer.problem) if answer.problem else None
    if problem is None or problem.code != TOO_LONG or answer.stop_reason != "failed":
        return 0
    needed = problem.values.get("needed")
    tokens = needed.values.get("tokens") if isinstance(needed, Sentence) else None
    return int(tokens) if isinstance(tokens, int | float) else 0
