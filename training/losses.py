"""What the rows of a batch lose behind the last layer and behind the one in the middle, with a teacher or without.

Logits of all rows would be the largest thing in memory: a few rows at a time go through the head, and their gradients
are worked out at once."""

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
from training.taught import Taught


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
    model: Decoder,
    taught: Taught | None,
    batch: Batch,
    layer: int,
    *,
    weight: float = 1.0,
    text: bool,
    above: bool = True,
) -> tuple[Tensor, Sums]:
    """The last layer's loss and `weight` times the middle one's, summed over the rows, leading back to the weights.

    `text`: both layers learn the chats' words; else what the model is `taught`. Without the layers `above` the middle
    one learns alone, and what the last says is what it was taught."""
    middle, last = model.states(batch.tokens, layer, batch.rows, above=above)
    before = None if taught is None else (taught.states(batch), taught.head)
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
        found, gradients = Sums(), [torch.empty_like(middle), torch.empty_like(last)]
        of_head = torch.zeros_like(head).float() if ctx.needs_input_grad[2] else None
        learned = 2 if len(last) else 1  # of the two layers
        with torch.autocast("cpu", enabled=False):
            for begin in range(0, len(wanted), ROWS):
                part = slice(begin, begin + ROWS)
                states = [layer[part].to(head.dtype) for layer in (middle, last)[:learned]]
                taught = None if before is None else _said(before[0][part], before[1])
                said = [_said(each, head) for each in states]
                some, target = _measured(said, taught, wanted[part], text)
                found = found.plus(some)
                if learning:
                    # Of a softmax's logits, by what was said and what was to be said.
                    towards = [_gradient(each, target, head.dtype) for each in said]
                    towards[0] *= weight
                    for gradient, toward in zip(gradients, towards, strict=False):
                        gradient[part] = toward @ head
                    if of_head is not None:
                        of_head.add_(torch.cat(towards).T @ torch.cat(states))
        sums.append(found)
        ctx.save_for_backward(*gradients, of_head)
        return torch.tensor(found.last + weight * found.middle)

    @staticmethod
    def backward(ctx: Any, *scales: Tensor) -> Any:
        found = [None if each is None else each * scales[0] for each in ctx.saved_tensors]
        return *found, None, None, None, None, None, None


def _said(states: Tensor, head: Tensor) -> Tensor:
    """Logarithms of probabilities, [rows, vocabulary] in float32."""
    return functional.log_softmax((states @ head.T).float(), dim=-1)


def _measured(said: Sequence[Tensor], taught: Tensor | None, wanted: Tensor, text: bool) -> tuple[Sums, Tensor]:
    """And what was to be said: tokens [rows] or probabilities [rows, vocabulary]. `said` by the middle layer and the
    last, which says what it was taught where it is left out."""
    middle, last = (*said, *(() if taught is None else (taught,)))[:2]
    by_text = functional.nll_loss(last, wanted, reduction="sum")
    probabilities = None if taught is None else taught.exp()
    drift = torch.zeros(()) if taught is None or probabilities is None else (probabilities * (taught - last)).sum()
    if text or probabilities is None:
        target, lost = wanted, (functional.nll_loss(middle, wanted, reduction="sum"), by_text)
    else:
        target, lost = probabilities, (-(probabilities * middle).sum(), -(probabilities * last).sum())
    agreed = int((middle.argmax(-1) == last.argmax(-1)).sum())
    sums = Sums(lost[1].item(), lost[0].item(), drift.item(), agreed, by_text.item(), len(wanted))
    return sums, target


def _gradient(said: Tensor, target: Tensor, type_: torch.dtype) -> Tensor:
    gradient = said.exp()
    if target.dim() == 1:
        gradient[torch.arange(len(target)), target] -= 1
    else:
        gradient -= target
    return gradient.to(type_)
