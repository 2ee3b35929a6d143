"""Heads that draft, after Hydra (Ankner et al. 2024): from the model's last state and the tokens chosen since."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.recorded_states import Recorded

HEADS = 2
INNER = 2048  # width of a head's inside
BATCH = 256  # tokens of a step
RATE = 1e-3
WARM_UP = 50  # steps
SHOWN_EVERY = 50  # steps
JUDGED_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class Positions:
    """Answers laid end to end: `states` [rows, width], `tokens` [rows], and the rows from which drafts begin."""

    states: Tensor
    tokens: Tensor
    starts: Tensor


class Heads(nn.Module):
    """The k-th head turns a state and the embeddings of the k tokens behind it into the state k tokens later.

    The model's own output head, of the rows `ids` alone, makes logits of that. Neither it nor the embedding is trained.
    """

    def __init__(self, embedding: NDArray[np.float32], output: NDArray[np.float32], ids: Sequence[int]) -> None:
        super().__init__()
        self._embedding, self._output = torch.from_numpy(embedding), torch.from_numpy(output)
        self._ids = torch.tensor(ids)
        self._embedding_scale = 1 / self._embedding.std()
        self._state_scale = 1.0
        width = embedding.shape[1]
        self.layers = nn.ModuleList(Head(width, k) for k in range(1, HEADS + 1))

    def loss(self, learned: Positions, rows: Tensor) -> Tensor:
        """Return the heads' cross-entropy with what the model says itself, in nats, summed over the heads."""
        if self._state_scale == 1.0:
            self._state_scale = float(1 / learned.states[learned.starts[:2000]].float().std())
        losses = []
        for k, state in enumerate(self._states(learned, rows)):
            with torch.no_grad():
                wanted = functional.softmax(learned.states[rows + k + 1].float() @ self._output.T, -1)
            said = functional.log_softmax(state @ self._output.T, -1)
            losses.append(-(wanted * said).sum(-1).mean())
        return torch.stack(losses).sum()

    def right(self, judging: Positions) -> Tensor:
        """Return for each start and each head 1 if its likeliest token is the answer's, else 0: [starts, HEADS]."""
        found = []
        with torch.no_grad():
            for rows in judging.starts.split(JUDGED_AT_ONCE):
                states = self._states(judging, rows)
                drafted = [self._ids[(state @ self._output.T).argmax(-1)] for state in states]
                found.append(torch.stack([token == judging.tokens[rows + k + 2] for k, token in enumerate(drafted)], 1))
        return torch.cat(found).float()

    def _states(self, given: Positions, rows: Tensor) -> list[Tensor]:
        """Return each head's state for drafts that begin at `rows`, with the answer's tokens in between."""
        state = given.states[rows].float() * self._state_scale
        tokens = [self._embedding[given.tokens[rows + 1 + k]] * self._embedding_scale for k in range(HEADS)]
        return [head(state, tokens[: k + 1]) / self._state_scale for k, head in enumerate(self.layers)]


class Head(nn.Module):
    """Two layers with SiLU and a residual one behind the first; in the beginning it returns the state unchanged."""

    def __init__(self, width: int, tokens: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width * (tokens + 1), INNER)
        self.middle = nn.Linear(INNER, INNER)
        self.out = nn.Linear(INNER, width)
        nn.init.zeros_(self.out.weight)

    def forward(self, state: Tensor, tokens: Sequence[Tensor]) -> Tensor:
        inside = functional.silu(self.inner(torch.cat([state, *tokens], -1)))
        changed: Tensor = self.out(inside + functional.silu(self.middle(inside)))
        return state + changed


def positions(answers: Sequence[Recorded]) -> Positions:
    """Lay answers end to end; drafts begin where as many tokens as there are heads, and the next one, follow."""
    states: list[NDArray[np.float16]] = []
    tokens: list[int] = []
    starts: list[int] = []
    for answer in answers:
        row = len(tokens)
        starts += range(row + answer.first - 1, row + len(answer.tokens) - 1 - HEADS)
        tokens += answer.tokens
        states.append(np.array([*answer.states, np.zeros_like(answer.states[0])]))
    return Positions(torch.from_numpy(np.concatenate(states)), torch.tensor(tokens), torch.tensor(starts))


def training(heads: Heads, learned: Positions, epochs: float) -> Iterator[str]:
    """Train the heads; yield a line now and then.

    Loss: cross-entropy between what a head says and what the model's own head says one or two tokens later, whose
    states are recorded as well.
    """
    steps = math.ceil(len(learned.starts) * epochs / BATCH)
    optimiser = torch.optim.AdamW(heads.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.05)
    began, order = time.monotonic(), torch.randperm(len(learned.starts))
    for step in range(steps):
        at = step * BATCH % len(order)
        if at < BATCH:
            order = torch.randperm(len(order))
        rows = learned.starts[order[at : at + BATCH]]
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
        loss = heads.loss(learned, rows)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(heads.parameters(), 1.0)
        optimiser.step()
        if step % SHOWN_EVERY == 0 or step == steps - 1:
            speed = (step + 1) * BATCH / (time.monotonic() - began)
            yield f"step {step + 1} of {steps}: loss {loss.item():.3f}, {speed:.0f} tokens/s"


def judge(heads: Heads, judging: Positions) -> tuple[list[float], list[float]]:
    """Return how often each head is right behind the answer's own tokens, and the tokens that a pass gives.

    The latter is the average with drafts of one, two, … tokens, counted up to the first wrong one.
    """
    right = heads.right(judging)
    accepted = right.cumprod(1).mean(0)
    return right.mean(0).tolist(), (1 + accepted.cumsum(0)).tolist()
