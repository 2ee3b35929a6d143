"""The training itself: batches, losses, steps, and checkpoints that it goes on from."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.failures import Failure
from training.data import Example
from training.model import Decoder, is_upper, name_of
from training.options import Options
from training.weights import replace


@dataclass(frozen=True, slots=True)
class Step:
    """`number` of steps that are done. Losses in nats per token: behind the last layer, and behind the one in the
    middle. `agreement`: share of tokens whose likeliest successor is the same behind both."""

    number: int
    last: float
    middle: float
    agreement: float
    seconds: float


class Training:
    """Of `model` on `examples`. The same seed takes the same examples in the same order, also after a stop."""

    def __init__(self, model: Decoder, examples: Sequence[Example], options: Options) -> None:
        assert examples
        self.model, self.examples, self.options = model, examples, options
        self.done = 0
        tied = model.find("output.weight") is None
        for key, parameter in model.weights.items():
            still = options.freeze_upper and is_upper(name_of(key), options.layer, tied)
            parameter.requires_grad_(not still)
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimiser = torch.optim.AdamW(self.trained, lr=options.rate, weight_decay=options.weight_decay)

    def run(self) -> Iterator[Step]:
        """Steps until all are done, each yielded when the weights have changed."""
        for number in range(self.done, self.options.steps):
            started = time.perf_counter()
            for group in self.optimiser.param_groups:
                group["lr"] = self.options.rate * rate_at(number, self.options)
            numbers = self._step(self._batch(number))
            self.done = number + 1
            yield Step(self.done, *numbers, time.perf_counter() - started)

    def _batch(self, number: int) -> list[Example]:
        """Drawn by the seed and the step's number alone."""
        dice = np.random.default_rng((self.options.seed, number))
        batch: list[Example] = []
        for i in dice.permutation(len(self.examples)):
            batch.append(self.examples[i])
            if sum(len(example.tokens) for example in batch) >= self.options.batch_tokens:
                break
        return batch

    def _step(self, batch: Sequence[Example]) -> tuple[float, float, float]:
        learned = sum(len(example.tokens) - example.first for example in batch)
        sums = np.zeros(3)
        self.optimiser.zero_grad(set_to_none=True)
        for example in batch:
            last, middle, agreed = self._losses(example)
            ((last + middle) / learned).backward()
            sums += (last.item(), middle.item(), agreed)
        torch.nn.utils.clip_grad_norm_(self.trained, self.options.clip)
        self.optimiser.step()
        if not np.isfinite(sums).all():
            raise Failure("diverged", f"The loss is no number any more after step {self.done}: try a lower --rate.")
        last_loss, middle_loss, agreement = sums / learned
        return float(last_loss), float(middle_loss), float(agreement)

    def _losses(self, example: Example) -> tuple[Tensor, Tensor, int]:
        """Summed over the tokens to learn: behind the last layer, behind the middle one, and how often both agree."""
        tokens = torch.tensor(example.tokens)
        rows = torch.arange(example.first - 1, len(tokens) - 1)
        middle, last = self.model(tokens, self.options.layer, rows)
        text = tokens[example.first :]
        if self.options.self_distil:
            wanted = functional.softmax(last.detach(), dim=-1)
            second = -(wanted * functional.log_softmax(middle, dim=-1)).sum()
        else:
            second = functional.cross_entropy(middle, text, reduction="sum")
        agreed = int((middle.argmax(-1) == last.argmax(-1)).sum())
        return functional.cross_entropy(last, text, reduction="sum"), second, agreed

    def save(self, path: Path) -> None:
        """A checkpoint, in place of the last one at once. Raises Failure where it cannot be written."""
        state = {
            "options": asdict(self.options),
            "examples": len(self.examples),
            "done": self.done,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        try:
            torch.save(state, name)
            replace(Path(name), path)
        except (OSError, RuntimeError) as error:
            raise Failure("unwritable", f"The checkpoint {path} cannot be written: {error}.") from error
        finally:
            Path(name).unlink(missing_ok=True)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint. Raises Failure where it is of another training, or damaged."""
        try:
            state: dict[str, Any] = torch.load(path, weights_only=True)
            same = (state["options"], state["examples"]) == (asdict(self.options), len(self.examples))
            if same:
                self.model.load_state_dict(state["model"])
                self.optimiser.load_state_dict(state["optimiser"])
                self.done = int(state["done"])
        except Exception as error:  # whatever a damaged file makes of unpickling
            sentence = f"The checkpoint {path} cannot be read. Delete it to begin anew."
            raise Failure("bad_checkpoint", sentence, str(error)) from error
        if not same:
            sentence = f"The checkpoint {path} is of a training with other options or data."
            raise Failure("other_checkpoint", f"{sentence} Delete it to begin anew, or take its options.")


def rate_at(number: int, options: Options) -> float:
    """Share of the learning rate at a step: rising evenly at first, then a half cosine down to nothing."""
    warm = round(options.warm_up * options.steps)
    if number < warm:
        return (number + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (number - warm) / max(1, options.steps - warm)))
