"""What the rows of a batch lose behind the last layer and behind the one in the middle, with a teacher or without.

Logits of all rows would be the largest thing in memory: a few rows at a time go through the head, and their gradients
are worked out at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from training.batches import Batch
from training.memory import ROWS
from training.model import Decoder


class Sums(NamedTuple):
    """Over the rows of a batch: losses in nats; how far the last layer is from the teacher's (Kullback-Leibler, nats);
    of how many rows both layers say the same token; text: of the last layer, by the chats' own words."""

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
    model: Decoder, teacher: Decoder | None, batch: Batch, layer: int, *, weight: float = 1.0, text: bool
) -> tuple[Tensor, Sums]:
    """The last layer's loss and `weight` times the middle one's, summed over the rows, leading back to the weights.

    `text`: both layers learn the chats' words; else the last one what the teacher says, the middle one what the last
    says."""
    middle, last = model.states(batch.tokens, layer, batch.rows)
    before = None
    if teacher is not None:
        with torch.no_grad():
            before = teacher.states(batch.tokens, 0, batch.rows)[1], teacher.head()
    head = model.head()
    if before is not None:
        head = head.to(before[1].dtype)
    sums: list[Sums] = []
    total: Tensor = _Head.apply(middle, last, head, before, batch.wanted, weight, text, torch.is_grad_enabled(), sums)
    return total, sums[0]


class _Head(Function):
    """States behind both layers [rows, embedding] to the loss, a number. Computes in the type of `head`."""

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
        found, gradients = Sums(), (torch.empty_like(middle), torch.empty_like(last), torch.zeros_like(head).float())
        with torch.autocast("cpu", enabled=False):
            for begin in range(0, len(wanted), ROWS):
                part = slice(begin, begin + ROWS)
                states = middle[part].to(head.dtype), last[part].to(head.dtype)
                taught = None if before is None else _said(before[0][part].to(before[1].dtype), before[1])
                said = _said(states[0], head), _said(states[1], head)
                some, targets = _measured(said, taught, wanted[part], text)
                found = found.plus(some)
                if learning:
                    # Of a softmax's logits, by what was said and what was to be said.
                    towards = [_gradient(s, t, head.dtype) for s, t in zip(said, targets, strict=True)]
                    towards[0] *= weight
                    for gradient, toward in zip(gradients, towards, strict=False):
                        gradient[part] = toward @ head
                    gradients[2].add_(torch.cat(towards).T @ torch.cat(states))
        sums.append(found)
        ctx.save_for_backward(*gradients)
        return torch.tensor(found.last + weight * found.middle)

    @staticmethod
    def backward(ctx: Any, *scales: Tensor) -> Any:
        middle, last, head = ctx.saved_tensors
        return middle * scales[0], last * scales[0], head * scales[0], None, None, None, None, None, None


def _said(states: Tensor, head: Tensor) -> Tensor:
    """Logarithms of probabilities, [rows, vocabulary] in float32."""
    return functional.log_softmax((states @ head.T).float(), dim=-1)


def _measured(
    said: tuple[Tensor, Tensor], taught: Tensor | None, wanted: Tensor, text: bool
) -> tuple[Sums, tuple[Tensor, Tensor]]:
    """And what the middle and the last layer were to say: tokens [rows] or probabilities [rows, vocabulary]."""
    middle, last = said
    by_text = functional.nll_loss(last, wanted, reduction="sum")
    probabilities = None if taught is None else taught.exp()
    drift = torch.zeros(()) if taught is None or probabilities is None else (probabilities * (taught - last)).sum()
    if text or probabilities is None:
        targets = wanted, wanted
        lost = functional.nll_loss(middle, wanted, reduction="sum"), by_text
    else:
        targets = last.exp(), probabilities
        lost = -(targets[0] * middle).sum(), -(probabilities * last).sum()
    agreed = int((middle.argmax(-1) == last.argmax(-1)).sum())
    sums = Sums(lost[1].item(), lost[0].item(), drift.item(), agreed, by_text.item(), len(wanted))
    return sums, targets


def _gradient(said: Tensor, target: Tensor, type_: torch.dtype) -> Tensor:
    gradient = said.exp()
    if target.dim() == 1:
        gradient[torch.arange(len(target)), target] -= 1
    else:
        gradient -= target
    return gradient.to(type_)
