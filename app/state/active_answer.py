"""The answer under way: hands the engine's events on to its conversation and measures the decode speed. Knows no Qt."""

from __future__ import annotations

import logging
from collections.abc import Callable

from app.state.conversation import Conversation
from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.protocol import events

log = logging.getLogger(__name__)


class ActiveAnswer:
    """Answer of one conversation, from its request to the engine's last event.

    One piece of text counts as one token, because one event is one decode step; the engine's own statistics replace
    this count at the end. `id` is that of the request, and `clock` gives monotonic seconds.
    """

    def __init__(self, conversation: Conversation, clock: Callable[[], float]) -> None:
        self.conversation, self.id = conversation, 0
        self.tokens = 0  # written so far
        self._clock = clock
        self._prompt_tokens = 0
        self._first = self._last = 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """Decode speed in tokens/s; None before the second token, because the first only starts the clock."""
        seconds = self._last - self._first
        return (self.tokens - 1) / seconds if self.tokens > 1 and seconds > 0 else None

    @property
    def context_tokens(self) -> int:
        """Number of tokens in the engine's cache: the prompt and the answer so far."""
        return self._prompt_tokens + self.tokens

    def take(self, event: events.Event) -> None:
        """Hand an event that is not the last one on to the conversation."""
        conversation = self.conversation
        match event:
            case events.PrefillProgress():
                self._prompt_tokens = event.total
                conversation.update_prompt_progress(event.done, event.total, event.reused, event.looking)
            case events.Text() | events.Thinking():
                self.count()
                conversation.append_text(event.text, "text" if isinstance(event, events.Text) else "thought")
            case events.ToolCallStarted():
                self.count()
                conversation.add_call(event.call, event.name)
            case events.ToolCallArguments():
                self.count()
                conversation.add_arguments(event.index, event.text)
            case events.ThinkingStarted():
                conversation.append_text(event.text, "opened")
            case events.ThinkingEnded():
                conversation.append_text(event.text, "closed" if event.opened else "unopened", event.tokens)

    def count(self) -> None:
        """Count one more token."""
        self._last = self._clock()
        self._first = self._first if self.tokens else self._last
        self.tokens += 1

    def fail(self, event: events.Failed, end: EngineEnd | None) -> None:
        """End the answer with what it has, and say why; `end` is how the engine's last process ended."""
        log.warning("request %d failed: %s", event.id, event.sentence.id)  # its texts may quote the chat
        conversation = self.conversation
        if event.code == "cancelled":  # stopped before the first piece of the answer
            conversation.fail_answer(None, reason="cancelled")
        elif event.code == "engine_end":
            answer = conversation.answer
            at_picture = end is not None and end.crashed and answer is not None and answer.reads_pictures
            sentence = Sentence.of("engine_end.picture") if at_picture else event.sentence
            conversation.fail_answer(sentence, event.detail, reason="engine")
        else:
            conversation.fail_answer(event.sentence, event.detail, remedies=event.remedies)
