"""The events of a conversation, which `OpenChats` emits for all open conversations. Knows no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.events import Event

if TYPE_CHECKING:
    from app.state.conversation import Conversation
    from app.store.chat import ChatMessage
    from app.words import UiText


class ConversationEvents:
    """The events of a conversation; `OpenChats` emits those of all open conversations.

    `branch_changed`: other messages are shown, or their siblings changed. `progress_changed`: more of the prompt was
    read. `calls_made`: an answer has ended with calls of tools; messages for their results follow, and then another
    answer. `message_changed`: a call has its result. `answer_wanted`: the calls are done, and the model is to go on.
    `answer_ended`: nothing more follows. `entry_changed`: what the list of chats shows changed. `context_changed`:
    which turns the model reads changed. `not_saved` carries the text for the user.
    """

    def __init__(self) -> None:
        self.message_added: Event[Conversation, ChatMessage] = Event()
        self.answer_ended: Event[Conversation, ChatMessage] = Event()
        self.calls_made: Event[Conversation, ChatMessage] = Event()
        self.message_changed: Event[Conversation, ChatMessage] = Event()
        self.answer_wanted: Event[Conversation] = Event()
        self.phase_changed: Event[Conversation] = Event()
        self.progress_changed: Event[Conversation] = Event()
        self.branch_changed: Event[Conversation] = Event()
        self.entry_changed: Event[Conversation] = Event()
        self.options_changed: Event[Conversation] = Event()
        self.context_changed: Event[Conversation] = Event()
        self.not_saved: Event[Conversation, UiText] = Event()
