"""How much memory a training takes, about, said before it begins. Knows no PyTorch."""

from __future__ import annotations

import psutil

from common.failures import CommandFailure
from engine.runtime.graph.dimensions import Dimensions
from models.header import Header
from training.options import Options

FLOAT = 4  # bytes
PROGRAM = 400_000_000  # bytes of PyTorch itself, and of what comes and goes
TRAINED = 4  # floats of a weight that is trained: itself, its gradient, and two averages of AdamW
SHORT = 0.5  # floats of a number in bfloat16
ROWS = 256  # of logits that are there at once (`training.losses`)
KEPT = 8  # copies of them: of three models' logarithms, probabilities and gradients
HEADS = 3  # copies of the head: its gradient behind both layers, and one to add
ACTIVATIONS = 16  # numbers that a layer keeps for the way back, per token and number of the hidden state


def estimate(header: Header, d: Dimensions, options: Options, frozen: int, taught: int = 0) -> int:
    """Bytes, `frozen` weights not being trained; the model as it was before, by which it is judged, included, and what
    it said of so many tokens that are `taught`."""
    trained = header.parameters - frozen
    feed = int(header.metadata.get(f"{header.architecture}.feed_forward_length", 4 * d.embedding))
    tokens = options.most_tokens
    activations = d.layers * tokens * (ACTIVATIONS * d.embedding + 4 * feed)
    logits = KEPT * ROWS * d.vocabulary + HEADS * d.embedding * d.vocabulary
    teacher = header.parameters + taught * d.embedding
    short = 0.0
    if options.bf16:
        teacher, short = int(teacher * SHORT), 2 * SHORT * trained  # the weights while a step computes, and gradients
    working = max(activations + logits + short, header.parameters)
    return PROGRAM + int(FLOAT * (TRAINED * trained + frozen + teacher + working))


def refuse_if_too_large(needed: int) -> None:
    free = psutil.virtual_memory().available
    if needed > free:
        sentence = f"Training takes about {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free."
        raise CommandFailure(
            "out_of_memory", f"{sentence} Close other programs, or try --freeze-upper or a lower --most-tokens."
        )
