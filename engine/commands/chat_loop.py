"""The chat in a terminal: one question with `--prompt`, or an interactive one. The engine runs in this process."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from common.byte_sizes import parse_bytes
from engine.commands.terminal import Answered, Output, complain, ctrl_c_stops, default_interrupt, describe, report
from engine.loading.libraries import SHOWN
from engine.protocol import BackendWish, Finished, Generate, Load, Lookup, Message, ModelInfo, Sampling
from engine.stop import Stopped
from engine.tokenization.turns import TooLong, without_oldest
from models.default import default_model
from models.failures import Failure
from models.paths import path_text

if TYPE_CHECKING:
    from engine.engine import Engine

HELP = """\
/new           start a new chat
/continue      let the last answer go on where it stopped
/stats         numbers of the last answer
/system TEXT   set the system prompt and start a new chat
/help          this list
/quit          leave (Ctrl-D too); Ctrl-C stops an answer"""

NEED_COSTS = ("auto", "history", "phrases", "model", "midlayer")  # drafters that verify only what pays


def chat(options: argparse.Namespace) -> int:
    """Raises Failure and ValueError, whose texts are sentences for the user."""
    logging.basicConfig(level=logging.CRITICAL)
    try:
        return run(options)
    except (Stopped, KeyboardInterrupt):
        return complain("Stopped.")


def run(options: argparse.Namespace) -> int:
    sampling = sampling_of(options)
    messages = once(options)
    limit = None if options.memory is None else parse_bytes(options.memory)
    model = path_text(options.model or default_model())
    request = Load(
        0, model, options.ctx, options.threads, limit, options.kv_type,
        draft_model=draft_model_of(options), backend=backend_of(options), kv_mode=options.kv or "exact",
        kv_share=options.kv_share, flash_attention=options.flash_attention,
    )  # fmt: skip
    # Made before the model is loaded, so that a bad option is refused at once.
    template = Generate(
        0,
        (),
        sampling,
        options.max_tokens,
        kv_policy=options.kv_policy,
        draft=options.draft or "auto",
        lookup=lookup_of(options),
        exit_layers=exit_layers_of(options),
        trace=bool(options.trace),
    )
    from engine.engine import Engine

    engine = Engine()
    try:
        with ctrl_c_stops(engine):
            info = engine.load(request).model
            if options.draft in NEED_COSTS and not engine.calibrated:
                calibrate(engine)
            if options.draft == "phrases" and not engine.has_phrases:
                count_phrases(engine)
            with open_trace(options.trace) as trace:
                output = Output(show=not options.json, trace=trace)
                if messages is None:
                    return Conversation(engine, info, template, output).run()
                answered = output.stream(engine, replace(template, messages=messages))
                if options.json:
                    print(json.dumps(report(answered, info), ensure_ascii=False))
                return 0
    finally:
        engine.close()


def calibrate(engine: Engine) -> None:
    """A drafter that was asked for must not do nothing without a word because no pass was timed yet."""
    print("chickadee: Timing this model's passes first (7 seconds), to know which drafts pay.", file=sys.stderr)
    try:
        engine.calibrate()
    except Failure as failure:
        print(f"chickadee: {failure} Nothing is drafted.", file=sys.stderr)


def count_phrases(engine: Engine) -> None:
    print("chickadee: Counting usual phrases in this model's tokens first (10 seconds).", file=sys.stderr)
    engine.count_phrases()
    if not engine.has_phrases:
        print("chickadee: They could not be counted. Nothing is drafted.", file=sys.stderr)


@contextmanager
def open_trace(path: Path | None) -> Iterator[IO[str] | None]:
    if path is None:
        yield None
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except BrokenPipeError:  # who reads the answer is gone
        raise
    except OSError as error:
        raise Failure("unwritable", f"The trace cannot be written to {path}: {error.strerror}.") from error


def sampling_of(options: argparse.Namespace) -> Sampling:
    if options.greedy and options.temp:
        raise ValueError("--greedy and --temp contradict each other: give one of them")
    if options.greedy:
        return Sampling(temperature=0.0, repeat_penalty=1.0, seed=options.seed)
    temperature = Sampling().temperature if options.temp is None else options.temp
    return Sampling(temperature=temperature, seed=options.seed)


def lookup_of(options: argparse.Namespace) -> Lookup:
    names = ("match", "m", "n", "select")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if given and options.draft != "history-published":
        raise ValueError(f"--{next(iter(given))} belongs to --draft history-published")
    return Lookup(**given)


def exit_layers_of(options: argparse.Namespace) -> int | None:
    layers: int | None = options.layer
    if layers is not None and not by_layer(options):
        raise ValueError("--layer belongs to --draft midlayer or midlayer-published")
    return layers


def backend_of(options: argparse.Namespace) -> BackendWish | None:
    """Our own graph where a layer of the model is to draft and no library is named: no other can stop at a layer."""
    wish: BackendWish | None = options.backend
    return "graph" if by_layer(options) and wish in (None, "auto") else wish


def by_layer(options: argparse.Namespace) -> bool:
    return options.draft is not None and options.draft.startswith("midlayer")


def draft_model_of(options: argparse.Namespace) -> str | None:
    by_model = options.draft in ("model", "model-published")  # None, not given, is auto
    if options.draft_model is None:
        if by_model:
            raise ValueError(f"--draft {options.draft} needs a --draft-model")
        return None
    if not by_model and options.draft not in ("auto", None):
        raise ValueError("--draft-model belongs to --draft model, model-published or auto")
    return path_text(options.draft_model)


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


class Conversation:
    """The interactive chat: lines in, streamed answers out, commands begin with a slash."""

    def __init__(self, engine: Engine, info: ModelInfo, template: Generate, output: Output) -> None:
        """`template` is a request without messages: the options of every answer."""
        self.engine = engine
        self.info = info
        self.template = template
        self.output = output
        self.messages: list[Message] = []
        self.last: Finished | None = None

    def run(self) -> int:
        info = self.info
        computed = f"{SHOWN[info.backend]}, {info.threads} threads"
        print(f"{info.name} · {computed} · context {info.n_ctx:,} tokens · /help for commands")
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
        elif command == "/continue":
            self._continue()
        elif command == "/stats":
            print(describe(self.last) if self.last else "There is no answer yet.")
        else:
            print(HELP if command == "/help" else f"There is no command {command}.\n{HELP}")

    def _stream(self, request: Generate) -> Answered | None:
        """The answer; where the chat is too long, the user is asked whether old turns may be forgotten."""
        try:
            return self.output.stream(self.engine, request)
        except TooLong as failure:
            turns = next((remedy.turns for remedy in failure.remedies if remedy.kind == "forget_turns"), 0)
            if not turns:
                raise
            print(failure)
        with default_interrupt():
            if input(f"Forget the oldest {turns} of this chat's turns and answer? [y/N] ").strip().lower() != "y":
                return None
        kept = list(without_oldest(request.messages, turns))
        self.messages = kept if request.continue_last else kept[:-1]
        return self.output.stream(self.engine, replace(request, forget_turns=turns))

    def _continue(self) -> None:
        answered = bool(self.messages) and self.messages[-1].role == "assistant"
        if not answered or not self.last or self.last.statistics.stop_reason in ("end", "stop"):
            print("There is no answer that stopped before its end.")
            return
        self._run(replace(self.template, messages=tuple(self.messages), continue_last=True))

    def _answer(self, question: str) -> None:
        self._run(replace(self.template, messages=(*self.messages, Message("user", question))))

    def _run(self, request: Generate) -> None:
        self.engine.stop.clear()
        try:
            answered = self._stream(request)
        except Failure as failure:
            print(f"chickadee: {failure}", file=sys.stderr)
            return
        except Stopped:  # before there was an answer: while the template or the tokens of a long text were worked out
            print("(stopped)")
            return
        if answered is None:
            return
        self.last = answered.end
        before = self.messages.pop().content if request.continue_last else ""
        asked = () if request.continue_last else request.messages[-1:]
        self.messages = [*self.messages, *asked, Message("assistant", before + answered.text)]
        if answered.end.statistics.stop_reason == "context":
            print("(The context is full: the answer ends here. /new starts a new chat.)")
        elif answered.end.statistics.stop_reason == "cancelled":
            print("(stopped)")
