"""`python -m training.draft_head`: a trial of small heads that draft for a model (docs/learned-drafts.md).

    python -m training.draft_head record --model M.gguf --states FOLDER --minutes 60
    python -m training.draft_head train --model M.gguf --states FOLDER --share 0.5

`record` lets the model answer questions and keeps its states; what is interrupted goes on. `train` trains the heads on
a share of the answers and prints, for questions that are never learned, how many tokens a pass would give.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.midlayer import exit_questions
from common.failures import CommandFailure, Failure
from engine.machine import default_threads
from models.terminal import run_command
from training.data import training_questions
from training.recorded_states import EMBEDDING, HEAD, Recorded, read_recorded, read_rows, record

FIRST_TOKENS = 8192  # of the vocabulary, which a head knows beside those of the answers it learned
ANSWER = 160  # most tokens of an answer
HELD_OUT = "held-out"  # folder, inside that of the states


def main(arguments: list[str] | None = None) -> int:
    given = parse(arguments)
    try:
        if given.action == "record":
            record_all(given)
        else:
            train(given)
    except Failure as error:
        print(f"training: {error}", file=sys.stderr)
        return 1
    except ImportError:
        print("training: PyTorch is not installed here. See docs/midlayer.md for how to get it.", file=sys.stderr)
        return 1
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    description = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m training.draft_head", description=description)
    parser.add_argument("action", choices=("record", "train"))
    parser.add_argument("--model", type=Path, required=True, help="GGUF file that ik_llama.cpp can load")
    parser.add_argument("--states", type=Path, required=True, help="folder of recorded answers")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no answer is begun (default: 60)")
    parser.add_argument("--answers", type=int, help="record at most so many (default: to all questions)")
    parser.add_argument("--tokens", type=int, default=ANSWER, help=f"most of an answer (default: {ANSWER})")
    parser.add_argument("--share", type=float, default=1.0, help="of the recorded answers that is learned (default: 1)")
    parser.add_argument("--epochs", type=float, default=3.0, help="(default: 3)")
    parser.add_argument("--threads", type=int, default=default_threads())
    return parser.parse_args(arguments)


def record_all(given: argparse.Namespace) -> None:
    """Record the answers that judge first, then those to learn from. Raises Failure."""
    for folder, questions in ((given.states / HELD_OUT, exit_questions()), (given.states, training_questions())):
        wanted = questions[: given.answers]
        for tokens in record(folder, given.model, wanted, given.tokens, given.threads, given.minutes * 60):
            print(f"recorded {tokens:,} tokens", flush=True)


def train(given: argparse.Namespace) -> None:
    """Train on the share of the answers, printing loss and speed, and what it brings. Raises Failure or ImportError."""
    import torch

    from training.heads import Heads, judge, positions, training

    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    learned, judging = read_recorded(given.states), read_recorded(given.states / HELD_OUT)
    if not learned or not judging:
        raise CommandFailure("not_found", f"There are no recorded answers in {given.states}: begin with `record`.")
    learned = learned[: max(1, round(len(learned) * given.share))]
    ids = known_tokens(learned)
    heads = Heads(read_rows(given.model, EMBEDDING), read_rows(given.model, HEAD, ids), ids)
    count = sum(len(answer.tokens) - answer.first for answer in learned)
    print(f"{count:,} tokens of {len(learned)} answers, {len(ids):,} tokens known")
    for line in training(heads, positions(learned), given.epochs):
        print(line, flush=True)
    agreed, per_pass = judge(heads, positions(judging))
    for k, (rate, tokens) in enumerate(zip(agreed, per_pass, strict=True), 1):
        print(f"k = {k}: right {rate:.1%}, {tokens:.2f} tokens a pass")


def known_tokens(learned: Sequence[Recorded]) -> list[int]:
    """Return the ids of the tokens that a head can draft."""
    return sorted({*range(FIRST_TOKENS), *(token for answer in learned for token in answer.tokens[answer.first :])})


if __name__ == "__main__":
    sys.exit(run_command(main))
