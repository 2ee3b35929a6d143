"""Builds a tiny model, examples and trainings for the tests of training. Importing it needs PyTorch."""

from __future__ import annotations

from typing import Any

from engine.runtime.graph.dimensions import dimensions_of
from models.header import read_header
from training.data import Example
from training.loop import Training
from training.model import Decoder
from training.options import Options
from training.weights import read_weights

OPTIONS = Options(2, steps=6, rate=1e-3, batch_tokens=100)
EXAMPLES = [Example(tuple((3 * i + 7 * j) % 40 for j in range(30)), 5) for i in range(8)]


def tiny_decoder(path) -> Decoder:
    return Decoder(dimensions_of(read_header(path)), read_weights(path))


def tiny_training(path, options: Options, **more: Any) -> Training:
    """Build a training of the tiny model at `path` on EXAMPLES."""
    return Training(tiny_decoder(path), tiny_decoder(path), EXAMPLES, options, **more)
