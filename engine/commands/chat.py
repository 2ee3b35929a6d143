"""`python -m engine chat`: one question with `--prompt`, or an interactive chat. The engine runs in this process.

With `--server` a server computes the answers, and this process has neither a model nor our other files.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from common.failures import CommandFailure, Failure
from common.paths import path_of, path_text
from common.sentences import Sentence
from engine.base import BaseEngine
from engine.client import Target
from engine.client_process import WaitingClient
from engine.commands.options import add_options, answer_options, destination, request_fields, settings_with_flag
from engine.commands.terminal import Conversation, Output, ctrl_c_stops, print_error, report
from engine.protocol.events import Event, ModelInfo, SpeedExpected
from engine.protocol.requests import BackendWish, Generate, Load, Message, Server
from engine.protocol.settings import PUBLISHED, filled
from engine.stop import StopFlag, Stopped
from models.default import default_model

if TYPE_CHECKING:
    from engine.engine import Engine

KEY_VARIABLE = "CHICKADEE_SERVER_KEY"
GREEDY = {"temperature": 0.0, "repeat_penalty": 1.0, "presence_penalty": 0.0}
NEED_COSTS = ("auto", "history", "phrases", "mtp", "model", "midlayer")  # drafters that verify only what pays


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("chat", help="chat in this terminal")
    parser.set_defaults(run=run)
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--server", metavar="URL", help="have a server answer that speaks OpenAI's API")
    parser.add_argument("--server-model", metavar="NAME", help="the server's model (default: its only one)")
    parser.add_argument(
        "--server-key", metavar="KEY", help=f"the server's key (other users may see it here: {KEY_VARIABLE} is safer)"
    )
    add_options(parser, "load", "generate")
    parser.add_argument("--greedy", action="store_true", help="always take the most likely token")
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write each pass of the model and each decision as a line of JSON"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--prompt", metavar="TEXT", help="answer this once instead of chatting")
    source.add_argument("--prompt-file", type=Path, metavar="PATH", help="answer the text of a file once")
    source.add_argument("--messages", type=Path, metavar="FILE", help="answer a JSON list of {role, content} once")


def run(options: argparse.Namespace) -> int:
    """Run the chat and return its exit code. Raises Failure and ValueError, whose texts are sentences for the user."""
    logging.basicConfig(level=logging.CRITICAL)
    try:
        return chat(options)
    except (Stopped, KeyboardInterrupt):
        return print_error("Stopped.")


def chat(options: argparse.Namespace) -> int:
    # Made before the model is loaded, so that a bad option is refused at once.
    request, template = requests_of(options)
    messages = given_messages(options)
    if options.server is not None:
        return remote_chat(options, messages)
    from engine.engine import Engine

    engine = Engine()
    try:
        with ctrl_c_stops(engine):
            info = engine.load(request, expect=print_expected).model
            if options.draft in NEED_COSTS and not (engine.calibrated or engine.reads_from_disk):
                calibrate(engine)
            if options.draft == "mtp" and not info.drafts_itself:
                print(f"chickadee: {info.own_drafter or Sentence.of('own_drafter.none')}", file=sys.stderr)
            if options.draft == "phrases" and not engine.has_ngram_table:
                count_ngrams(engine)
            with open_trace(options.trace) as trace:
                return answer(engine, info, template, messages, Output(show=not options.json, trace=trace))
    finally:
        engine.close()


def print_expected(expected: SpeedExpected) -> None:
    """Tell on stderr how fast a model will be that is larger than the memory."""
    print(f"chickadee: {expected.sentence}", file=sys.stderr, flush=True)


def remote_chat(options: argparse.Namespace, messages: tuple[Message, ...] | None) -> int:
    """Chat with a model on a server, by the process that asks servers. Raises Failure where the server fails."""
    server = Server(options.server, options.server_key or os.environ.get(KEY_VARIABLE, ""))
    engine = OtherProcess(Target(Load(0, options.server_model or "", server=server)))
    try:
        info = engine.model()
        template = generate_of(options, path_of(info.path))
        with ctrl_c_stops(engine):
            return answer(engine, info, template, messages, Output(show=not options.json))
    finally:
        engine.close()


class OtherProcess(BaseEngine):
    """The engine of another process, as far as a chat in this terminal asks it."""

    def __init__(self, target: Target) -> None:
        self._client = WaitingClient(target)
        self.stop = CancelFlag(self._client.cancel)

    def model(self) -> ModelInfo:
        """Have the model loaded. Raises Failure."""
        return self._client.load()

    def generate(self, request: Generate) -> Iterator[Event]:
        try:
            yield from self._client.events(request)
        except Failure as failure:
            if failure.code == "cancelled":
                raise Stopped from failure
            raise

    def close(self) -> None:
        self._client.close()


class CancelFlag(StopFlag):
    """A flag for an engine in another process, which is told when the flag is set."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        self._cancel = cancel

    def set(self) -> None:
        super().set()
        self._cancel()


def answer(
    engine: BaseEngine, info: ModelInfo, template: Generate, messages: tuple[Message, ...] | None, output: Output
) -> int:
    """Answer the given messages once, or chat if there are none; return the exit code."""
    if messages is None:
        return Conversation(engine, info, template, output).run()
    answered = output.stream(engine, replace(template, messages=messages))
    if not output.show:
        print(json.dumps(report(answered, info), ensure_ascii=False))
    return 0


