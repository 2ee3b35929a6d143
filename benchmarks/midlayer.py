"""How many of a model's early layers draft best, and whether that pays: for `--draft midlayer` and `auto`.

    python -m benchmarks.midlayer [--model M] [--tokens N] [--chats FILE] [--threads N] [--json]

The model answers questions, up to 12 of its layers predict the answers' tokens, and their looks ahead are timed. The
result is stored in the cache folder, where every Chickadee of this user finds it. Takes a minute.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.command import benchmark_parser, print_json, run_until_stopped
from benchmarks.exit_predictions import predict_at_exits
from benchmarks.exit_search import ExitSearch, candidate_exits
from common.failures import CommandFailure
from common.paths import display_name
from engine.commands import calibrate
from engine.commands.options import add_option
from engine.costs.cost_model import CostModel, Timings
from engine.costs.measurements import CalibrationKey, stored_calibration
from engine.loading.library_choice import identity_of
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.machine import fingerprint
from engine.protocol.requests import Message
from engine.run_subprocess import start_with_environment
from engine.runtime.contexts import ContextOptions
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.runtime import GraphRuntime
from engine.speculative.mid_layer import ExitFound, Exits, exit_of, store_exits, trained_exits
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from models.assets import asset
from models.shapes import shapes_of
from training.chat_lines import read_chats

N_CTX = 2048  # room for a question, its answer, and passes to time
TOKENS = 768  # of the model's own answers; more tokens hardly ever change which layer is best
FEWEST_TOKENS = 64


def main(arguments: list[str] | None = None) -> int:
    """Measure the model that the arguments name, store and print what was found; return the exit code."""
    return run_until_stopped(partial(measure_and_store, parse(arguments)))


def measure_and_store(options: argparse.Namespace, stop: StopFlag) -> None:
    """Measure the model's exits, store and print them. Raises Failure, Stopped."""
    plan = resolve(LoadOptions(options.model, backend="graph", no_other=True, kv_type="f16", threads=options.threads))
    questions = read_questions(options.chats) if options.chats else []
    exits = measure(plan, timings(plan), questions, options.tokens, stop)
    store_exits(exits)
    if options.json:
        print_json(report(exits))
    else:
        print(f"{display_name(options.model)}, {plan.memory.threads} threads, {table(exits)}")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = benchmark_parser("midlayer", __doc__)
    parser.add_argument("--tokens", type=int, default=TOKENS, help=f"tokens of the model's answers (default: {TOKENS})")
    parser.add_argument("--chats", type=Path, metavar="FILE", help="use the questions of these chats, one chat a line")
    add_option(parser, "engine.threads")
    options = parser.parse_args(arguments)
    if options.tokens < FEWEST_TOKENS:
        parser.error(f"fewer than {FEWEST_TOKENS} tokens are too few to measure")
    return options


def read_questions(chats: Path) -> list[Sequence[Message]]:
    """Read the questions from a file of chats. Raises Failure."""
    return [chat.prompt for chat in read_chats(chats)]


def built_in_questions() -> list[Sequence[Message]]:
    """Return the built-in questions, for users who have no chats to learn from."""
    return [(Message("user", question),) for question in exit_questions()]


def exit_questions() -> list[str]:
    """Return the questions that models answer to measure their exits."""
    return asset("midlayer/questions.txt").read_text("utf-8").splitlines()


def timings(plan: LoadPlan) -> Timings:
    """Return the stored timings of this model; time its passes now if there are none.

    Raises Failure if another program disturbed the timing.
    """
    if known := stored_calibration(key_of(plan)):
        return known.timings
    measured = calibrate.measure(plan)
    if measured.disturbed:
        raise CommandFailure(
            "disturbed", "This model's speed could not be measured because another program was busy. Run this again."
        )
    return measured


def key_of(plan: LoadPlan) -> CalibrationKey:
    return CalibrationKey(identity_of(plan.header), plan.options.key_threads, "f16", plan.library.build, fingerprint())


def measure(
    plan: LoadPlan, timings: Timings, questions: Sequence[Sequence[Message]], tokens: int, stop: StopFlag
) -> Exits:
    """Find the best exit layer over `tokens` tokens of the model's answers. Raises Failure, Stopped.

    `questions` are lists of messages; if empty, the built-in questions are asked.
    """
    shapes, layers = shapes_of(plan.header), len(shapes_of(plan.header).layers)
    name, threads = display_name(plan.options.path), plan.memory.threads
    if layers < 2:
        raise CommandFailure("no_early_exit", f"{name} has a single layer, so no early layer can draft.")
    tried = sorted({*candidate_exits(layers), *trained_exits(plan.header)})
    with ExitStack() as stack:
        model = stack.enter_context(closing(GraphModel(plan.headers, lambda _fraction: not stop.is_set())))
        target = stack.enter_context(closing(GraphRuntime(model, ContextOptions(N_CTX, threads), stop)))
        layers_tried = [exit_of(shapes, each, layers) for each in tried]
        prompts = map(ChatTemplate(model.template, model.vocabulary).tokens, questions or built_in_questions())

        def predict(tokens: Sequence[int], layers: Sequence[int]) -> NDArray[np.int32]:
            return predict_at_exits(model, tokens, layers, threads, stop)

        search = ExitSearch(target, predict, layers_tried, CostModel(timings).c, prompts)
        for event in search.measure(key_of(plan), tokens):
            if isinstance(event, Exits):
                print(file=sys.stderr)
                return event
            print(f"\r{event:4.0%} of the layers of {name}", end="", file=sys.stderr)
    raise AssertionError("a measurement ends with what was found")


def report(exits: Exits) -> dict[str, object]:
    """Return the object that `--json` prints; its fields are an interface."""
    return {
        "tokens": exits.tokens,
        "layers": msgspec.to_builtins(exits.found),
        "best": exits.best.layers,
        "chosen": exits.best.layers if exits.pays else None,
    }


def table(exits: Exits) -> str:
    lines = [
        f"{exits.tokens:,} tokens of its own answers",
        "",
        f"{'layers':>6}{'agreement':>11}{'look ahead':>12}{'here':>8}{'ahead':>7}{'laptop':>9}{'ahead':>7}",
        *(_line(each) for each in exits.found),
        "",
        "look ahead: a token by these layers, in passes of the whole model; here, laptop: the speed of decoding beside",
        "plain decoding, so many tokens ahead, on this machine and on one that memory bandwidth limits",
        "",
    ]
    best = exits.best
    if exits.pays:
        lines.append(
            f"Chosen: {best.layers} layers draft, expected at {best.here.speedup:.2f}× the speed of plain decoding."
        )
    else:
        lines.append(f"Chosen: none. The best, {best.layers} layers, would run at {best.here.speedup:.2f}×.")
    return "\n".join(lines)


def _line(each: ExitFound) -> str:
    gains = "".join(f"{gain.speedup:{width}.2f}×{gain.ahead:7}" for gain, width in ((each.here, 7), (each.laptop, 8)))
    return f"{each.layers:6}{each.agreement:11.1%}{each.look:12.2f}{gains}"


if __name__ == "__main__":
    start_with_environment()
    sys.exit(main())
