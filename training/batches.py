"""Chooses the examples of each step, and pads them into batches for one forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from training.data import Example
from training.options import Options


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples side by side, for one forward pass.

    Attributes:
        tokens: [chats, longest]; shorter chats are padded at their end, which causal attention never sees.
        rows: [n] indices into all chats laid end to end, of the tokens whose successors are learned.
        wanted: [n] these successors.
        chosen: [n] index of each row among all answer tokens of the batch.
    """

    examples: Sequence[Example]
    tokens: Tensor
    rows: Tensor
    wanted: Tensor
    chosen: Tensor

    def sample_rows(self, share: float, dice: np.random.Generator) -> Batch:
        """Return the batch with a random `share` of its rows."""
        if share == 1:
            return self
        count = max(1, round(share * len(self.rows)))
        chosen = torch.from_numpy(np.sort(dice.permutation(len(self.rows))[:count]))
        return replace(self, rows=self.rows[chosen], wanted=self.wanted[chosen], chosen=self.chosen[chosen])


def batch_of(examples: Sequence[Example]) -> Batch:
    longest = max(len(example.tokens) for example in examples)
    tokens = torch.zeros((len(examples), longest), dtype=torch.long)
    rows: list[int] = []
    wanted: list[int] = []
    for i, example in enumerate(examples):
        tokens[i, : len(example.tokens)] = torch.tensor(example.tokens)
        rows += range(i * longest + example.first - 1, i * longest + len(example.tokens) - 1)
        wanted += example.tokens[example.first :]
    return Batch(examples, tokens, torch.tensor(rows), torch.tensor(wanted), torch.arange(len(rows)))


def padded_batches(examples: Sequence[Example], most: int) -> Iterator[Batch]:
    """Yield batches of at most `most` tokens, padding included; a longer example is a batch of its own.

    Examples of similar length go together.
    """
    chosen: list[Example] = []
    for example in sorted(examples, key=lambda each: len(each.tokens)):
        if chosen and (len(chosen) + 1) * len(example.tokens) > most:
            yield batch_of(chosen)
            chosen = []
        chosen.append(example)
    yield batch_of(chosen)


def step_examples(examples: Sequence[Example], options: Options) -> Iterator[list[Example]]:
    """Yield the examples of each step without end: all in an order drawn by the seed, then all in another order."""
    dice = np.random.default_rng(options.seed)
    chosen: list[Example] = []
    while True:
        for i in dice.permutation(len(examples)):
            chosen.append(examples[i])
            if sum(len(example.tokens) for example in chosen) >= options.batch_tokens:
                yield chosen
                chosen = []
