"""Caches what the model before the training computes for each chat: the states that go into its head."""

from __future__ import annotations

import torch
from torch import Tensor

from training.batches import Batch, batch_of
from training.data import Example
from training.model import Decoder


class TeacherStates:
    """States of `teacher`, whose weights stay unchanged."""

    def __init__(self, teacher: Decoder) -> None:
        teacher.requires_grad_(False)
        self._teacher = teacher
        self._states: dict[Example, Tensor] = {}

    @property
    def head(self) -> Tensor:
        return self._teacher.head()

    def states(self, batch: Batch) -> Tensor:
        """Return the states after the last layer and its norm for the batch's rows.

        They are [rows, embedding], in the type of the head.
        """
        if any(example not in self._states for example in batch.examples):
            self._add(batch)
        return torch.cat([self._states[example] for example in batch.examples])[batch.chosen]

    def _add(self, batch: Batch) -> None:
        whole = batch_of(batch.examples)
        with torch.no_grad():
            all_states = self._teacher.states(whole.tokens, 0, whole.rows)[1].to(self.head.dtype)
        counts = [len(example.tokens) - example.first for example in batch.examples]
        for example, states in zip(batch.examples, all_states.split(counts), strict=True):
            self._states[example] = states.clone()