def calibrate(engine: Engine) -> None:
    """Time the model's passes, because a requested drafter must not silently draft nothing for lack of timings."""
    print(
        "chickadee: Timing this model's passes first (7 seconds), to know which drafts are worth checking.",
        file=sys.stderr,
    )
    try:
        engine.calibrate()
    except Failure as failure:
        print(f"chickadee: {failure} Nothing is drafted.", file=sys.stderr)


def count_ngrams(engine: Engine) -> None:
    print("chickadee: Counting common phrases in this model's tokens first (10 seconds).", file=sys.stderr)
    engine.count_ngrams()
    if not engine.has_ngram_table:
        print("chickadee: They could not be counted, so nothing is drafted.", file=sys.stderr)


@contextmanager
def open_trace(path: Path | None) -> Iterator[IO[str] | None]:
    if path is None:
        yield None
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except BrokenPipeError:  # the reader of the answer has ended
        raise
    except OSError as error:
        raise CommandFailure("unwritable", f"The trace cannot be written to {path}: {error.strerror}.") from error


def requests_of(options: argparse.Namespace) -> tuple[Load, Generate]:
    """Return the Load request, and the Generate request with every option but without messages. Raises ValueError."""
    check_draft_options(options)
    check_server_options(options)
    load = request_fields(options, "load") | {"backend": backend_of(options)}
    model = options.model or default_model()
    return filled(Load(0, path_text(model)), load), generate_of(options, model)


def generate_of(options: argparse.Namespace, model: Path) -> Generate:
    """Return the Generate request with every option but without messages, for answers by `model`."""
    given = request_fields(options, "generate") | sampling_of(options)
    return replace(answer_options(given, model), trace=bool(options.trace))


def sampling_of(options: argparse.Namespace) -> dict[str, object]:
    """Return the fields that --greedy stands for. Raises ValueError if --temp is given too."""
    if options.greedy and options.temp:
        raise ValueError("--greedy and --temp cannot be combined: use one of them")
    return {f"sampling.{name}": value for name, value in GREEDY.items()} if options.greedy else {}


def check_draft_options(options: argparse.Namespace) -> None:
    """Check that each drafting option comes with the drafter that it belongs to. Raises ValueError."""
    lookup = [flag for _, flag in settings_with_flag("generate") if flag.group == PUBLISHED]
    misplaced = [flag.name for flag in lookup if getattr(options, destination(flag)) is not None]
    if misplaced and options.draft != "history-published":
        raise ValueError(f"{misplaced[0]} belongs to --draft history-published")
    if options.layer is not None and not drafts_by_layer(options):
        raise ValueError("--layer belongs to --draft midlayer or midlayer-published")
    by_model = options.draft in ("model", "model-published")  # None, not given, is auto
    if by_model and options.draft_model is None:
        raise ValueError(f"--draft {options.draft} needs a --draft-model")
    if options.draft_model is not None and not by_model and options.draft not in ("auto", None):
        raise ValueError("--draft-model belongs to --draft model, model-published or auto")


def check_server_options(options: argparse.Namespace) -> None:
    """Check that no option concerns only a model on this computer, or only a server. Raises ValueError."""
    if options.server is None:
        if options.server_model is not None or options.server_key is not None:
            raise ValueError("--server-model and --server-key need --server")
        return
    local = [flag.name for _, flag in settings_with_flag("load") if getattr(options, destination(flag)) is not None]
    local += [name for name, value in (("--model", options.model), ("--draft", options.draft)) if value is not None]
    local += ["--trace"] if options.trace else []
    if local:
        raise ValueError(f"{local[0]} is for a model on this computer, not for one on a server")


def backend_of(options: argparse.Namespace) -> BackendWish | None:
    """Return the requested library; if there is none, the only one that has the requested drafter.

    Only our own graph can stop at an early layer, and only llama.cpp runs the layers that models bring to draft.
    """
    wish: BackendWish | None = options.backend
    if wish not in (None, "auto"):
        return wish
    return "graph" if drafts_by_layer(options) else "llama" if options.draft == "mtp" else wish


def drafts_by_layer(options: argparse.Namespace) -> bool:
    return options.draft is not None and options.draft.startswith("midlayer")


def given_messages(options: argparse.Namespace) -> tuple[Message, ...] | None:
    """Return the messages given on the command line, or None for an interactive chat."""
    if options.messages is not None:
        return parse_messages(read_text(options.messages), options.messages)
    prompt = read_text(options.prompt_file) if options.prompt_file is not None else options.prompt
    if prompt is None:
        if options.json:
            raise ValueError("--json needs --prompt, --prompt-file or --messages")
        return None
    if not prompt.strip():
        raise CommandFailure("empty_prompt", "The prompt is empty: there is nothing to answer.")
    return (Message("user", prompt),)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandFailure("unreadable", f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandFailure("unreadable", f"{path} is not UTF-8 text.") from error


def parse_messages(text: str, path: Path) -> tuple[Message, ...]:
    try:
        return msgspec.json.decode(text, type=tuple[Message, ...])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        sentence = f"{path} is not a JSON list of messages with role and content: {error}."
        raise CommandFailure("bad_messages", sentence) from error
