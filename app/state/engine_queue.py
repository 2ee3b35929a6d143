"""Whose turn it is: gives the engine one conversation after the other, and other programs' requests between them.

Knows no Qt. Whether the process dies, refuses or sends nonsense, conversations end with a sentence and keep their text.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from app.bugs import BUG, report
from app.events import Event
from app.settings.settings import Settings
from app.state.active_answer import ActiveAnswer
from app.state.conversation import Conversation
from app.state.engine_model import EngineModel, FindKey
from app.state.guests import Guests
from app.state.idle_requests import IdleRequests
from common.paths import path_text
from common.sentences import Sentence
from engine.client import EngineClient
from engine.protocol import events, requests


class EngineQueue:
    """The conversations that wait for an answer, and the one that is being answered.

    A submitted conversation waits until the model is usable, no other one is answered, and the user lets the model's
    server read it; then it is answered. It leaves by its answer's end, by a failure, or by `stop`. `active_changed` is
    emitted when another conversation, or none, is answered. `model` is the model that answers, `guests` the requests of
    other programs, `idle` everything that no conversation waits for, and `state` what the window shows.
    """

    def __init__(
        self, client: EngineClient, settings: Settings, find_key: FindKey, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.model = EngineModel(client, settings, find_key)
        self.state = self.model.state
        self.idle = IdleRequests(client, self.model, self._has_work)
        self.guests = Guests(client, self._go_on)
        self.active_changed: Event[()] = Event()
        self._client, self._clock = client, clock
        self._waiting: list[Conversation] = []
        self._answer: ActiveAnswer | None = None
        self.model.ready.connect(self._model_ready)
        self.model.failed.connect(self.guests.fail_waiting)
        self.model.stopped.connect(self._start_again)

    @property
    def active(self) -> Conversation | None:
        """Conversation that is being answered, or None."""
        return self._answer.conversation if self._answer else None

    def others(self, conversation: Conversation | None = None) -> list[Conversation]:
        """Return the conversations but this one that the loaded model answers, now and afterwards, in their order."""
        waiting = [each for each in self._waiting if not each.asked_host] if self.model.usable else []
        return [each for each in (self.active, *waiting) if each is not None and each is not conversation]

    # --- what the user and other programs do ------------------------------------------------------------------------

    def submit(self, conversation: Conversation) -> None:
        """Queue the conversation; its last message is answered as soon as model and engine are ready."""
        if conversation not in self._waiting:
            self._waiting.append(conversation)
        self.model.wake()
        self.idle.cut_short()
        self.guests.give_way()
        self._start_next()

    def submit_guest(self, request: requests.Request) -> None:
        """Take a request of another program, which is answered while no conversation waits."""
        if self.state.host and not isinstance(request, requests.Cancel):
            self.guests.heard(events.Failed(request.id, self._private()))
            return
        self.guests.take(request)
        self.idle.cut_short()
        if self.state.path is None or self.state.phase == "failed":
            self.guests.fail_waiting(Sentence.of("no_model.loaded"))
        elif self.guests.waiting:
            self.model.wake()
        self._start_next()

    def stop(self, conversation: Conversation) -> None:
        """Stop the conversation's answer, or remove the conversation from the queue."""
        if self._answer and conversation is self._answer.conversation:
            self._client.cancel(self._answer.id)
            return
        if conversation in self._waiting:
            self._waiting.remove(conversation)
        conversation.withdraw()

    def answer_now(self, conversation: Conversation) -> bool:
        """End the thought of the conversation's answer, so that the answer follows; return False if there is none."""
        thinking = conversation.answer is not None and conversation.answer.thinking
        if self._answer is None or conversation is not self.active or not thinking:
            return False
        self._client.submit(requests.AnswerNow(0, self._answer.id), lambda _event: None, hold=False)
        return True

    def reload_if_outdated(self) -> None:
        """Load the model again if its options have changed and no answer is under way.

        Call this when the user has finished changing settings.
        """
        if self.state.phase == "failed" and self.model.outdated:
            self.model.load_again()
        self._start_next()

    def tick(self) -> None:
        """Store the text written so far, and update the speed. Call this a few times a second."""
        if (answer := self._answer) is not None:
            answer.conversation.checkpoint()
            if answer.tokens:
                chat, speed = answer.conversation.chat.id, answer.tokens_per_second
                self.state.change(live_speed=speed, context_tokens=answer.context_tokens, context_chat=chat)

    # --- what the model does ----------------------------------------------------------------------------------------

    def _model_ready(self) -> None:
        self.idle.forget_read()
        if self.state.host:
            self.guests.fail_waiting(self._private())
        self._go_on()

    def _start_again(self) -> None:
        """Start the engine again for those who wait."""
        if self.guests.waiting or self._waiting:
            self.model.start()

    def _hear(self, answer: ActiveAnswer, event: events.Event) -> None:
        """Take an event of an answer; those of one that was given up are ignored."""
        if answer is not self._answer:
            return
        try:
            if isinstance(event, events.Finished | events.Failed):
                self._end(answer, event)
            else:
                answer.take(event)
        except Exception as error:  # noqa: BLE001 - it is reported, and the chat must end
            self._give_up(answer, error)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _private(self) -> Sentence:
        """Return why other programs get no answer of a server's model: their texts stay on this computer."""
        return Sentence.of("api.on_server", host=self.state.host)

    def _has_work(self) -> bool:
        return bool(self._answer or self._waiting or self.guests.busy or self.guests.waiting)

    def _go_on(self) -> None:
        self.idle.ask_memory()
        self._start_next()

    def _start_next(self) -> None:
        """Take the next step, if it is time for one: load an outdated model again, answer a chat, or else a guest."""
        if self._answer or self.guests.in_the_way or not self.model.usable:
            return
        conversation = None if self.model.outdated else self._next_allowed()
        if conversation is not None:
            self._begin(conversation)
        elif self.guests.busy:
            return
        elif self.model.outdated:
            self.model.load_again()
        elif self.guests.waiting:
            self.idle.forget_read()
            self.guests.start_next()

    def _next_allowed(self) -> Conversation | None:
        """Return the first waiting conversation that may be answered.

        One that a server would read for the first time waits for the user's consent, and others go first.
        """
        host, allowed = self.state.host, None
        for conversation in self._waiting:
            if host and not conversation.may_leave_for(host):
                conversation.ask_about(host)
            elif allowed is None:
                allowed = conversation
        return allowed

    def _begin(self, conversation: Conversation) -> None:
        self._waiting.remove(conversation)
        answer = self._answer = ActiveAnswer(conversation, self._clock)
        self.active_changed.emit()
        try:
            answer.id = self._client.submit(self._request(conversation), partial(self._hear, answer))
        except Exception as error:  # noqa: BLE001 - it is reported, and the chat must end
            self._give_up(answer, error)

    def _request(self, conversation: Conversation) -> requests.Generate:
        """Open the conversation's answer and return the request for it."""
        messages, continued = conversation.prompt(), conversation.continuing
        path = path_text(self.state.path) if self.state.path else ""
        offer = self.model.offer_tools(conversation)
        conversation.begin_answer(self.state.model.name if self.state.model else "", path, offer)
        self.idle.forget_read()
        options = self.model.options_for(conversation)
        return replace(
            options.generate,
            messages=self.model.prompt(options, messages),
            chat=conversation.cache_id,
            beginning=conversation.beginning_id,
            forget_turns=conversation.chat.forget_turns,
            continue_last=continued,
            tools=offer.tools if offer else (),
            tool_choice=offer.choice if offer else "auto",
            parallel_tool_calls=False,  # small models add calls that nobody needs; others make them one after the other
            constraint=offer.constraint if offer and not self.state.host else options.generate.constraint,
        )

    def _end(self, answer: ActiveAnswer, event: events.Finished | events.Failed) -> None:
        self._answer, conversation = None, answer.conversation
        self.state.change(live_speed=None)
        if isinstance(event, events.Finished):
            numbers = event.statistics
            self.state.change(
                context_tokens=numbers.context_tokens, context_chat=conversation.chat.id, statistics=numbers
            )
            conversation.finish_answer(numbers)
        else:
            answer.fail(event, self._client.end)
        self._leave()

    def _give_up(self, answer: ActiveAnswer, error: Exception) -> None:
        """Report a bug of ours, end the conversation with what it has, and continue with the next one."""
        report(error)
        self._client.cancel(answer.id)
        if answer is self._answer:
            self._answer = None
            self.state.change(live_speed=None)
        answer.conversation.withdraw()
        answer.conversation.fail_answer(BUG, repr(error))
        self._leave()

    def _leave(self) -> None:
        """Continue after an answer has ended."""
        self.active_changed.emit()
        self._go_on()
