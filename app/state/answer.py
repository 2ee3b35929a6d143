"""One answer, from the wait for it to its end: its text, how long the model thought, how much it has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.attachments.attachment import Attachment, pictures_in
from app.state.answer_facts import continued, statistics_from_json, statistics_to_json, used_sources
from app.store.calls import Call, encode_calls
from app.store.chat import ChatMessage, Ending
from app.tools.rounds import Offer
from common.reasoning import PieceKind, open_sections, without_thoughts
from common.sentences import Sentence, encode_sentence
from engine.protocol.events import Statistics

# The promise is that at most one second of an answer is lost: up to 0.25 s until the next tick (app.foundation) and the
# delays of a busy computer are added to this.
CHECKPOINT_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """Progress of prefill in tokens; `seconds_left` is None until there is a rate to estimate it from.

    `looking`: the fraction of all pictures that is encoded, while one is; else 0.
    """

    done: int
    total: int
    seconds_left: float | None
    looking: float = 0.0


@dataclass(slots=True)
class Waiting:
    """A chat's wait for its answer to begin.

    `continues` is whether the last answer is to be continued; `leaf_before` is the leaf of the branch to show again if
    the answer never begins. `asked_host` is the host of a server that the user must let read this chat first; "" where
    nothing is asked.
    """

    continues: bool = False
    leaf_before: str | None = None
    asked_host: str = ""


class Answer:
    """An answer to `question` under way: the model reads the prompt until the first piece comes, then it writes.

    `message` is the answer as last stored, and `text` the whole of it. `continues` is whether this is the rest of an
    answer that had stopped. `progress` is known while the prompt is read. `thinking_tokens` counts those of the
    thoughts that have ended. `read`: the files of the question, and what calls since have found. `offer`: the tools
    that it may call. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        message: ChatMessage,
        question: ChatMessage | None,
        read: Sequence[Attachment],
        continues: bool,
        clock: Callable[[], float],
        offer: Offer | None = None,
    ) -> None:
        self.message, self.continues, self.offer = message, continues, offer
        self._calls: list[Call] = []
        self._question, self._read = question, read
        self.phase: Literal["reading", "answering"] = "reading"
        self.progress: PromptProgress | None = None
        self.thinking_tokens = 0
        self._pieces = [message.content]
        self._clock = clock
        self._thought = ThoughtTimer(clock, message.content, message.thought_seconds)
        self._stored_at = clock()
        self._first_progress: tuple[float, int] | None = None  # when it came, and the tokens read by then

    @property
    def text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    @property
    def reads_pictures(self) -> bool:
        """Whether the question that the model is still reading has pictures."""
        question = self._question
        return self.phase == "reading" and question is not None and bool(pictures_in(question.attachments))

    @property
    def thinking(self) -> bool:
        """Whether the model is thinking before it answers."""
        return self.phase == "answering" and self._thought.under_way

    def update_progress(self, done: int, total: int, reused: int, looking: float) -> None:
        now = self._clock()
        self._first_progress = self._first_progress or (now, reused)
        since, first = self._first_progress
        rate = (done - first) / (now - since) if now > since and done > first else 0.0
        self.progress = PromptProgress(done, total, (total - done) / rate if rate else None, looking)

    def append(self, text: str, kind: PieceKind, thinking_tokens: int) -> None:
        self._pieces.append(text)
        self.thinking_tokens += thinking_tokens
        self._thought.add_piece(kind)
        self.phase, self.progress = "answering", None

    def add_call(self, id: str, name: str) -> None:
        """Add a call of a tool, whose arguments follow."""
        self._calls.append(Call(id, name, ""))
        self.phase, self.progress = "answering", None

    def add_arguments(self, index: int, text: str) -> None:
        """Append a piece of the arguments of call `index`."""
        call = self._calls[index]
        self._calls[index] = replace(call, arguments=call.arguments + text)

    def checkpoint(self) -> ChatMessage | None:
        """Return the answer so far if it is to be stored, because CHECKPOINT_SECONDS have passed; else None."""
        if self.phase == "reading" or self._clock() - self._stored_at < CHECKPOINT_SECONDS:
            return None
        self._stored_at = self._clock()
        self.message = self._so_far()
        return self.message

    def finished(self, statistics: Statistics) -> ChatMessage:
        """Return the whole answer."""
        whole = continued(statistics_from_json(self.message.statistics), statistics)
        calls = self._calls if statistics.stop_reason == "tool_calls" else ()  # others may be cut short
        sources = "" if calls else self.message.sources  # the answer behind the calls has them
        if self._question is not None:
            sources = used_sources(sources, self._read, self._question.content, without_thoughts(self.text))
        ended = replace(self._so_far(), stop_reason=statistics.stop_reason, statistics=statistics_to_json(whole))
        return replace(ended, sources=sources, calls=encode_calls(calls))

    def failed(self, reason: Ending, sentence: Sentence | None, detail: str) -> ChatMessage:
        """Return the answer with the text written so far and the problem that ended it."""
        problem = encode_sentence(sentence) if sentence else ""
        return replace(self._so_far(), stop_reason=reason, problem=problem, detail=detail)

    def _so_far(self) -> ChatMessage:
        return replace(self.message, content=self.text, thought_seconds=self._thought.seconds)


class ThoughtTimer:
    """Timer of how long a model thinks before it answers, driven by the pieces of the answer; `clock` gives seconds.

    `text` is the beginning of an answer that is continued, in which it thought for `seconds`. `under_way` is whether a
    thought is.
    """

    def __init__(self, clock: Callable[[], float], text: str = "", seconds: float | None = None) -> None:
        sections = open_sections(text)
        self.under_way = sections.thinking
        self._has_thought = any(section.thought for section in sections.all)
        self._clock, self._seconds = clock, seconds or 0.0
        self._first: float | None = None
        self._last = 0.0

    def add_piece(self, kind: PieceKind) -> None:
        """Add the time since the last piece to the thought, if the model was thinking."""
        now = self._clock()
        if self._first is None:
            self._first = self._last = now
        if self.under_way:
            self._seconds += now - self._last
        if kind == "opened":
            self.under_way = self._has_thought = True
        elif kind == "closed":
            self.under_way = False
        elif kind == "unopened":  # only the end mark shows that all text so far was a thought
            self._seconds, self._has_thought = now - self._first, True
        self._last = now

    @property
    def seconds(self) -> float | None:
        """Seconds of thought; None if the model did not think."""
        return self._seconds if self._has_thought else None
