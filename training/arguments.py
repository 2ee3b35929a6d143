"""Command line of `python -m training.midlayer`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from training.options import Options

ANSWERS = 512
OWN = Path()  # value of --keep without a file
TEMPERATURE = 0.3


def parse(arguments: list[str] | None, description: str) -> argparse.Namespace:
    defaults = Options(1)
    parser = argparse.ArgumentParser(prog="python -m training.midlayer", description=description)
    _add_files(parser.add_argument)
    _add_steps(parser.add_argument, defaults)
    _add_losses(parser.add_argument, defaults)
    _add_numbers(parser.add_argument, defaults)
    parser.add_argument("--threads", type=int, help="(default: physical cores)")
    return parser.parse_args(arguments)


def _add_files(add: Callable[..., object]) -> None:
    """Add the options that name the model, the chats and the result."""
    add("--model", type=Path, required=True, help="GGUF file to begin from")
    add(
        "--teacher",
        type=Path,
        help="GGUF file of the model to be compared with, and to learn from with --self-distil, where --model was "
        "already trained from it (default: --model)",
    )
    add("--layer", type=int, required=True, help="the first so many layers are to draft")
    add("--out", type=Path, required=True, help="GGUF file to write")
    add("--data", type=Path, help="chats, a JSON object a line (default: the model's own answers)")
    add(
        "--keep",
        nargs="?",
        type=Path,
        const=OWN,
        metavar="FILE",
        help="chats beside those of --data, as many tokens in each step, of which the last layer goes on saying what "
        "it said before (without FILE: the model's own answers)",
    )
    add("--answers", type=int, default=ANSWERS, help=f"without --data, or for --keep: so many (default: {ANSWERS})")
    add(
        "--temperature",
        type=float,
        default=TEMPERATURE,
        help=f"of these answers; the lower, the more predictable (default: {TEMPERATURE})",
    )


def _add_steps(add: Callable[..., object], defaults: Options) -> None:
    """Add the options for the number of steps, the learning rate and the batch size."""
    add(
        "--steps",
        type=int,
        default=defaults.steps,
        help=f"a training that was stopped may go on with others, and another rate (default: {defaults.steps})",
    )
    add("--rate", type=float, default=defaults.rate, help=f"learning rate (default: {defaults.rate:g})")
    add("--warm-up", type=float, default=defaults.warm_up, help=f"share of the steps (default: {defaults.warm_up})")
    add("--weight-decay", type=float, default=defaults.weight_decay, help="(default: 0)")
    add("--batch-tokens", type=int, default=defaults.batch_tokens, help=f"a step (default: {defaults.batch_tokens})")
    add(
        "--most-tokens",
        type=int,
        default=defaults.most_tokens,
        help=f"of a chat, and of chats that are computed together (default: {defaults.most_tokens})",
    )
    add("--seed", type=int, default=defaults.seed, help="(default: 0)")


def _add_losses(add: Callable[..., object], defaults: Options) -> None:
    """Add the options that choose and weight the losses."""
    add(
        "--middle-weight",
        type=float,
        default=defaults.middle_weight,
        help=f"what layer L's loss counts beside the last layer's (default: {defaults.middle_weight:g})",
    )
    add(
        "--self-distil",
        action="store_true",
        help="both layers learn what the last one said before the training, instead of the text",
    )
    add(
        "--middle-first",
        type=int,
        default=defaults.middle_first,
        metavar="STEPS",
        help="of --steps: at first only the layers up to L learn, and the others are not computed; with --self-distil",
    )
    add(
        "--rows",
        type=float,
        default=defaults.rows,
        metavar="SHARE",
        help="of the answers' tokens that a step learns, drawn anew each time: less work in the head (default: 1)",
    )
    add("--freeze-upper", action="store_true", help="leave layers above L and the head as they are")
    add("--freeze-head", action="store_true", help="leave the head, its norm and the embedding it shares as they are")


def _add_numbers(add: Callable[..., object], defaults: Options) -> None:
    """Add the options for number types and for judging the result."""
    add(
        "--bf16",
        action="store_true",
        help="compute in bfloat16, weights stay in float32: two to three times as fast on processors with AVX-512 BF16 "
        "or AMX (lscpu names them), slower on others",
    )
    add(
        "--quantise",
        choices=("Q8_0", "F16"),
        help="of the result (default: as the model). The weights of a Q4 file begin in the middle of coarse steps, and "
        "fall back there unless they learn for long: Q8_0 keeps what a short training did",
    )
    add(
        "--rounded",
        type=float,
        default=defaults.rounded,
        metavar="SHARE",
        help="compute this last share of the steps with weights as the quantised file will hold them, so that what "
        "quantising costs is learned away too (default: 0; nothing for K-quants)",
    )
    add(
        "--held-out",
        type=int,
        default=defaults.held_out,
        help="never learn the chats of so many questions, at most of a tenth of all, and judge the training by them "
        f"(default: {defaults.held_out})",
    )
    add(
        "--blend",
        type=float,
        default=defaults.blend,
        metavar="SHARE",
        help="of the way from the weights before to those learned, where the result lies: halfway it has lost less of "
        "all else, and after a gentle training little of what it learned (default: 1)",
    )
    add("--judged-every", type=int, default=defaults.judged_every, help=f"steps (default: {defaults.judged_every})")


def options_of(given: argparse.Namespace) -> Options:
    """Convert the arguments to Options. Raises ValueError."""
    names = (
        "layer steps rate warm_up weight_decay batch_tokens most_tokens seed middle_weight self_distil freeze_upper "
        "freeze_head middle_first rows bf16 rounded held_out judged_every blend"
    )
    return Options(**{name: getattr(given, name) for name in names.split()})
