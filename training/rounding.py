"""Rounds weights as the quantised file will hold them while the full ones learn, so that the loss includes rounding.

Gradients pass the rounding unchanged (straight-through estimator, Bengio et al. 2013, arXiv 1308.3432). Supported are
types with blocks of 32 weights, rounded as llama.cpp's plain quantiser does (ggml-quants.c); weights of K-quants are
not rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gguf
import torch
from torch import Tensor
from torch.autograd import Function

from training.model import Decoder, name_of

BLOCK = 32


def _steps(count: int) -> Callable[[Tensor], Tensor]:
    """Return the rounding to `count` even steps between a block's lowest and highest weight: Q4_1 and Q5_1."""

    def round_(x: Tensor) -> Tensor:
        low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        step = (high - low) / count
        return (((x - low) * _inverse(step)).add_(0.5).floor_().clamp_(0, count)).mul_(_half(step)).add_(_half(low))

    return round_


def _signed(half: int) -> Callable[[Tensor], Tensor]:
    """Return the rounding in which the weight furthest from zero, of either sign, is -`half` steps: Q4_0 and Q5_0."""

    def round_(x: Tensor) -> Tensor:
        step = x.gather(-1, x.abs().argmax(-1, keepdim=True)) / -half
        return (x * _inverse(step)).add_(half + 0.5).floor_().clamp_(0, 2 * half - 1).sub_(half).mul_(_half(step))

    return round_


def _q8_0(x: Tensor) -> Tensor:
    step = x.abs().amax(-1, keepdim=True) / 127
    y = x * _inverse(step)
    return torch.copysign(y.abs().add_(0.5).floor_(), y).mul_(_half(step))


def _inverse(step: Tensor) -> Tensor:
    return torch.where(step == 0, 0.0, 1 / step)


def _half(x: Tensor) -> Tensor:
    return x.half().float()


KINDS: dict[int, Callable[[Tensor], Tensor]] = {
    gguf.GGMLQuantizationType.Q4_0: _signed(8),
    gguf.GGMLQuantizationType.Q4_1: _steps(15),
    gguf.GGMLQuantizationType.Q5_0: _signed(16),
    gguf.GGMLQuantizationType.Q5_1: _steps(31),
    gguf.GGMLQuantizationType.Q8_0: _q8_0,
}


def round_as_stored(weights: Tensor, kind: int) -> Tensor:
    """Return the weights rounded as a file of this ggml type holds them, in the same shape.

    Types that KINDS does not list are not rounded.
    """
    known = KINDS.get(kind)
    return weights if known is None else known(weights.view(-1, BLOCK)).view_as(weights)


class _Rounded(Function):
    @staticmethod
    def forward(_ctx: Any, weights: Tensor, kind: int, type: torch.dtype) -> Tensor:
        return round_as_stored(weights, kind).to(type)

    @staticmethod
    def backward(_ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient.float(), None, None


@contextmanager
def rounded_weights(model: Decoder, kinds: Mapping[str, int], bf16: bool) -> Iterator[None]:
    """Let the model compute with rounded weights within the block; `kinds` are ggml types by tensor name."""
    type_ = torch.bfloat16 if bf16 else torch.float32
    model.replacements = {
        key: _Rounded.apply(weights, kinds[name_of(key)], type_)
        for key, weights in model.weights.items()
        if kinds.get(name_of(key)) in KINDS
    }
    try:
        yield
    finally:
        model.replacements = {}
