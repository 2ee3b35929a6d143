"""What a training did so far, by chats that it never learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from training.batches import together
from training.data import Example
from training.losses import Sums, losses
from training.model import Decoder
from training.options import Options
from training.taught import Taught


@dataclass(frozen=True, slots=True)
class Judgement:
    """After `number` steps: perplexity of the last layer on the answers; `drift`: Kullback-Leibler divergence of its
    probabilities from those of the model before the training, nats per token; `agreement`: share of tokens whose
    likeliest successor the middle layer says as the last one does. While the layer learns alone it is judged by what
    the last one said before, and nothing is said of what that says now: None. `kept`: `drift` on chats that are not
    learned but kept."""

    number: int
    perplexity: float | None
    drift: float | None
    agreement: float
    kept: float | None


def judge(
    model: Decoder,
    taught: Taught,
    held_out: Sequence[Example],
    kept: Sequence[Example],
    options: Options,
    number: int,
) -> Judgement:
    above = number == 0 or number > options.middle_first
    sums = _sums(model, taught, held_out, options, above)
    agreement = sums.agreed / sums.rows
    if not above:
        return Judgement(number, None, None, agreement, None)
    others = _sums(model, taught, kept, options, above) if kept else None
    drift = others.drift / others.rows if others else None
    return Judgement(number, math.exp(sums.text / sums.rows), sums.drift / sums.rows, agreement, drift)


def _sums(model: Decoder, taught: Taught, examples: Sequence[Example], options: Options, above: bool) -> Sums:
    sums = Sums()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
        for batch in together(examples, options.most_tokens):
            sums = sums.plus(losses(model, taught, batch, options.layer, text=True, above=above)[1])
    return sums
