"""Estimates how much memory a training takes, before it begins. Imports no PyTorch."""

from __future__ import annotations

import psutil

from common.failures import CommandFailure
from engine.runtime.graph.dimensions import Dimensions
from models.header import Header
from training.options import Options

FLOAT = 4  # bytes of a float32
PROGRAM = 400_000_000  # bytes of PyTorch itself and of short-lived arrays
TRAINED = 4  # float32 numbers per trained weight: itself, its gradient, and AdamW's two averages
SHORT = 0.5  # float32 numbers that take as much memory as a bfloat16
ROWS = 256  # rows whose logits are in memory at once (`training.losses`)
KEPT = 8  # arrays of logits at once: log-probabilities, probabilities and gradients of three models
HEADS = 3  # arrays of the head's size: its gradient after both layers, and one to add
ACTIVATIONS = 16  # numbers that a layer keeps for the backward pass, per token and embedding dimension


def estimate(header: Header, d: Dimensions, options: Options, frozen: int, taught: int = 0) -> int:
    """Return the bytes of a training in which `frozen` weights are not trained.

    Included are the model as it was before, by which the training is judged, and its states for `taught` answer tokens.
    """
    trained = header.parameters - frozen
    feed = int(header.metadata.get(f"{header.architecture}.feed_forward_length", 4 * d.embedding))
    tokens = options.most_tokens
    activations = d.layers * tokens * (ACTIVATIONS * d.embedding + 4 * feed)
    logits = KEPT * ROWS * d.vocabulary + HEADS * d.embedding * d.vocabulary
    teacher = header.parameters + taught * d.embedding
    short = 0.0
    if options.bf16:
        teacher, short = int(teacher * SHORT), 2 * SHORT * trained  # copies of weights and gradients in a step
    working = max(activations + logits + short, header.parameters)
    return PROGRAM + int(FLOAT * (TRAINED * trained + frozen + teacher + working))


def refuse_if_too_large(needed: int) -> None:
    free = psutil.virtual_memory().available
    if needed > free:
        sentence = f"Training takes about {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free."
        raise CommandFailure(
            "out_of_memory", f"{sentence} Close other programs, or try --freeze-upper or a lower --most-tokens."
        )
