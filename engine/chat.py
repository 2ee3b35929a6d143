"""The chat in a terminal: one question with `--prompt`, or an interactive one. The engine runs in this process."""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engine.protocol import Finished, Generate, Load, Message, ModelInfo, PrefillProgress, Sampling, Text
from engine.stop import Stopped
from models.default import default_model
from models.failures import Failure

if TYPE_CHECKING:
    from engine.engine import Engine

HELP = """\
/new           start a new chat
/stats         numbers of the last answer
/system TEXT   set the system prompt and start a new chat
/help          this list
/quit          leave (Ctrl-D too); Ctrl-C stops an answer"""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as the terminal needs it."""

    text: str
    end: Finished


def chat(options: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.CRITICAL)
    try:
        return run(options)
    except Failure as failure:
        return complain(str(failure))
    except (Stopped, KeyboardInterrupt):
        return complain("Stopped.")
    except ValueError as error:  # options that no dataclass of the protocol accepts
        return complain(f"{str(error)[:1].upper()}{str(error)[1:]}.")


def complain(sentence: str) -> int:
    print(f"chickadee: {sentence}", file=sys.stderr)
    return 2


def run(options: argparse.Namespace) -> int:
    sampling = sampling_of(options)
    messages = once(options)
    request = Load(0, str(options.model or default_model()), options.ctx, options.threads)
    if messages is not None:  # refuse a bad request before the model is loaded
        Generate(0, messages, sampling, options.max_tokens)
    from engine.engine import Engine

    engine = Engine()
    try:
        with ctrl_c_stops(engine):
            info = engine.load(request).model
            if messages is None:
                return Conversation(engine, info, sampling, options.max_tokens).run()
            return answer_once(engine, info, Generate(0, messages, sampling, options.max_tokens), options.json)
    finally:
        engine.close()


def sampling_of(options: argparse.Namespace) -> Sampling:
    if options.greedy and options.temp:
        raise ValueError("--greedy and --temp contradict each other: give one of them")
    if options.greedy:
        return Sampling(temperature=0.0, repeat_penalty=1.0, seed=options.seed)
    temperature = Sampling().temperature if options.temp is None else options.temp
    return Sampling(temperature=temperature, seed=options.seed)


def once(options: argparse.Namespace) -> tuple[Message, ...] | None:
    """The messages given on the command line, or None for an interactive chat."""
    if options.messages is not None:
        return parse_messages(read_text(options.messages), options.messages)
    prompt = read_text(options.prompt_file) if options.prompt_file is not None else options.prompt
    if prompt is None:
        if options.json:
            raise ValueError("--json needs --prompt, --prompt-file or --messages")
        return None
    if not prompt.strip():
        raise Failure("empty_prompt", "The prompt is empty: there is nothing to answer.")
    return (Message("user", prompt),)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Failure("unreadable", f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise Failure("unreadable", f"{path} is not UTF-8 text.") from error


def parse_messages(text: str, path: Path) -> tuple[Message, ...]:
    try:
        return msgspec.json.decode(text, type=tuple[Message, ...])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        sentence = f"{path} is not a JSON list of messages with role and content: {error}."
        raise Failure("bad_messages", sentence) from error


def answer_once(engine: Engine, info: ModelInfo, request: Generate, as_json: bool) -> int:
    answered = stream(engine, request, show=not as_json)
    if as_json:
        print(json.dumps(report(answered, info), ensure_ascii=False))
    return 0


def report(answered: Answered, info: ModelInfo) -> dict[str, Any]:
    """The object that `--json` prints; its fields are an interface."""
    statistics = answered.end.statistics
    return {
        "text": answered.text,
        "tokens": list(answered.end.tokens),
        "prompt_tokens": statistics.prompt_tokens,
        "reused_tokens": statistics.reused_tokens,
        "prompt_seconds": statistics.prompt_seconds,
        "decode_tokens": statistics.decode_tokens,
        "decode_seconds": statistics.decode_seconds,
        "steps": statistics.steps,
        "stop_reason": statistics.stop_reason,
        "model": info.path,
    }


def stream(engine: Engine, request: Generate, show: bool) -> Answered:
    parts = []
    progress = sys.stderr.isatty() and show
    for event in engine.generate(request):
        if isinstance(event, Text):
            parts.append(event.text)
            if show:
                print(event.text, end="", flush=True)
        elif isinstance(event, PrefillProgress) and progress:
            note = f"reading {event.done:,} of {event.total:,} tokens" if event.done < event.total else ""
            print(f"\r\033[K{note}", end="", file=sys.stderr, flush=True)
    if show:
        print()
    assert isinstance(event, Finished)
    return Answered("".join(parts), event)


@contextmanager
def ctrl_c_stops(engine: Engine) -> Iterator[None]:
    """While the engine works, Ctrl-C sets its stop flag; while it waits for input, Ctrl-C is Python's own."""

    def on_interrupt(_signal: int, _frame: object) -> None:
        engine.stop.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Conversation:
    """The interactive chat: lines in, streamed answers out, commands begin with a slash."""

    def __init__(self, engine: Engine, info: ModelInfo, sampling: Sampling, max_tokens: int | None) -> None:
        self.engine = engine
        self.info = info
        self.sampling = sampling
        self.max_tokens = max_tokens
        self.messages: list[Message] = []
        self.last: Finished | None = None

    def run(self) -> int:
        print(
            f"{self.info.name} · context {self.info.n_ctx:,} tokens · {self.info.threads} threads · /help for commands"
        )
        for note in self.info.notes:
            print(note)
        while (line := self._ask()) is not None:
            if line.strip() == "/quit":
                break
            self._handle(line)
        return 0

    def _ask(self) -> str | None:
        with default_interrupt():
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
            print("A new chat.")
        elif command == "/system":
            self.messages = [Message("system", rest)] if rest.strip() else []
            print("A new chat with this system prompt." if rest.strip() else "A new chat without a system prompt.")
        elif command == "/stats":
            print(describe(self.last) if self.last else "There is no answer yet.")
        else:
            print(HELP if command == "/help" else f"There is no command {command}.\n{HELP}")

    def _answer(self, question: str) -> None:
        self.engine.stop.clear()
        request = Generate(0, (*self.messages, Message("user", question)), self.sampling, self.max_tokens)
        try:
            answered = stream(self.engine, request, show=True)
        except Failure as failure:
            print(f"chickadee: {failure}", file=sys.stderr)
            return
        self.last = answered.end
        self.messages = [*request.messages, Message("assistant", answered.text)]
        if answered.end.statistics.stop_reason == "context":
            print("(The context is full: the answer ends here. /new starts a new chat.)")
        elif answered.end.statistics.stop_reason == "cancelled":
            print("(stopped)")


@contextmanager
def default_interrupt() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt within the block."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def describe(end: Finished) -> str:
    s = end.statistics
    read = s.prompt_tokens - s.reused_tokens
    return (
        f"prompt {s.prompt_tokens:,} tokens, {s.reused_tokens:,} re-used, {rate(read, s.prompt_seconds)}\n"
        f"answer {s.decode_tokens:,} tokens, {rate(s.decode_tokens, s.decode_seconds)}, {s.steps:,} steps\n"
        f"context {s.context_tokens:,} of {s.n_ctx:,} tokens"
    )


def rate(tokens: int, seconds: float) -> str:
    return f"{tokens / seconds:,.1f} tok/s" if seconds > 0 else "–"
