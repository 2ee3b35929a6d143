"""`python -m training.midlayer`: fine-tunes a model so that its layer L says what the whole model says.

    python -m training.midlayer --model M.gguf --layer L --out M-exit.gguf

Loss: the last layer's, plus that of layer L through the same norm and head. What is interrupted goes on when it is
started again with the same options.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.failures import CommandFailure, Failure
from engine.machine import default_threads
from engine.runtime.graph.dimensions import Dimensions, dimensions_of, refusal
from models.header import Header, read_header
from training.arguments import OWN, options_of, parse
from training.data import Example
from training.options import Options

Weights = Mapping[str, NDArray[np.float32]]  # by their names in the file
ARCHITECTURES = ("llama", "qwen2")
SAVED_EVERY = 300.0  # seconds


def main(arguments: list[str] | None = None) -> int:
    given = parse(arguments, (__doc__ or "").splitlines()[0])
    # Waiting threads must sleep: spinning ones compete with other programs, and training is then five times as slow.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import torch
    except ImportError:
        print("training: PyTorch is not installed here. See docs/midlayer.md for how to get it.", file=sys.stderr)
        return 1
    torch.set_num_threads(given.threads or default_threads())
    try:
        return train(given, options_of(given))
    except (Failure, ValueError) as error:
        print(f"training: {error}", file=sys.stderr)
        return 1


def train(given: argparse.Namespace, options: Options) -> int:
    """Train as the arguments say; return the exit code, 2 if interrupted. Raises Failure."""
    from training.loop import Training
    from training.memory import estimate, refuse_if_too_large
    from training.model import Decoder, is_head, is_upper
    from training.weights import read_weights, stored_types

    header = read_header(given.model)
    d = trainable_dimensions(header, options)
    tied = all(tensor.name != "output.weight" for tensor in header.tensors)
    still = [
        t
        for t in header.tensors
        if (options.freeze_upper and is_upper(t.name, options.layer, tied))
        or (options.freeze_head and is_head(t.name, tied))
    ]
    frozen = sum(math.prod(tensor.shape) for tensor in still)
    refuse_if_too_large(estimate(header, d, options, frozen))
    learned, held_out, kept, kept_held_out = examples_of(given, options, header)
    answers = sum(len(each.tokens) - each.first for each in (*learned, *held_out, *kept, *kept_held_out))
    needed = estimate(header, d, options, frozen, answers)
    say(f"{header.path.name}: {d.layers} layers, {header.parameters / 1e6:,.0f} M weights, about {needed / 1e9:.1f} GB")
    refuse_if_too_large(needed)
    weights, teacher = read_weights(given.model), teacher_of(given, d, header)
    file_type, kinds = stored_types(header, given.quantise)
    models = Decoder(d, weights), Decoder(d, read_weights(teacher))
    training = Training(*models, learned, options, held_out, kinds, kept, kept_held_out)
    checkpoint = given.out.with_name(f"{given.out.name}.checkpoint")
    if checkpoint.exists():
        training.resume(checkpoint)
        say(f"going on after step {training.done} of {checkpoint.name}")
    log = given.out.with_name(f"{given.out.name}.log.jsonl")
    if not run(training, checkpoint, log, given.quantise, weights):
        return 2
    finish(training.model.arrays(), weights, given, options, file_type)
    checkpoint.unlink(missing_ok=True)
    return 0


def trainable_dimensions(header: Header, options: Options) -> Dimensions:
    """Return the model's dimensions. Raises Failure if the model, or this layer of it, cannot be trained."""
    reason = refusal(header)
    if reason or header.architecture not in ARCHITECTURES:
        sentence = f"{header.path.name} cannot be trained: models of {' and '.join(ARCHITECTURES)} can."
        raise CommandFailure("not_supported", f"{sentence} {reason}".strip())
    d = dimensions_of(header)
    if not 0 < options.layer < d.layers:
        sentence = (
            f"{header.path.name} has {d.layers} layers: 1 to {d.layers - 1} of them can draft, not {options.layer}."
        )
        raise CommandFailure("no_such_layer", sentence)
    return d


def teacher_of(given: argparse.Namespace, d: Dimensions, header: Header) -> Path:
    """Return the model to judge by and, with --self-distil, to learn from. Raises Failure if its dimensions differ."""
    path: Path = given.teacher or given.model
    other = header if path == given.model else read_header(path)
    if refusal(other) or dimensions_of(other) != d:
        sentence = f"{path.name} cannot teach {header.path.name}: it is built otherwise."
        raise CommandFailure("not_supported", f"{sentence} Take a model that the same training began from.")
    return path


def examples_of(given: argparse.Namespace, options: Options, header: Header) -> tuple[list[Example], ...]:
    """Return four lists: examples to learn, held-out ones, examples to keep, held-out ones of these. Raises Failure."""
    if given.data is None and given.keep == OWN:
        raise CommandFailure(
            "nothing_to_keep", "Without --data the model's own answers are what is learned: name others to --keep."
        )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    learned = examples_in(given.data or own_answers(given, options), "learn", given.model, options, header)
    if given.keep is None:
        return *learned, [], []
    path = own_answers(given, options) if given.keep == OWN else given.keep
    return *learned, *examples_in(path, "keep", given.model, options, header)


