"""Options of a training, validated. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a training.

    Attributes:
        layer: number of layers after which the middle layer's predictions are read.
        batch_tokens: about how many tokens are computed before each change of the weights.
        most_tokens: most tokens of one chat, which is cut, and of the chats that are computed together.
        middle_weight: weight of the middle layer's loss; the last layer's is 1.
        self_distil: both layers learn the last layer's predictions before the training, instead of the text.
        freeze_upper: do not train what lies above the layer, the head included.
        freeze_head: do not train the head, its norm and an embedding that it shares.
        middle_first: number of first steps in which only lower layers learn and upper ones are not computed; both
            parts have a learning-rate schedule of their own.
        rows: share of a step's answer tokens that are learned, drawn at random.
        bf16: multiply matrices in bfloat16.
        rounded: last share of the steps, in which weights are rounded as the file will hold them.
        held_out: number of questions that are never learned; every `judged_every` steps they judge the training.
        blend: position of the result between the weights before (0) and those learned (1).
    """

    layer: int
    steps: int = 400
    rate: float = 1e-5
    warm_up: float = 0.1
    weight_decay: float = 0.0
    clip: float = 1.0
    batch_tokens: int = 4096
    most_tokens: int = 1024
    seed: int = 0
    middle_weight: float = 1.0
    self_distil: bool = False
    freeze_upper: bool = False
    freeze_head: bool = False
    middle_first: int = 0
    rows: float = 1.0
    bf16: bool = False
    rounded: float = 0.0
    held_out: int = 32
    judged_every: int = 50
    blend: float = 1.0

    def __post_init__(self) -> None:
        check(self.layer >= 1, f"the layer must be 1 or more, not {self.layer}")
        check(self.steps >= 1, f"a training has 1 step or more, not {self.steps}")
        check(0 < self.rate < 1, f"the learning rate must lie between 0 and 1, not {self.rate:g}")
        check(0 <= self.warm_up < 1, f"the warm-up is a share of the steps below 1, not {self.warm_up:g}")
        check(0 <= self.weight_decay < 1, f"the weight decay must lie between 0 and 1, not {self.weight_decay:g}")
        check(self.clip > 0, f"the largest gradient must be above 0, not {self.clip:g}")
        check(self.batch_tokens >= 1, f"a batch has 1 token or more, not {self.batch_tokens}")
        check(self.most_tokens >= 2, f"a chat has 2 tokens or more, not {self.most_tokens}")
        check(self.seed >= 0, f"the seed must be 0 or more, not {self.seed}")
        check(0 < self.middle_weight <= 100, f"the layer's loss counts up to 100 times, not {self.middle_weight:g}")
        check(
            0 <= self.middle_first <= self.steps, f"of {self.steps} steps {self.middle_first} cannot be the layer's own"
        )
        check(not self.middle_first or self.self_distil, "only with self-distillation the layer can learn first")
        check(0 < self.rows <= 1, f"the share of tokens lies between 0 and 1, not {self.rows:g}")
        check(0 <= self.rounded <= 1, f"the share of rounded steps lies between 0 and 1, not {self.rounded:g}")
        check(self.held_out >= 0, f"0 questions or more are held out, not {self.held_out}")
        check(0 < self.blend <= 1, f"the result lies above 0 and up to 1 of the way, not {self.blend:g}")
        check(self.judged_every >= 1, f"the training is judged every 1 step or more, not {self.judged_every}")


def check(condition: bool, sentence: str) -> None:
    if not condition:
        raise ValueError(sentence)
