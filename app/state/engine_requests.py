"""Requests to the engine: what was requested last, a model or reading ahead, and what asking a server needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from app.state.conversation import Conversation
from common.failures import Failure
from common.paths import path_text
from common.sentences import Sentence
from engine.protocol.events import Counted
from engine.protocol.requests import KVType, Load, Message

CountCallback = Callable[[Counted], None]


class Servers(Protocol):
    """Access to servers: the key of each, and whether connections are allowed."""

    def forbidden(self) -> Sentence | None:
        """Return why connections are turned off; None if they are allowed."""

    def find_key(self, url: str, found: Callable[[str], object], failed: Callable[[Failure], object]) -> None:
        """Call `found` with the server's key, "" if it needs none; at once or later, because a keyring may ask."""


class NoServers:
    """No servers: every connection is allowed, and none has a key."""

    def forbidden(self) -> Sentence | None:
        """Return None."""

    def find_key(self, _url: str, found: Callable[[str], object], _failed: Callable[[Failure], object]) -> None:
        """Call `found` with no key."""
        found("")


class Loading:
    """The options for loading the model, and those of the last request.

    `options` is a Load without a path. What the user chose for a chat overrides the options until another model is
    chosen.
    """

    def __init__(self, options: Load) -> None:
        self.options = options
        self._chosen: dict[str, object] = {}
        self._requested: Load | None = None

    def choose(self, n_ctx: int | None, kv_type: KVType | None) -> None:
        """Set the user's choice for this model; None leaves a field to the settings."""
        choices = {"n_ctx": n_ctx, "kv_type": kv_type}
        self._chosen = {field: choice for field, choice in choices.items() if choice is not None}

    def use_options(self, options: Load) -> None:
        """Use changed settings; a setting that changed replaces what the user chose before."""
        kept = [field for field in self._chosen if getattr(options, field) == getattr(self.options, field)]
        self._chosen = {field: self._chosen[field] for field in kept}
        self.options = options

    def drop_choice(self) -> None:
        """Drop the user's choice, because loading with it failed; a model that is still loaded stays as it is."""
        if self._chosen:
            self._chosen = {}
            self._requested = self._current_options()

    def keep_loaded(self) -> None:
        """Keep the loaded model as it is, although other options were requested."""
        self._requested = self._current_options()

    def outdated(self) -> bool:
        """Return whether the model was requested with other options than would be used now.

        The local API alone is no reason to load it again: the reserve of memory has room for that.
        """
        current = self._current_options()
        return self._requested is not None and self._requested != replace(current, api=self._requested.api)

    def request(self, path: Path) -> Load:
        """Return the request for the model at `path` and remember its options."""
        self._requested = self._current_options()
        return replace(self._requested, path=path_text(path))

    def _current_options(self) -> Load:
        return replace(self.options, **self._chosen)  # type: ignore[arg-type]


class ReadAhead:
    """The state of the chat that the engine was last told to read, so that each state is read ahead once.

    `id` is that of the last Prepare request, which separates its events from those of older requests.
    """

    def __init__(self) -> None:
        self.id = 0
        self._requested_state: object = None

    def messages_to_read(self, conversation: Conversation) -> tuple[Message, ...]:
        """Return the messages to read for this chat, once.

        Returns () if they were requested already, or if the next question will not be sent with just these messages.
        """
        chat = conversation.chat
        files = conversation.draft.certain_attachments() if conversation.draft else ()
        state = (chat.id, chat.leaf_id, chat.forget_turns, chat.options, files)
        if state == self._requested_state or conversation.busy or conversation.remedies:
            return ()
        self._requested_state = state
        return conversation.certain_prompt()

    def forget(self) -> None:
        """Forget the last request, because the engine's cache now holds something else."""
        self.id = 0
        self._requested_state = None
