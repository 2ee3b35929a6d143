"""Computes the losses of the last and the middle layer, against the text or against a teacher.

Logits of all rows would be the largest array in memory. Therefore the head processes a few rows at a time, and their
gradients are computed at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from training.batches import Batch
from training.memory import ROWS
from training.model import Decoder
from training.teacher_states import TeacherStates


class Sums(NamedTuple):
    """Sums over the rows of a batch.

    Attributes:
        last, middle: losses of both layers, nats.
        drift: Kullback-Leibler divergence of the last layer from the teacher's, nats.
        agreed: number of rows for which both layers have the same likeliest token.
        text: loss of the last layer on the chats' own tokens, nats.
    """

    last: float = 0.0
    middle: float = 0.0
    drift: float = 0.0
    agreed: int = 0
    text: float = 0.0
    rows: int = 0

    def plus(self, other: Sums) -> Sums:
        return Sums(
            self.last + other.last,
            self.middle + other.middle,
            self.drift + other.drift,
            self.agreed + other.agreed,
            self.text + other.text,
            self.rows + other.rows,
        )


def losses(
    model: Decoder,
    teacher: TeacherStates | None,
    batch: Batch,
    layer: int,
    *,
    weight: float = 1.0,
    text: bool,
    above: bool = True,
) -> tuple[Tensor, Sums]:
    """Return the last layer's loss plus `weight` times the middle layer's, summed over the rows, and the sums.

    With `text` both layers learn the chats' tokens, otherwise the predictions of the `teacher`. Without the
    layers `above` the middle layer learns alone, and the teacher's predictions stand for those of the last layer.
    """
    middle, last = model.states(batch.tokens, layer, batch.rows, above=above)
    before = None if teacher is None else (teacher.states(batch), teacher.head)
    head = model.head()
    if before is not None:
        head = head.to(before[1].dtype)
    sums: list[Sums] = []
    total: Tensor = _Head.apply(middle, last, head, before, batch.wanted, weight, text, torch.is_grad_enabled(), sums)
    return total, sums[0]


class _Head(Function):
    """Autograd function from both layers' states [rows, embedding] to the loss; computes in the type of `head`."""

    @staticmethod
    def forward(
        ctx: Any,
        middle: Tensor,
        last: Tensor,
        head: Tensor,
        before: tuple[Tensor, Tensor] | None,
        wanted: Tensor,
        weight: float,
        text: bool,
        learning: bool,
        sums: list[Sums],
    ) -> Tensor:
        total, gradients = Sums(), [torch.empty_like(middle), torch.empty_like(last)]
        of_head = torch.zeros_like(head).float() if ctx.needs_input_grad[2] else None
        learned = 2 if len(last) else 1  # number of layers that learn
        with torch.autocast("cpu", enabled=False):
            for begin in range(0, len(wanted), ROWS):
                part = slice(begin, begin + ROWS)
                states = [layer[part].to(head.dtype) for layer in (middle, last)[:learned]]
                taught = None if before is None else _log_probabilities(before[0][part], before[1])
                predicted = [_log_probabilities(each, head) for each in states]
                some, target = _sums_and_target(predicted, taught, wanted[part], text)
                total = total.plus(some)
                if learning:
                    # Gradients of the logits: a softmax's probabilities minus the target's.
                    towards = [_gradient(each, target, head.dtype) for each in predicted]
                    towards[0] *= weight
                    for gradient, toward in zip(gradients, towards, strict=False):
                        gradient[part] = toward @ head
                    if of_head is not None:
                        of_head.add_(torch.cat(towards).T @ torch.cat(states))
        sums.append(total)
        ctx.save_for_backward(*gradients, of_head)
        return torch.tensor(total.last + weight * total.middle)

    @staticmethod
    def backward(ctx: Any, *scales: Tensor) -> Any:
        gradients = [None if each is None else each * scales[0] for each in ctx.saved_tensors]
        return *gradients, None, None, None, None, None, None


def _log_probabilities(states: Tensor, head: Tensor) -> Tensor:
    """Return log-probabilities, [rows, vocabulary] in float32."""
    return functional.log_softmax((states @ head.T).float(), dim=-1)


def _sums_and_target(
    predicted: Sequence[Tensor], taught: Tensor | None, wanted: Tensor, text: bool
) -> tuple[Sums, Tensor]:
    """Return the sums and the target: tokens [rows], or probabilities [rows, vocabulary].

    `predicted` holds the log-probabilities of middle and last layer, or only of the middle one: then `taught`, the
    teacher's, takes the place of the last layer's.
    """
    middle, last = (*predicted, *(() if taught is None else (taught,)))[:2]
    by_text = functional.nll_loss(last, wanted, reduction="sum")
    probabilities = None if taught is None else taught.exp()
    drift = torch.zeros(()) if taught is None or probabilities is None else (probabilities * (taught - last)).sum()
    if text or probabilities is None:
        target, loss = wanted, (functional.nll_loss(middle, wanted, reduction="sum"), by_text)
    else:
        target, loss = probabilities, (-(probabilities * middle).sum(), -(probabilities * last).sum())
    agreed = int((middle.argmax(-1) == last.argmax(-1)).sum())
    sums = Sums(loss[1].item(), loss[0].item(), drift.item(), agreed, by_text.item(), len(wanted))
    return sums, target


def _gradient(predicted: Tensor, target: Tensor, type_: torch.dtype) -> Tensor:
    gradient = predicted.exp()
    if target.dim() == 1:
        gradient[torch.arange(len(target)), target] -= 1
    else:
        gradient -= target
    return gradient.to(type_)
