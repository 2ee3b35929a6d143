"""The tools of all sources: which of them a chat may use, and what an answer is offered of them. Knows no Qt."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable

from app.attachments.attachment import estimated_tokens
from app.attachments.fitting import room_for_files
from app.events import Event
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.tools.choices import Choices, Rule, choices_from, choices_text
from app.tools.rounds import Offer, Offered, Turn
from app.tools.tool import ToolInfo, ToolSource
from engine.protocol.requests import Tool

ASSUMED_CONTEXT = 4_096  # tokens, until a model is loaded
MARGIN = 1.2  # estimated tokens of the chat may be too few
MOST_RESULT = 6_000  # tokens of one result; more take minutes to read
ROOM_SHARE = 2  # at most 1/2 of the room, so that later rounds have some too
DESCRIBED_SHARE = 4  # at most 1/4 of the context is for descriptions of tools
ROUNDS = "tools.rounds"
MOST_NAME = 64  # characters that the engine allows


class ToolDesk:
    """The desk where all sources of tools are known. `changed`: other tools are there, or a chat's choices changed.

    An answer is offered the tools that are switched on in its chat. After as many rounds of calls as the setting
    allows, it must do with what it has.
    """

    def __init__(self, open_chats: OpenChats, engine: EngineQueue, settings: Settings) -> None:
        self.changed: Event[()] = Event()
        self.sources: list[ToolSource] = []
        self._open_chats, self._engine, self._settings = open_chats, engine, settings
        engine.model.offer_tools = self.offer
        open_chats.answer_wanted.connect(engine.submit)
        open_chats.phase_changed.connect(self._mark_waiting)

    def close(self) -> None:
        """Stop all calls, because the window closes."""
        for chat_id in self._open_chats.busy_ids:
            conversation = self._open_chats.conversation(chat_id)
            if conversation is not None and conversation.round is not None:
                conversation.withdraw()

    def add(self, source: ToolSource) -> None:
        """Add a source of tools; the tools of earlier sources keep their names."""
        self.sources.append(source)
        source.changed.connect(self.changed.emit)
        self.changed.emit()

    def choices(self, conversation: Conversation) -> Choices:
        return choices_from(conversation.chat.tools)

    def choose(self, conversation: Conversation, choices: Choices) -> None:
        """Keep other choices for a chat."""
        conversation.update_entry(tools=choices_text(choices))
        self.changed.emit()

    def used_by(self, conversation: Conversation) -> list[ToolInfo]:
        """Return the tools that are there and switched on in a chat."""
        return [each.info for each in self._offered(conversation)]

    def offer(self, conversation: Conversation) -> Offer | None:
        """Return the tools that the chat's next answer may call; None if there are none."""
        budget = self._n_ctx // DESCRIBED_SHARE
        by_name: dict[str, Offered] = {}
        tools: list[Tool] = []
        for each in self._offered(conversation):
            name = _free_name(each.info, by_name)
            tool = Tool(name, each.info.description, each.info.parameters)
            budget -= described_tokens((tool,))
            if budget >= 0 and is_schema(tool.parameters):
                by_name[name] = each
                tools.append(tool)
        if not tools:
            return None

        def rule_for(info: ToolInfo, agreement: str) -> Rule:
            choices = self.choices(conversation)
            return choices.rule_for(info, agreement) if choices.uses(info) else "never"

        def remember(agreement: str, rule: Rule) -> None:
            self.choose(conversation, self.choices(conversation).with_rule(agreement, rule))

        turn, most = Turn.of(conversation.messages), int(self._settings.values[ROUNDS])
        described = described_tokens(tools)

        def room() -> int:
            return self._room(conversation, described)

        return Offer(conversation.chat.id, tuple(tools), by_name, rule_for, remember, room, turn, most)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _mark_waiting(self, conversation: Conversation) -> None:
        """Mark a chat in the background as unread while a call in it waits for the user."""
        asks = conversation.round is not None and conversation.round.asked is not None
        if asks and conversation is not self._open_chats.current and conversation.chat.unread_at is None:
            conversation.update_entry(unread_at=time.time())

    @property
    def _n_ctx(self) -> int:
        model = self._engine.state.model
        return (model.n_ctx if model else 0) or ASSUMED_CONTEXT

    def _offered(self, conversation: Conversation) -> list[Offered]:
        choices = self.choices(conversation)
        return [
            Offered(info, source)
            for source in self.sources
            for info in source.tools()
            if choices.uses(info) and (info.host_argument or choices.rule_for(info, info.fingerprint) != "never")
        ]

    def _room(self, conversation: Conversation, described: int) -> int:
        """Estimate how many tokens of a result fit beside the chat and an answer."""
        texts = [message.content for message in conversation.prompt()]
        before = round(sum(map(estimated_tokens, texts)) * MARGIN) + described
        return min(MOST_RESULT, room_for_files(self._n_ctx, before) // ROOM_SHARE)


def described_tokens(tools: Iterable[Tool]) -> int:
    """Estimate the tokens that the model reads of the tools."""
    return sum(round(estimated_tokens(f"{tool.name} {tool.description} {tool.parameters}")) + 20 for tool in tools)


def is_schema(parameters: str) -> bool:
    """Return whether the engine would take this for a schema of arguments; a source's text is a stranger's."""
    try:
        schema = json.loads(parameters or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(schema, dict) and isinstance(schema.get("properties", {}), dict)


def _free_name(info: ToolInfo, taken: dict[str, Offered]) -> str:
    """Return the name by which the model calls a tool: its own, unless another source's tool has that name."""
    own = re.sub(r"[^A-Za-z0-9_.-]", "_", info.name)[:MOST_NAME] or "tool"
    name, number = own, 2
    while name in taken:
        name, number = f"{own[: MOST_NAME - 4]}_{number}", number + 1
    return name
