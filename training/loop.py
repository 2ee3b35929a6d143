"""The training itself: steps, what they did to chats that are not learned, and checkpoints that it goes on from."""

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
from training.batches import plan, together
from training.data import Example
from training.judgement import Judgement, judge
from training.losses import Sums, losses
from training.model import Decoder, is_head, is_upper, name_of
from training.options import Options
from training.rounding import rounded
from training.taught import Taught
from training.weights import replace

FREE = {"steps", "rate", "judged_every", "middle_weight", "blend"}  # options that a training may go on with others of


@dataclass(frozen=True, slots=True)
class Step:
    """`number` of steps that are done. Losses in nats per token: behind the last layer, and behind the one in the
    middle. `drift`: Kullback-Leibler divergence of the last layer's probabilities from those of the model before the
    training, nats per token; only self-distillation computes them. `agreement`: share of tokens whose likeliest
    successor is the same behind both layers. In steps in which the layer learns alone there is no last layer: it is
    what it said before. `kept`: the divergence on chats that are not learned but kept."""

    number: int
    last: float | None
    middle: float
    drift: float | None
    agreement: float
    kept: float | None
    seconds: float


class Training:
    """Of `model` on `examples`; `teacher` is the model as it was, by which those `held_out` are judged. The same seed
    takes the same examples in the same order, also after a stop. `kept`: each step computes as many tokens of these,
    and the last layer alone learns to say of them what the teacher says. `kinds`: ggml types of the tensors of the file
    that will hold the weights; judged is what it will say."""

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
        self.taught = Taught(teacher)
        tied = model.find("output.weight") is None
        for key, parameter in model.weights.items():
            still = options.freeze_upper and is_upper(name_of(key), options.layer, tied)
            still |= options.freeze_head and is_head(name_of(key), tied)
            parameter.requires_grad_(not still)
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimiser = torch.optim.AdamW(self.trained, lr=options.rate, weight_decay=options.weight_decay, fused=True)

    def run(self) -> Iterator[Step | Judgement]:
        """Steps until all are done, each yielded when the weights have changed; judgements at the beginning,
        every so many and after the last."""
        yield from self.judged()
        kept = plan(self.kept, self.options) if self.kept else repeat(())
        batches = zip(plan(self.examples, self.options), kept, strict=False)  # both without end
        for number, (batch, beside) in enumerate(islice(batches, self.done, None), self.done):
            if number >= self.options.steps:
                break
            yield self._step(number, batch, beside)
            if self.done % self.options.judged_every == 0 or self.done == self.options.steps:
                yield from self.judged()

    def judged(self) -> Iterator[Judgement]:
        """None where nothing is held out."""
        if self.held_out:
            with rounded(self.model, self.kinds, self.options.bf16):
                seen = judge(self.model, self.taught, self.held_out, self.kept_held_out, self.options, self.done)
            yield seen

    def blend(self, before: Mapping[str, NDArray[np.float32]]) -> None:
        """Go back from the learned weights towards those `before`, by their names in the file.

        Halfway, if both are near each other, much of what was learned is still there and most of what it cost is not
        (Wortsman et al. 2022, Robust fine-tuning of zero-shot models)."""
        with torch.no_grad():
            for key, parameter in self.model.weights.items():
                start = torch.from_numpy(np.array(before[name_of(key)])).to(parameter.dtype)  # a copy: files are mapped
                parameter.copy_(start.lerp(parameter, self.options.blend))

    def _step(self, number: int, batch: Sequence[Example], kept: Sequence[Example]) -> Step:
        started = time.perf_counter()
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate * rate_at(number, self.options)
        last_steps = number >= round(self.options.steps * (1 - self.options.rounded))
        with rounded(self.model, self.kinds, self.options.bf16) if last_steps else nullcontext():
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
        """Of the losses per token, added to those that are there. One autocast around them all: within it weights
        become bfloat16 once, not once for every batch."""
        options, sums = self.options, Sums()
        above = number >= options.middle_first
        if not examples or (keep and not above):  # without the layers above there is nothing to keep
            return sums
        learned = options.rows * sum(len(example.tokens) - example.first for example in examples)
        taught = self.taught if options.self_distil or keep else None
        dice = np.random.default_rng((options.seed, number))
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            for batch in together(examples, options.most_tokens):
                loss, found = losses(
                    self.model,
                    taught,
                    batch.some(options.rows, dice),
                    options.layer,
                    weight=0.0 if keep else options.middle_weight,
                    text=taught is None,
                    above=above,
                )
                with torch.autocast("cpu", enabled=False):
                    (loss / learned).backward()
                sums = sums.plus(found)
        return sums

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
            raise CommandFailure("unwritable", f"The checkpoint {path} cannot be written: {error}.") from error
        finally:
            Path(name).unlink(missing_ok=True)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint; chats may have been added since.

        Raises Failure where it is of another training, or damaged."""
        try:
            state: dict[str, Any] = torch.load(path, weights_only=True)
            same = _fixed(state["options"]) == _fixed(asdict(self.options)) and state["examples"] <= len(self.examples)
            if same:
                self.model.load_state_dict(state["model"])
                self.optimiser.load_state_dict(state["optimiser"])
                self.done = int(state["done"])
        except Exception as error:  # whatever a damaged file makes of unpickling
            sentence = f"The checkpoint {path} cannot be read. Delete it to begin anew."
            raise CommandFailure("bad_checkpoint", sentence, str(error)) from error
        if not same:
            sentence = f"The checkpoint {path} is of a training with other options or more chats."
            raise CommandFailure("other_checkpoint", f"{sentence} Delete it to begin anew, or take its options.")


def _fixed(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in FREE}


def rate_at(number: int, options: Options) -> float:
    """Share of the learning rate at a step: rising evenly at first, then a half cosine down to nothing; in the layer's
    own steps, and anew in the others."""
    first = options.middle_first
    number, steps = (number, first) if number < first else (number - first, options.steps - first)
    warm = round(options.warm_up * steps)
    if number < warm:
        return (number + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (number - warm) / max(1, steps - warm)))
