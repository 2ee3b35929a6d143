"""Training loop: steps, judgements on held-out chats, and checkpoints from which a training resumes."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import islice, repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from common.failures import CommandFailure
from training.batches import padded_batches, step_examples
from training.data import Example
from training.judgement import Judgement, judge
from training.losses import Sums, losses
from training.model import Decoder, is_head, is_upper, name_of
from training.options import Options
from training.rounding import rounded_weights
from training.teacher_states import TeacherStates
from training.weights import move_into_place

FREE = {"steps", "rate", "judged_every", "middle_weight", "blend"}  # options that may differ when a training resumes


@dataclass(frozen=True, slots=True)
class Step:
    """Result of one step.

    Attributes:
        number: steps done so far.
        last, middle: losses of the last and the middle layer, nats per token.
        drift: Kullback-Leibler divergence of the last layer's probabilities from those before the training, nats per
            token; computed only with self-distillation.
        agreement: share of tokens for which both layers have the same likeliest successor.
        kept: the divergence on chats that are kept instead of learned.

    While the middle layer learns alone, `last` and `drift` are None, and `agreement` is with the last layer before the
    training.
    """

    number: int
    last: float | None
    middle: float
    drift: float | None
    agreement: float
    kept: float | None
    seconds: float


class Training:
    """Training of `model` on `examples`. An equal seed draws equal examples, also after a resume.

    Args:
        teacher: the model before the training, with which those `held_out` are judged.
        kinds: ggml types of the tensors of the file to be written; judgements round the weights to them.
        kept: chats whose predictions are kept: each step also computes about as many of their tokens, for which
            the last layer alone learns the teacher's predictions.
    """

    def __init__(
        self,
        model: Decoder,
        teacher: Decoder,
        examples: Sequence[Example],
        options: Options,
        held_out: Sequence[Example] = (),
        kinds: Mapping[str, int] = MappingProxyType({}),
        kept: Sequence[Example] = (),
        kept_held_out: Sequence[Example] = (),
    ) -> None:
        assert examples
        self.model, self.examples, self.options = model, examples, options
        self.held_out, self.kinds = held_out, kinds
        self.kept, self.kept_held_out = kept, kept_held_out
        self.done = 0
        if options.bf16:
            teacher.shorten()
        self.teacher_states = TeacherStates(teacher)
        tied = model.find("output.weight") is None
        for key, parameter in model.weights.items():
            still = options.freeze_upper and is_upper(name_of(key), options.layer, tied)
            still |= options.freeze_head and is_head(name_of(key), tied)
            parameter.requires_grad_(not still)
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimiser = torch.optim.AdamW(self.trained, lr=options.rate, weight_decay=options.weight_decay, fused=True)

    def run(self) -> Iterator[Step | Judgement]:
        """Run the steps that are left, yielding each one after the weights have changed.

        Judgements are yielded at the beginning, every `judged_every` steps and after the last step.
        """
        yield from self.judged()
        kept = step_examples(self.kept, self.options) if self.kept else repeat(())
        batches = zip(step_examples(self.examples, self.options), kept, strict=False)  # both are endless
        for number, (batch, beside) in enumerate(islice(batches, self.done, None), self.done):
            if number >= self.options.steps:
                break
            yield self._step(number, batch, beside)
            if self.done % self.options.judged_every == 0 or self.done == self.options.steps:
                yield from self.judged()

    def judged(self) -> Iterator[Judgement]:
        """Yield a judgement if chats are held out."""
        if self.held_out:
            with rounded_weights(self.model, self.kinds, self.options.bf16):
                seen = judge(
                    self.model, self.teacher_states, self.held_out, self.kept_held_out, self.options, self.done
                )
            yield seen

    def blend(self, before: Mapping[str, NDArray[np.float32]]) -> None:
        """Move the weights back from the learned ones towards those `before`, which have their names in the file.

        Halfway, if both are near each other, much of what was learned remains and most of what it cost does not
        (Wortsman et al. 2022, Robust fine-tuning of zero-shot models).
        """
        with torch.no_grad():
            for key, parameter in self.model.weights.items():
                start = torch.from_numpy(np.array(before[name_of(key)])).to(parameter.dtype)  # files are mapped: copy
                parameter.copy_(start.lerp(parameter, self.options.blend))

    def _step(self, number: int, batch: Sequence[Example], kept: Sequence[Example]) -> Step:
        started = time.perf_counter()
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate * rate_at(number, self.options)
        last_steps = number >= round(self.options.steps * (1 - self.options.rounded))
        with rounded_weights(self.model, self.kinds, self.options.bf16) if last_steps else nullcontext():
            self.optimiser.zero_grad(set_to_none=True)
            sums, beside = self._gradients(number, batch), self._gradients(number, kept, keep=True)
        if not all(map(math.isfinite, (*sums, *beside))):
            raise CommandFailure(
                "diverged", f"The loss is no number any more after step {self.done}: try a lower --rate."
            )
        torch.nn.utils.clip_grad_norm_(self.trained, self.options.clip)
        self.optimiser.step()
        self.done = number + 1
        above = number >= self.options.middle_first
        drift = sums.drift / sums.rows if self.options.self_distil and above else None
        return Step(
            self.done,
            sums.last / sums.rows if above else None,
            sums.middle / sums.rows,
            drift,
            sums.agreed / sums.rows,
            beside.drift / beside.rows if beside.rows else None,
            time.perf_counter() - started,
        )

    def _gradients(self, number: int, examples: Sequence[Example], keep: bool = False) -> Sums:
        """Add the gradients of the losses per token to the parameters, and return the sums of the losses.

        One autocast surrounds all batches: within it weights are converted to bfloat16 once, not once per batch.
        """
        options, sums = self.options, Sums()
        above = number >= options.middle_first
        if not examples or (keep and not above):  # without the layers above there is nothing to keep
            return sums
        learned = options.rows * sum(len(example.tokens) - example.first for example in examples)
        teacher = self.teacher_states if options.self_distil or keep else None
        dice = np.random.default_rng((options.seed, number))
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            for batch in padded_batches(examples, options.most_tokens):
                loss, batch_sums = losses(
                    self.model,
                    teacher,
                    batch.sample_rows(options.rows, dice),
                    options.layer,
                    weight=0.0 if keep else options.middle_weight,
                    text=teacher is None,
                    above=above,
                )
                with torch.autocast("cpu", enabled=False):
                    (loss / learned).backward()
                sums = sums.plus(batch_sums)
        return sums

    def save(self, path: Path) -> None:
        """Write a checkpoint, replacing the last one atomically. Raises Failure if it cannot be written."""
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
            move_into_place(Path(name), path)
        except (OSError, RuntimeError) as error:
            raise CommandFailure("unwritable", f"The checkpoint {path} cannot be written: {error}.") from error
        finally:
            Path(name).unlink(missing_ok=True)

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint; chats may have been added since.

        Raises Failure if it belongs to another training, or is damaged.
        """
        try:
            state: dict[str, Any] = torch.load(path, weights_only=True)
            same = _fixed(state["options"]) == _fixed(asdict(self.options)) and state["examples"] <= len(self.examples)
            if same:
                self.model.load_state_dict(state["model"])
                self.optimiser.load_state_dict(state["optimiser"])
                self.done = int(state["done"])
        except Exception as error:  # unpickling a damaged file can raise anything
            sentence = f"The checkpoint {path} cannot be read. Delete it to begin anew."
            raise CommandFailure("bad_checkpoint", sentence, str(error)) from error
        if not same:
            sentence = f"The checkpoint {path} is of a training with other options or more chats."
            raise CommandFailure("other_checkpoint", f"{sentence} Delete it to begin anew, or take its options.")


def _fixed(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in FREE}


def rate_at(number: int, options: Options) -> float:
    """Return the share of the learning rate at a step: a linear warm-up, then a half cosine down to 0.

    The steps in which the middle layer learns alone have a schedule of their own; the others begin a new one.
    """
    first = options.middle_first
    number, steps = (number, first) if number < first else (number - first, options.steps - first)
    warm = round(options.warm_up * steps)
    if number < warm:
        return (number + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (number - warm) / max(1, steps - warm)))
