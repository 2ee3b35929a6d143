"""Requests to the engine beside the answers: counts, reading ahead, titles, other questions, reports. Knows no Qt.

Whoever waits for one is told: a callback is called once, with None if there is no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from app.settings.resolve import Options
from app.state.conversation import Conversation
from app.state.engine_model import EngineModel
from app.state.engine_state import ReadAheadProgress
from app.state.prompt import as_seen, drop_oldest_turns
from common.sentences import Sentence
from engine.client import EngineClient, Heard
from engine.protocol import events, requests

CountCallback = Callable[[events.Counted | None], object]
TitleCallback = Callable[[str | None], object]
NO_MODEL = Sentence.of("no_model.loaded")
AnswerCallback = Callable[[str | Sentence | None], object]
OTHER_WORK = ("cancelled", "no_model")  # codes of failures after which the same request may succeed later


class IdleRequests:
    """Requests that only a loaded model gets, and that no answer waits for.

    `busy` says whether somebody is answered or waits. Each state of a chat is read ahead once.
    """

    def __init__(self, client: EngineClient, model: EngineModel, busy: Callable[[], bool]) -> None:
        self._client, self._model, self._busy = client, model, busy
        self._asked = 0  # id of the request of `ask`
        self._read: tuple[object, ...] | None = None  # the state of the chat that the engine was last told to read

    def count(self, texts: tuple[str, ...], conversation: Conversation, done: CountCallback) -> None:
        """Count the tokens of `texts` and of the chat with the loaded model."""
        options = self._model.options_for(conversation)
        messages, tools = self._messages(conversation, options), self._model.tools_of(conversation)
        request = requests.Count(0, texts, messages, options.generate.thinking, tools)
        self._send(request, lambda event: done(event if isinstance(event, events.Counted) else None))

    def ask_title(self, conversation: Conversation, question: str, most: int, done: TitleCallback) -> None:
        """Have an idle engine answer `question` about the chat in at most `most` tokens.

        `done` gets the answer's first line, "" if the engine wrote none, and None if the engine has other work: any
        other request cuts the answer short.
        """
        state = self._model.state
        if self._busy() or state.read_ahead or state.host or state.power.postpones_idle_work:
            done(None)
            return
        options = self._model.options_for(conversation)
        messages = (*self._messages(conversation, options), requests.Message("user", question))
        thinking = replace(options.generate.thinking, mode="off")

        def heard(event: events.Event) -> None:
            cut_short = isinstance(event, events.Failed) and event.code in OTHER_WORK
            done(event.text if isinstance(event, events.Titled) else None if cut_short else "")

        tools = self._model.tools_of(conversation)
        self._send(requests.Title(0, messages, conversation.cache_id, most, thinking, tools), heard)

    def ask(
        self, conversation: Conversation, question: tuple[requests.Message, ...], most: int, done: AnswerCallback
    ) -> None:
        """Have an idle engine answer `question`, whose beginning is the chat's, in at most `most` tokens.

        `done` gets the answer, None if the engine has other work, which cuts the answer short, or why it failed.
        """
        host = self._model.state.host
        if self._busy() or self._asked or (host and not conversation.may_leave_for(host)):
            done(None)
            return
        options = self._model.options_for(conversation)
        request = replace(
            options.generate,
            messages=self._model.prompt(options, as_seen(question, sees=False)),
            sampling=replace(options.generate.sampling, temperature=0.0),
            sampling_thinking=None,
            thinking=replace(options.generate.thinking, mode="off"),
            max_tokens=most,
            chat=conversation.cache_id,
            beginning=conversation.beginning_id,
            background=True,
            tools=self._model.tools_of(conversation),
            tool_choice="none",
        )
        pieces: list[str] = []

        def heard(event: events.Event) -> None:
            if isinstance(event, events.Text):
                pieces.append(event.text)
            elif isinstance(event, events.Finished | events.Failed):
                self._asked = 0
                done(_outcome(event, "".join(pieces)))

        self.forget_read()
        self._asked = self._send(request, heard)

    def cut_short(self) -> None:
        """Stop the answer to `ask` that is being written."""
        if self._asked:
            self._client.cancel(self._asked)

    def read_ahead(self, conversation: Conversation) -> None:
        """Let an idle engine read this chat ahead, because the user opened the chat and may continue it.

        Of a new chat, the beginning is read that it has in common with others, and kept under an id of its own. On
        battery only a chat with new files is read ahead, or a new one, because the user will surely ask about those.
        """
        state = self._model.state
        files = conversation.draft.certain_attachments() if conversation.draft else ()
        if state.power.postpones_idle_work and conversation.messages and not files:
            return
        if self._busy() or state.host or not self._model.usable or conversation.busy or conversation.remedies:
            return
        chat, options = conversation.chat, self._model.options_for(conversation)
        thinking, power = options.generate.thinking, options.generate.power
        messages, cache_id, common = conversation.certain_prompt(), conversation.cache_id, conversation.beginning_id
        tools = self._model.tools_of(conversation)
        if not messages and common and not (conversation.temporary or tools):
            options = replace(options, system_prompt=conversation.project.beginning)
            cache_id, common = common, ""
        read = (chat.id, chat.options, options.system_prompt, thinking, messages, tools)
        if read == self._read:
            return
        self.forget_read()
        self._read = read
        if messages or cache_id != conversation.cache_id:
            prompt = self._model.prompt(options, messages)
            request = requests.Prepare(0, prompt, cache_id, common, thinking, power, tools)
            state.change(read_ahead=ReadAheadProgress(chat.id, 0, 0, 0))
            self._send(request, partial(self._hear_read_ahead, read))

    def forget_read(self) -> None:
        """Forget what was read ahead, because the engine's cache now holds something else."""
        self._read = None
        self._model.state.change(read_ahead=None)

    def forget(self, chat_id: str) -> None:
        """Remove a deleted chat from the engine's cache; undoing the deletion costs one more prefill."""
        self.forget_read()
        self._send(requests.Forget(0, chat_id))

    def watch(self, on: bool) -> None:
        """Start or stop the reports of this engine, which the model's event `pulsed` carries; a new one sends none."""
        self._send(requests.Watch(0, on))

    def ask_memory(self) -> None:
        """Ask the engine how much memory it uses, for the status line."""

        def heard(event: events.Event) -> None:
            if isinstance(event, events.StatusReport):
                self._model.state.change(rss_bytes=event.rss_bytes)

        self._send(requests.Status(0), heard)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _messages(self, conversation: Conversation, options: Options) -> tuple[requests.Message, ...]:
        """Return what the model reads of the chat."""
        messages = drop_oldest_turns(conversation.prompt(), conversation.chat.forget_turns)
        return self._model.prompt(options, messages)

    def _send(self, request: requests.Request, heard: Heard = lambda _event: None) -> int:
        """Send the request if a model is loaded, and return its id; `heard` gets its last event in any case."""
        id = self._client.submit(request, heard, hold=False) if self._model.usable else 0
        if not id:
            heard(events.Failed(0, NO_MODEL))
        return id

    def _hear_read_ahead(self, read: tuple[object, ...], event: events.Event) -> None:
        """Show the progress; a failure is silent, because the user did not ask for it."""
        state = self._model.state
        if read is not self._read or state.read_ahead is None:
            return
        if isinstance(event, events.PrefillProgress):
            progress = replace(state.read_ahead, done=event.done, total=event.total, reused=event.reused)
            state.change(read_ahead=progress)
        elif isinstance(event, events.Prepared):
            chat = state.read_ahead.chat
            state.change(read_ahead=None, context_tokens=event.cached_tokens, context_chat=chat)
        else:
            state.change(read_ahead=None)


def _outcome(event: events.Finished | events.Failed, text: str) -> str | Sentence | None:
    """Return the text of an answer that has ended; None if it was cut short, or why it failed."""
    if isinstance(event, events.Failed):
        return None if event.code in OTHER_WORK else event.sentence
    return None if event.statistics.stop_reason == "cancelled" else text