def own_answers(given: argparse.Namespace, options: Options) -> Path:
    """Return the file with the model's own answers, writing those that are missing."""
    from training.answers import write_answers
    from training.data import training_questions

    path: Path = given.out.with_name(f"{given.out.name}.answers.jsonl")
    threads = given.threads or default_threads()
    write_answers(
        path,
        given.teacher or given.model,
        training_questions(),
        given.answers,
        given.temperature,
        options.seed,
        threads,
    )
    return path


def examples_in(
    path: Path, what: str, model: Path, options: Options, header: Header
) -> tuple[list[Example], list[Example]]:
    """Return the examples of a file's chats, and the held-out ones."""
    from engine.runtime.llama.runtime import Model
    from engine.tokenization.template import ChatTemplate
    from training.chat_lines import read_chats
    from training.data import examples
    from training.held_out import split

    learned, held = split(read_chats(path), options.held_out, options.seed)
    with closing(Model(model, dry=True)) as loaded:
        template = ChatTemplate(loaded.template, loaded.vocabulary)
        studied, judged = (list(examples(chats, template, header, options.most_tokens)) for chats in (learned, held))
    if not studied:
        raise CommandFailure(
            "bad_data", f"No chat of {path.name} leaves room for its answer in {options.most_tokens} tokens."
        )
    tokens = sum(len(each.tokens) for each in studied)
    say(f"{len(studied):,} chats of {tokens:,} tokens to {what}, {len(judged)} to judge by")
    return studied, judged


def run(training: object, checkpoint: Path, log: Path, quantise: str | None, before: Weights) -> bool:
    """Train to the end, saving a checkpoint every few minutes; return False if interrupted, after saving one.

    The interrupt is Ctrl-C or SIGTERM. `before` are the weights before the training.
    """
    from training.log import Log
    from training.loop import Step, Training

    assert isinstance(training, Training)
    steps, written, saved = training.options.steps, Log(log, training.done), time.monotonic()
    written.add("began", {"number": training.done, "quantise": quantise or "as it was", **asdict(training.options)})
    if training.done >= steps:
        say(f"{training.done} steps are done, {steps} are asked for: the model is written as it is")
    with interruptions() as ended:
        for seen in training.run():
            written.add("step" if isinstance(seen, Step) else "judgement", asdict(seen))
            say(described(seen, steps))
            if ended or time.monotonic() - saved > SAVED_EVERY:
                training.save(checkpoint)
                saved = time.monotonic()
            if ended:
                say(f"stopped after step {training.done}: the same command goes on from here")
                return False
    if training.options.blend < 1:
        training.blend(before)
        say(f"weights at {training.options.blend:g} of the way from before to what was learned:")
        for judgement in training.judged():
            written.add("judgement", asdict(judgement) | {"blend": training.options.blend})
            say(described(judgement, steps))
    return True


@contextmanager
def interruptions() -> Iterator[list[int]]:
    """Yield a list that gets a signal's number when the process is asked to end."""
    ended: list[int] = []
    signals = signal.SIGINT, signal.SIGTERM
    before = {each: signal.signal(each, lambda number, _frame: ended.append(number)) for each in signals}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def described(seen: object, steps: int) -> str:
    """Return the line that shows a step or a judgement."""
    from training.judgement import Judgement
    from training.loop import Step

    if isinstance(seen, Judgement):
        words = f"held-out chats after step {seen.number}: agreement {seen.agreement:.1%}"
        if seen.perplexity is None:
            return f"{words} with what the last layer said before"
        words += f"  perplexity of the last layer {seen.perplexity:.3f}  KL to the model before {seen.drift:.4f}"
        return words if seen.kept is None else f"{words}, on kept chats {seen.kept:.4f}"
    assert isinstance(seen, Step)
    last = "" if seen.last is None else f"last {seen.last:.3f}  "
    drift = "" if seen.drift is None else f"KL {seen.drift:.4f}  "
    drift += "" if seen.kept is None else f"KL on kept chats {seen.kept:.4f}  "
    return (
        f"step {seen.number}/{steps}  {last}middle {seen.middle:.3f}  {drift}agreement {seen.agreement:.1%}  "
        f"{seen.seconds:.1f} s, {(steps - seen.number) * seen.seconds / 60:,.0f} minutes left"
    )


def finish(trained: object, weights: object, given: argparse.Namespace, options: Options, file_type: int) -> None:
    """Write the trained model; `file_type` is llama.cpp's number for its quantisation."""
    from engine.runtime.llama.runtime import quantise
    from training.weights import move_into_place, write_weights

    assert isinstance(trained, dict)
    assert isinstance(weights, dict)
    with tempfile.TemporaryDirectory(prefix=f".{given.out.name}.", dir=given.out.parent) as folder:
        plain, small = Path(folder) / "plain.gguf", Path(folder) / "quantised.gguf"
        write_weights(plain, given.model, weights | trained, options.layer)
        quantise(plain, small, file_type, given.threads or default_threads())
        move_into_place(small, given.out)
    say(f"written: {given.out}. Try it: python -m benchmarks.midlayer --model {given.out}")


def say(text: str) -> None:
    print(f"training: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
