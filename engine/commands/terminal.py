"""Answers on the terminal: streamed, traced and reported in numbers; the interactive chat; notes on stderr."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from types import FrameType
from typing import IO, Any

import msgspec

from common.failures import Failure
from common.units import speed
from engine.base import BaseEngine
from engine.loading.libraries import BACKEND_TITLES
from engine.protocol.events import WRITTEN, Finished, ModelInfo, PrefillProgress, Trace
from engine.protocol.requests import Generate, Message
from engine.stop import Stopped
from engine.tokenization.turns import ChatTooLong, drop_oldest_turns

HELP = """\
/new           start a new chat
/continue      continue the last answer where it stopped
/stats         statistics of the last answer
/system TEXT   set the system prompt and start a new chat
/help          this list
/quit          leave (Ctrl-D too); Ctrl-C stops an answer"""


REPORTED = (  # fields of Statistics that `--json` prints
    "prompt_tokens", "reused_tokens", "prompt_seconds", "decode_tokens", "decode_seconds", "steps", "stop_reason",
    "kv_policy", "pending_tokens", "recomputed_tokens", "recompute_seconds", "drafted", "accepted",
    "drafting_seconds", "verifying_seconds", "estimated_speedup", "thinking_tokens", "thinking_seconds", "threads",
    "prompt_threads",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answered:
    """A finished answer: its text and its last event."""

    text: str
    end: Finished


def print_error(sentence: str) -> int:
    print(f"chickadee: {sentence}", file=sys.stderr)
    return 2


def notes_to_stderr() -> None:
    """Print warnings of our own modules to stderr and silence the libraries' logs.

    Our warnings are sentences for the user; llama.cpp's are not, and those that matter become a Failure.
    """
    logging.basicConfig(level=logging.WARNING, format="chickadee: %(message)s")
    for name in ("engine.llama", "engine.ik", "engine.capi"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


class Output:
    """The output of answers: their text goes to stdout if `show`, their passes to the open file `trace`."""

    def __init__(self, show: bool, trace: IO[str] | None = None) -> None:
        self.show = show
        self.trace = trace
        self.progress = show and sys.stderr.isatty()

    def stream(self, engine: BaseEngine, request: Generate) -> Answered:
        """Run the request to its end and return its answer. Raises what `Engine.generate` raises."""
        parts = []
        for event in engine.generate(request):
            if isinstance(event, WRITTEN):
                parts.append(event.text)
                self._print(event.text)
            elif isinstance(event, PrefillProgress) and self.progress:
                note = f"reading {event.done:,} of {event.total:,} tokens" if event.done < event.total else ""
                print(f"\r\033[K{note}", end="", file=sys.stderr, flush=True)
            elif isinstance(event, Trace) and self.trace:
                self.trace.write(json.dumps(msgspec.to_builtins(event)) + "\n")
        self._print("\n")
        assert isinstance(event, Finished)
        return Answered("".join(parts), event)

    def _print(self, text: str) -> None:
        if self.show:
            print(text, end="", flush=True)


def report(answered: Answered, info: ModelInfo) -> dict[str, Any]:
    """Return the object that `--json` prints; its fields are an interface."""
    statistics = answered.end.statistics
    drafters = {drafter.name: asdict(drafter) for drafter in statistics.drafters}
    for numbers in drafters.values():
        del numbers["name"]
    return {
        "text": answered.text,
        "tokens": list(answered.end.tokens),
        **{name: getattr(statistics, name) for name in REPORTED},
        "fixed_tokens": statistics.context_tokens,
        "drafters": drafters,
        "model": info.path,
        "backend": info.software if info.host else info.backend,
    }


@contextmanager
def on_ctrl_c(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Call `handler` on Ctrl-C within the block; `signal.default_int_handler` raises KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ctrl_c_stops(engine: BaseEngine) -> AbstractContextManager[None]:
    """Make Ctrl-C set the engine's stop flag within the block, instead of raising KeyboardInterrupt."""
    return on_ctrl_c(lambda _signal, _frame: engine.stop.set())


def describe(end: Finished) -> str:
    s = end.statistics
    drafts = f", {s.accepted:,} of {s.drafted:,} drafted tokens accepted" if s.drafted else ""
    thoughts = f" ({s.thinking_tokens:,} of them thinking)" if s.thinking_tokens else ""
    read = rate(s.read_tokens, s.prompt_seconds)
    return (
        f"prompt {s.prompt_tokens:,} tokens, {s.reused_tokens:,} from the cache, {read}\n"
        f"answer {s.decode_tokens:,} tokens{thoughts}, {rate(s.decode_tokens, s.decode_seconds)}, {s.steps:,} steps"
        f"{drafts}\n"
        f"context {s.context_tokens:,}{f' of {s.n_ctx:,}' if s.n_ctx else ''} tokens"
    )


