"""What a training is asked for, checked. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`layer`: the model is left after so many layers. `batch_tokens`: about so many tokens before each change of the
    weights; `most_tokens`: of one chat, what is longer is cut. `self_distil`: the layer learns what the model's last
    layer says, instead of the text. `freeze_upper`: what lies above the layer, the head included, stays as it is."""

    layer: int
    steps: int = 400
    rate: float = 1e-5
    warm_up: float = 0.1
    weight_decay: float = 0.0
    clip: float = 1.0
    batch_tokens: int = 4096
    most_tokens: int = 1024
    seed: int = 0
    self_distil: bool = False
    freeze_upper: bool = False

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


def check(condition: bool, sentence: str) -> None:
    if not condition:
        raise ValueError(sentence)
