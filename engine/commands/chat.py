"""`python -m engine chat`: one question with `--prompt`, or an interactive chat. The engine runs in this process."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, get_args

import msgspec

from common.byte_sizes import parse_bytes
from common.failures import CommandFailure, Failure
from common.paths import path_of, path_text
from engine.commands.terminal import Conversation, Output, complain, ctrl_c_stops, report
from engine.protocol import (
    BackendWish,
    DraftMode,
    FlashAttention,
    Generate,
    KVModeName,
    Load,
    Lookup,
    Message,
    Sampling,
)
from engine.stop import Stopped
from models.default import default_model

if TYPE_CHECKING:
    from engine.engine import Engine

NEED_COSTS = ("auto", "history", "phrases", "model", "midlayer")  # drafters that verify only what pays


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("chat", help="chat in this terminal")
    parser.set_defaults(run=run)
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--ctx", type=int, metavar="N", help="context in tokens (default: what fits, up to 32768)")
    parser.add_argument(
        "--memory", metavar="SIZE", help="use at most this much, for example 4GB (default: what is free)"
    )
    parser.add_argument(
        "--kv-type",
        choices=["f16", "q8_0", "q4_0"],
        help="precision of the KV cache (default: f16, or q8_0 where f16 does not fit)",
    )
    add_flash_attention(parser)
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: physical cores)")
    parser.add_argument(
        "--backend",
        choices=get_args(BackendWish),
        help="what runs the model: llama.cpp, ik_llama.cpp, the built-in engine, or the faster library (default: auto)",
    )
    parser.add_argument("--temp", type=float, metavar="T", help="temperature, 0 = greedy (default: 0.8)")
    parser.add_argument("--seed", type=int, metavar="S", help="random seed: the same seed gives the same answer")
    parser.add_argument("--greedy", action="store_true", help="always take the most likely token")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="maximum length of an answer, in tokens")
    parser.add_argument(
        "--kv-policy",
        choices=["always", "published", "measured"],
        default="measured",
        help="which tokens stay in the KV cache (default: measured)",
    )
    add_kv_mode(parser)
    add_drafting(parser)
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write each pass of the model and each decision as a line of JSON"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--prompt", metavar="TEXT", help="answer this once instead of chatting")
    source.add_argument("--prompt-file", type=Path, metavar="PATH", help="answer the text of a file once")
    source.add_argument("--messages", type=Path, metavar="FILE", help="answer a JSON list of {role, content} once")


def add_kv_mode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kv",
        choices=get_args(KVModeName),
        help="keep the whole KV cache (exact), or compress a share of the heads (lossy; default: exact)",
    )
    parser.add_argument(
        "--kv-share",
        type=float,
        metavar="S",
        help="share of the heads that --kv compresses, up to 1 (default: 0.25)",
    )


def add_flash_attention(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--flash-attention",
        choices=get_args(FlashAttention),
        default="auto",
        help="off stores all attention scores: more memory, f16 only, for comparison (default: auto, which is on)",
    )


def add_drafting(parser: argparse.ArgumentParser) -> None:
    """What is not given is None: an option without the drafter that it belongs to is refused."""
    parser.add_argument(
        "--draft",
        choices=get_args(DraftMode),
        help="speculative decoding: drafts from the chat's own text (history), from common phrases (phrases), by a "
        "draft model (model), by the model's early layers (midlayer), or by whichever is faster (default: auto)",
    )
    parser.add_argument(
        "--layer",
        type=int,
        metavar="L",
        help="with --draft midlayer: how many layers draft (default: the fastest number measured)",
    )
    parser.add_argument("--draft-model", type=path_of, metavar="PATH", help="GGUF file of a draft model")
    published = parser.add_argument_group("options for --draft history-published")
    published.add_argument("--match", type=int, metavar="N", help="how many of the last tokens must match (default: 1)")
    published.add_argument("--m", type=int, metavar="M", help="matches tried at once (default: 1)")
    published.add_argument("--n", type=int, metavar="N", help="tokens per match (default: 4)")
    published.add_argument("--select", choices=["recent", "random"], help="which matches (default: recent)")


def run(options: argparse.Namespace) -> int:
    """Raises Failure and ValueError, whose texts are sentences for the user."""
    logging.basicConfig(level=logging.CRITICAL)
    try:
        return chat(options)
    except (Stopped, KeyboardInterrupt):
        return complain("Stopped.")


def chat(options: argparse.Namespace) -> int:
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
    print(
        "chickadee: Timing this model's passes first (7 seconds), to know which drafts are worth checking.",
        file=sys.stderr,
    )
    try:
        engine.calibrate()
    except Failure as failure:
        print(f"chickadee: {failure} Nothing is drafted.", file=sys.stderr)


def count_phrases(engine: Engine) -> None:
    print("chickadee: Counting common phrases in this model's tokens first (10 seconds).", file=sys.stderr)
    engine.count_phrases()
    if not engine.has_phrases:
        print("chickadee: They could not be counted, so nothing is drafted.", file=sys.stderr)


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
        raise CommandFailure("unwritable", f"The trace cannot be written to {path}: {error.strerror}.") from error


def sampling_of(options: argparse.Namespace) -> Sampling:
    if options.greedy and options.temp:
        raise ValueError("--greedy and --temp cannot be combined: use one of them")
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