def rate(tokens: int, seconds: float) -> str:
    return str(speed(tokens / seconds)) if seconds > 0 else "–"


class Conversation:
    """The interactive chat: it reads lines and streams answers; commands begin with a slash."""

    def __init__(self, engine: BaseEngine, info: ModelInfo, template: Generate, output: Output) -> None:
        """Start an empty chat; `template` is a request without messages: the options of every answer."""
        self.engine = engine
        self.info = info
        self.template = template
        self.output = output
        self.messages: list[Message] = []
        self.last: Finished | None = None

    def run(self) -> int:
        info = self.info
        computed = info.software if info.host else f"{BACKEND_TITLES[info.backend]}, {info.threads} threads"
        context = f"context {info.n_ctx:,} tokens" if info.n_ctx else ""
        print(" · ".join(filter(None, (info.name, computed, context, "/help for commands"))))
        for note in self.info.notes:
            print(note)
        while (line := self._ask()) is not None:
            if line.strip() == "/quit":
                break
            self._handle(line)
        return 0

    def _ask(self) -> str | None:
        with on_ctrl_c(signal.default_int_handler):
            try:
                return input("\n> ")
            except EOFError:
                print()
                return None
            except KeyboardInterrupt:
                print("\n/quit or Ctrl-D leaves")
                return ""

    def _handle(self, line: str) -> None:
        command, _, rest = line.strip().partition(" ")
        if not command:
            return
        if not command.startswith("/"):
            self._answer(line)
        elif command == "/new":
            self.messages = [m for m in self.messages if m.role == "system"]
            print("New chat.")
        elif command == "/system":
            self.messages = [Message("system", rest)] if rest.strip() else []
            print("New chat with this system prompt." if rest.strip() else "New chat without a system prompt.")
        elif command == "/continue":
            self._continue()
        elif command == "/stats":
            print(describe(self.last) if self.last else "There is no answer yet.")
        else:
            print(HELP if command == "/help" else f"Unknown command: {command}.\n{HELP}")

    def _stream(self, request: Generate) -> Answered | None:
        """Return the answer; if the chat is too long, ask the user whether old turns may be forgotten.

        None if the user declines.
        """
        try:
            return self.output.stream(self.engine, request)
        except ChatTooLong as failure:
            turns = next((remedy.turns for remedy in failure.remedies if remedy.kind == "forget_turns"), 0)
            if not turns:
                raise
            print(failure)
        oldest = "the oldest turn" if turns == 1 else f"the oldest {turns} turns"
        with on_ctrl_c(signal.default_int_handler):
            if input(f"Leave out {oldest} of this chat and answer? [y/N] ").strip().lower() != "y":
                return None
        kept = list(drop_oldest_turns(request.messages, turns))
        self.messages = kept if request.continue_last else kept[:-1]
        return self.output.stream(self.engine, replace(request, forget_turns=turns))

    def _continue(self) -> None:
        answered = bool(self.messages) and self.messages[-1].role == "assistant"
        if not answered or not self.last or self.last.statistics.stop_reason in ("end", "stop"):
            print("There is no unfinished answer to continue.")
            return
        self._run(replace(self.template, messages=tuple(self.messages), continue_last=True))

    def _answer(self, question: str) -> None:
        self._run(replace(self.template, messages=(*self.messages, Message("user", question))))

    def _run(self, request: Generate) -> None:
        self.engine.stop.clear()
        try:
            answered = self._stream(request)
        except Failure as failure:
            print_error(failure.terminal_text)
            return
        except Stopped:  # before the answer began: while the template was rendered or a long text tokenized
            print("(stopped)")
            return
        if answered is None:
            return
        self.last = answered.end
        before = self.messages.pop().content if request.continue_last else ""
        question_asked = () if request.continue_last else request.messages[-1:]
        self.messages = [*self.messages, *question_asked, Message("assistant", before + answered.text)]
        if answered.end.statistics.stop_reason == "context":
            print("(The context is full, so the answer ends here. /new starts a new chat.)")
        elif answered.end.statistics.stop_reason == "cancelled":
            print("(stopped)")
