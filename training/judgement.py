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
    likeliest successor the middle layer says as the last one does."""

    number: int
    perplexity: float
    drift: float
    agreement: float


def judge(model: Decoder, taught: Taught, held_out: Sequence[Example], options: Options, number: int) -> Judgement:
    sums = Sums()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
        for batch in together(held_out, options.most_tokens):
            sums = sums.plus(losses(model, taught, batch, options.layer, text=True)[1])
    return Judgement(number, math.exp(sums.text / sums.rows), sums.drift / sums.rows, sums.agreed / sums.rows)
