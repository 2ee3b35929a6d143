"""Judges a training by chats that it never learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from training.batches import padded_batches
from training.data import Example
from training.losses import Sums, losses
from training.model import Decoder
from training.options import Options
from training.teacher_states import TeacherStates


@dataclass(frozen=True, slots=True)
class Judgement:
    """Quality of the model after `number` steps.

    Attributes:
        perplexity: of the last layer on the held-out answers.
        drift: Kullback-Leibler divergence of the last layer from the model before the training, nats per token.
        agreement: share of tokens for which middle and last layer have the same likeliest successor.
        kept: `drift` on chats that are kept instead of learned.

    While the middle layer learns alone, it is compared with the last layer before the training, and the other values
    are None.
    """

    number: int
    perplexity: float | None
    drift: float | None
    agreement: float
    kept: float | None


def judge(
    model: Decoder,
    teacher_states: TeacherStates,
    held_out: Sequence[Example],
    kept: Sequence[Example],
    options: Options,
    number: int,
) -> Judgement:
    above = number == 0 or number > options.middle_first
    sums = _sums(model, teacher_states, held_out, options, above)
    agreement = sums.agreed / sums.rows
    if not above:
        return Judgement(number, None, None, agreement, None)
    others = _sums(model, teacher_states, kept, options, above) if kept else None
    drift = others.drift / others.rows if others else None
    return Judgement(number, math.exp(sums.text / sums.rows), sums.drift / sums.rows, agreement, drift)


def _sums(
    model: Decoder, teacher_states: TeacherStates, examples: Sequence[Example], options: Options, above: bool
) -> Sums:
    sums = Sums()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
        for batch in padded_batches(examples, options.most_tokens):
            sums = sums.plus(losses(model, teacher_states, batch, options.layer, text=True, above=above)[1])
    return sums
