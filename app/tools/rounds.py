"""One answer's calls: each is checked, agreed to by the user where needed, run by its source, and told. Knows no Qt.

Whoever waits is answered: each call has exactly one result, whatever the source, the user or the window does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

from app.attachments.attachment import estimated_tokens
from app.bugs import report
from app.events import Event
from app.store.calls import Call, calls_of
from app.store.chat import ChatMessage, storable
from app.tools.arguments import read_arguments
from app.tools.choices import Rule, agreement_of
from app.tools.tool import ToolInfo, ToolResult, ToolSource
from engine.protocol.requests import Constraint, Tool, ToolChoice

MOST_CALLS = 32  # in one answer
LEAST_TOKENS = 128  # of a result, however full the context is
CUT = "\n[Cut: this is the beginning, {shown:,} of {all:,} characters.]"  # for the model
# An answer that begins as words do, for a model that must not call again: small ones write another call as text.
IN_WORDS = Constraint("grammar", "root ::= [^{`<\\[ \\n\\t] [^\\x00]*")
Reply = Literal["once", "always", "no", "never"]


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that an answer may call, and its source."""

    info: ToolInfo
    source: ToolSource


@dataclass(frozen=True, slots=True)
class Turn:
    """The calls since the last question, by answer, and the results of those that need not be made again."""

    calls: tuple[tuple[Call, ...], ...] = ()
    results: Mapping[tuple[str, str], ToolResult] = field(default_factory=dict)

    @staticmethod
    def of(messages: Sequence[ChatMessage]) -> Turn:
        """Return the last turn of a branch."""
        last = max((at for at, message in enumerate(messages) if message.role == "user"), default=0)
        answers = (calls_of(message) for message in messages[last:] if message.role == "assistant")
        results = {
            _made(call): ToolResult(message.content, call.summary, found=message.attachments)
            for message in messages[last:]
            if message.role == "tool"
            for call in calls_of(message)
            if not call.failed
        }
        return Turn(tuple(filter(None, answers)), results)

    @property
    def repeats(self) -> bool:
        """Whether the last answer made only calls that an earlier one had made."""
        *earlier, last = self.calls or ((),)
        return bool(earlier) and {*map(_made, last)} <= {_made(call) for calls in earlier for call in calls}


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that one answer may call.

    `tools`: as the engine gets them; `by_name`: the same by the names that the model uses. `rule_for`: what the chat's
    choices say about a call of a tool under an agreement; `remember`: keeps the user's answer for the whole chat;
    `room`: how many tokens of results still fit. `turn`: the calls since the last question; `most_rounds`: answers with
    calls before the model must answer with what it has.
    """

    chat_id: str
    tools: tuple[Tool, ...]
    by_name: Mapping[str, Offered]
    rule_for: Callable[[ToolInfo, str], Rule]
    remember: Callable[[str, Rule], object]
    room: Callable[[], int]
    turn: Turn = Turn()
    most_rounds: int = 5

    @property
    def choice(self) -> ToolChoice:
        """Whether the answer may call: not after the last round, nor after one that only repeated earlier calls."""
        return "none" if self.turn.repeats or len(self.turn.calls) >= self.most_rounds else "auto"

    @property
    def constraint(self) -> Constraint | None:
        """The form of an answer that may not call; None for one that may."""
        return IN_WORDS if self.choice == "none" else None

    def titled(self, call: Call) -> Call:
        """Return the call with the title of its tool, for people."""
        offered = self.by_name.get(call.name)
        info = offered.info if offered else None
        return Call(call.id, call.name, call.arguments, info.title, info.source_title) if info else call


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Question to the user about one call. `host`: what the call connects to; "" for no certain host."""

    info: ToolInfo
    arguments: Mapping[str, Any]
    host: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a call: its result, cut to what fits, and how long it took; None if it did not run."""

    result: ToolResult
    seconds: float | None = None
    cut: bool = False
    stopped: bool = False


class Round:
    """The calls of one answer, done one after the other.

    `asked`: the question that waits for the user. `running`: the number of the call that its source works on. `changed`
    is emitted at both, `told` with each call's number and outcome, and `ended` after the last one, with whether the
    user stopped the round.
    """

    def __init__(self, calls: Sequence[Call], offer: Offer, clock: Callable[[], float] = time.monotonic) -> None:
        self.calls = tuple(calls)
        self.asked: Question | None = None
        self.running: int | None = None
        self.changed: Event[()] = Event()
        self.told: Event[int, Outcome] = Event()
        self.ended: Event[bool] = Event()
        self._offer, self._clock = offer, clock
        self._number = -1  # of the call whose turn it is
        self._stopped = False
        self._cancel: Callable[[], None] | None = None
        self._began = 0.0

    @property
    def over(self) -> bool:
        """Whether each call has its result."""
        return self._number >= len(self.calls)

    def start(self) -> None:
        """Begin with the first call."""
        if self._number < 0:
            self._next()

    def reply(self, question: Question, reply: Reply) -> None:
        """Take the user's answer to a question; one to an earlier question says nothing about the present one."""
        if self._stopped or question is not self.asked:
            return
        self.asked = None
        if reply in ("always", "never"):
            self._offer.remember(agreement_of(question.info, question.host), reply)
        if reply in ("once", "always"):
            self._run(question.info, question.arguments)
        else:
            self._tell(_problem("The user did not allow this call."))

    def stop(self) -> None:
        """End the round: the call that runs is cancelled, and each call without a result gets one that says so."""
        if self.over or self._stopped:
            return
        self._stopped, self.asked, self.running = True, None, None
        cancel, self._cancel = self._cancel, None
        if cancel is not None:
            _guarded(cancel)
        for number in range(max(self._number, 0), len(self.calls)):
            self.told.emit(number, Outcome(_problem("The user stopped this call."), stopped=True))
        self._number = len(self.calls)
        self.ended.emit(True)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        self._number += 1
        if self._number >= len(self.calls):
            self.ended.emit(False)
            return
        call = self.calls[self._number]
        offered = self._offer.by_name.get(call.name)
        if offered is None:
            self._tell(_problem(f"There is no tool {call.name}."))
            return
        if self._number >= MOST_CALLS:
            self._tell(_problem(f"An answer may have at most {MOST_CALLS} calls."))
            return
        if known := self._offer.turn.results.get(_made(call)):
            self._tell(known)
            return
        info = offered.info
        try:
            arguments = read_arguments(call.arguments, info.parameters)
            host = host_of(arguments, info)
        except ValueError as error:
            self._tell(_problem(f"The call was not made: {error}."))
            return
        rule = self._offer.rule_for(info, agreement_of(info, host))
        if rule == "never":
            self._tell(_problem("The user does not allow this tool in this chat."))
        elif rule == "ask":
            self.asked = Question(info, arguments, host)
            self.changed.emit()
        else:
            self._run(info, arguments)

    def _run(self, info: ToolInfo, arguments: Mapping[str, Any]) -> None:
        number = self.running = self._number
        self._began = self._clock()
        self.changed.emit()
        if self.running != number:  # a listener has stopped the round
            return
        done = partial(self._done, number)
        try:
            cancel = self._offer.by_name[self.calls[number].name].source.call(
                info.name, arguments, self._offer.chat_id, done
            )
        except Exception as error:  # noqa: BLE001 - it is reported, and the chat must go on
            report(error)
            done(_problem("The tool failed."))
            return
        if self.running == number:
            self._cancel = cancel

    def _done(self, number: int, result: ToolResult) -> None:
        """Take the result of the call that runs; a second one, or one after the stop, is dropped."""
        if self._stopped or self.running != number:
            return
        self.running = self._cancel = None
        self._tell(result, self._clock() - self._began)

    def _tell(self, result: ToolResult, seconds: float | None = None) -> None:
        number, left = self._number, min(len(self.calls), MOST_CALLS) - self._number
        text, cut = cut_text(storable(result.text), max(LEAST_TOKENS, self._offer.room() // max(left, 1)))
        result = replace(result, text=text, summary=storable(result.summary))
        self.told.emit(number, Outcome(result, seconds, cut))
        if not self._stopped:
            self._next()


def _made(call: Call) -> tuple[str, str]:
    """Return what two calls have in common that do the same."""
    try:
        return call.name, json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call.name, call.arguments


def host_of(arguments: Mapping[str, Any], info: ToolInfo) -> str:
    """Return the host that a call would connect to; raise ValueError if its address has none."""
    if not info.host_argument:
        return ""
    address = str(arguments.get(info.host_argument, ""))
    parts = urlsplit(address if "://" in address else f"https://{address}")
    try:
        host = (parts.hostname or "").rstrip(".").encode("idna").decode()  # as it is asked for: "е" may be Cyrillic
    except UnicodeError:
        host = ""
    if not host or parts.scheme not in ("http", "https") or parts.username is not None:
        raise ValueError(f"{address:.80} is no address of a web page")
    return host


def cut_text(text: str, tokens: int) -> tuple[str, bool]:
    """Return as much of a text as about `tokens` tokens, with a note if something is missing, and whether it is."""
    if estimated_tokens(text) <= tokens:
        return text, False
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimated_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low] + CUT.format(shown=low, all=len(text)), True


def _problem(text: str) -> ToolResult:
    return ToolResult(text, failed=True)


def _guarded(work: Callable[[], object]) -> None:
    """Call `work`; report an error, which must not keep a round from ending."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - it is reported
        report(error)
