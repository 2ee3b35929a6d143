"""`python -m training.midlayer`: fine-tunes a model so that its layer L says what the whole model says.

    python -m training.midlayer --model M.gguf --layer L --out M-exit.gguf

Loss: the last layer's, plus that of layer L through the same norm and head. What is interrupted goes on when it is
started again with the same options.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from engine.graph import needs
from engine.graph.best_exit import questions
from engine.graph.dimensions import Dimensions, dimensions_of
from engine.measured.machine import default_threads
from models.failures import Failure
from models.header import Header, read_header
from training.data import Example
from training.options import Options

ARCHITECTURES = ("llama", "qwen2")
SAVED_EVERY = 300.0  # seconds
ANSWERS = 512


def main(arguments: list[str] | None = None) -> int:
    given = parse(arguments)
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


def parse(arguments: list[str] | None) -> argparse.Namespace:
    defaults = Options(1)
    parser = argparse.ArgumentParser(prog="python -m training.midlayer", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="GGUF file to begin from")
    parser.add_argument("--layer", type=int, required=True, help="the first so many layers are to draft")
    parser.add_argument("--out", type=Path, required=True, help="GGUF file to write")
    parser.add_argument("--data", type=Path, help="chats, a JSON object a line (default: the model's own answers)")
    parser.add_argument("--answers", type=int, default=ANSWERS, help=f"without --data: so many (default: {ANSWERS})")
    parser.add_argument("--steps", type=int, default=defaults.steps, help=f"(default: {defaults.steps})")
    parser.add_argument("--rate", type=float, default=defaults.rate, help=f"learning rate (default: {defaults.rate:g})")
    parser.add_argument("--warm-up", type=float, default=defaults.warm_up, help="share of the steps (default: 0.1)")
    parser.add_argument("--weight-decay", type=float, default=defaults.weight_decay, help="(default: 0)")
    parser.add_argument("--batch-tokens", type=int, default=defaults.batch_tokens, help="of a step (default: 4096)")
    parser.add_argument("--most-tokens", type=int, default=defaults.most_tokens, help="of a chat (default: 1024)")
    parser.add_argument("--seed", type=int, default=defaults.seed, help="(default: 0)")
    parser.add_argument("--self-distil", action="store_true", help="the layer learns what the last layer says, no text")
    parser.add_argument("--freeze-upper", action="store_true", help="leave layers above L and the head as they are")
    parser.add_argument("--threads", type=int, help="(default: physical cores)")
    return parser.parse_args(arguments)


def options_of(given: argparse.Namespace) -> Options:
    """Raises ValueError."""
    names = "layer steps rate warm_up weight_decay batch_tokens most_tokens seed self_distil freeze_upper"
    return Options(**{name: getattr(given, name) for name in names.split()})


def train(given: argparse.Namespace, options: Options) -> int:
    """Raises Failure."""
    from training.loop import Training
    from training.memory import estimate, refuse_if_too_large
    from training.model import Decoder, is_upper
    from training.weights import read_weights

    header = read_header(given.model)
    d = checked(header, options)
    tied = all(tensor.name != "output.weight" for tensor in header.tensors)
    still = [t for t in header.tensors if options.freeze_upper and is_upper(t.name, options.layer, tied)]
    needed = estimate(header, d, options, sum(math.prod(tensor.shape) for tensor in still))
    say(f"{header.path.name}: {d.layers} layers, {header.parameters / 1e6:,.0f} M weights, about {needed / 1e9:.1f} GB")
    refuse_if_too_large(needed)
    examples = examples_of(given, options, header)
    weights = read_weights(given.model)
    training = Training(Decoder(d, weights), examples, options)
    checkpoint = given.out.with_name(f"{given.out.name}.checkpoint")
    if checkpoint.exists():
        training.resume(checkpoint)
        say(f"going on after step {training.done} of {checkpoint.name}")
    if not run(training, checkpoint):
        return 2
    finish(training.model.arrays(), weights, given, options)
    checkpoint.unlink(missing_ok=True)
    return 0


def checked(header: Header, options: Options) -> Dimensions:
    """Raises Failure for a model that cannot be trained so."""
    refusal = needs.refusal(header)
    if refusal or header.architecture not in ARCHITECTURES:
        sentence = f"{header.path.name} cannot be trained: models of {' and '.join(ARCHITECTURES)} can."
        raise Failure("not_supported", f"{sentence} {refusal}".strip())
    d = dimensions_of(header)
    if not 0 < options.layer < d.layers:
        sentence = (
            f"{header.path.name} has {d.layers} layers: 1 to {d.layers - 1} of them can draft, not {options.layer}."
        )
        raise Failure("no_such_layer", sentence)
    return d


def examples_of(given: argparse.Namespace, options: Options, header: Header) -> list[Example]:
    from engine.llama.model import Model
    from engine.words.template import ChatTemplate
    from training.data import examples, read_chats, write_chats

    path = given.data or given.out.with_name(f"{given.out.name}.answers.jsonl")
    if given.data is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_chats(path, given.model, questions(), given.answers, options.seed)
    with closing(Model(given.model, dry=True)) as model:
        template = ChatTemplate(model.template, model.vocabulary)
        found = list(examples(read_chats(path), template, header, options.most_tokens))
    if not found:
        raise Failure("bad_data", f"No chat of {path.name} leaves room for its answer in {options.most_tokens} tokens.")
    return found


def run(training: object, checkpoint: Path) -> bool:
    """To the end, or until Ctrl-C or the end of the process; saves a checkpoint then, and every few minutes."""
    from training.loop import Training

    assert isinstance(training, Training)
    stopped: list[int] = []
    before = {
        s: signal.signal(s, lambda number, _frame: stopped.append(number)) for s in (signal.SIGINT, signal.SIGTERM)
    }
    saved = time.monotonic()
    try:
        for step in training.run():
            left = (training.options.steps - step.number) * step.seconds / 60
            say(
                f"step {step.number}/{training.options.steps}  last {step.last:.3f}  middle {step.middle:.3f}  "
                f"agreement {step.agreement:.1%}  {step.seconds:.1f} s, {left:,.0f} minutes left"
            )
            if stopped or time.monotonic() - saved > SAVED_EVERY:
                training.save(checkpoint)
                saved = time.monotonic()
            if stopped:
                say(f"stopped after step {step.number}: the same command goes on from here")
                return False
        return True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def finish(trained: object, weights: object, given: argparse.Namespace, options: Options) -> None:
    """Write the model, quantised as it was."""
    from engine.llama.quantise import quantise
    from training.weights import file_type, replace, write_weights

    assert isinstance(trained, dict)
    assert isinstance(weights, dict)
    with tempfile.TemporaryDirectory(prefix=f".{given.out.name}.", dir=given.out.parent) as folder:
        plain, small = Path(folder) / "plain.gguf", Path(folder) / "quantised.gguf"
        write_weights(plain, given.model, weights | trained, options.layer)
        quantise(plain, small, file_type(given.model), given.threads or default_threads())
        replace(small, given.out)
    say(f"written: {given.out}. Try it: python -m engine calibrate --midlayer --model {given.out}")


def say(text: str) -> None:
    print(f"training: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
