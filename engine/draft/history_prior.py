"""What history lookup believes before anything is learned: how likely each token of a draft is, from its evidence.

A logistic regression, fitted to the tuning half of the recorded answers by `python -m benchmarks.fit_prior`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WEIGHTS = {
    "bias": -1.33,
    "length": 0.5,  # for each doubling of the match's length, with the draft's tokens before
    "disputed": -1.03,  # another occurrence that agreed so far goes on otherwise
    "shared": 1.03,  # another occurrence goes on in the same way
    "near": 0.6,  # where a copy is under way or was left
    "second": -0.56,  # there is a more promising occurrence
    "prompt": 0.47,  # found in what was read, not in the answer itself
    "prompt_length": 0.43,  # copies of what was read are longer than the answer's repetitions of itself
    "hits": 0.69,  # the share of tokens foreseen of late
    "copy": -0.18,  # for each doubling of the copy under way, with the draft's tokens before, if it goes on with it
    "elsewhere": -0.78,  # for each doubling of the copy under way, if it does not
}

HOPELESS = 0.01  # a token that is reached less often is not worth being named


@dataclass(frozen=True, slots=True)
class Grounds:
    """Of one draft. `followed`: it goes on with the copy under way, of `run` tokens so far.

    `shared[i]`, `disputed[i]`: does another occurrence that agrees up to token i agree, disagree?"""

    length: int
    near: bool
    followed: bool
    second: bool
    prompt: bool
    run: int
    hits: float
    shared: Sequence[bool]
    disputed: Sequence[bool]


def features(grounds: Grounds) -> NDArray[np.float64]:
    """Shape [tokens of the draft, WEIGHTS], in their order."""
    places = np.arange(len(grounds.shared))
    length = np.log2(grounds.length + places)
    found = np.empty((len(places), len(WEIGHTS)))
    found[:, 0] = 1
    found[:, 1] = length
    found[:, 2] = grounds.disputed
    found[:, 3] = grounds.shared
    found[:, 4:7] = grounds.near, grounds.second, grounds.prompt
    found[:, 7] = grounds.prompt * length
    found[:, 8] = grounds.hits
    found[:, 9] = np.log2(1 + grounds.run + places) if grounds.followed else 0
    found[:, 10] = 0 if grounds.followed else math.log2(1 + grounds.run)
    return found


def prior(grounds: Grounds) -> tuple[float, ...]:
    """The probability of each token of the draft, given that those before it are right, as far as there is hope.

    What `features` and the weights say, token by token: most drafts are hopeless after a few, and between two passes,
    with nothing in the processor's caches, one call of numpy takes longer than ten tokens do here."""
    followed, run = grounds.followed, grounds.run
    whole = BIAS + NEAR * grounds.near + SECOND * grounds.second + PROMPT * grounds.prompt + HITS * grounds.hits
    if not followed:
        whole += ELSEWHERE * math.log2(1 + run)
    per_doubling = LENGTH + PROMPT_LENGTH * grounds.prompt
    found, reach = [], 1.0
    for place, (shared, disputed) in enumerate(zip(grounds.shared, grounds.disputed, strict=True)):
        odds = whole + per_doubling * math.log2(grounds.length + place) + DISPUTED * disputed + SHARED * shared
        if followed:
            odds += COPY * math.log2(1 + run + place)
        chance = 1 / (1 + math.exp(-odds))
        found.append(chance)
        reach *= chance
        if reach < HOPELESS:
            break
    return tuple(found)


VECTOR = np.array(list(WEIGHTS.values()))
BIAS, LENGTH, DISPUTED, SHARED, NEAR, SECOND, PROMPT, PROMPT_LENGTH, HITS, COPY, ELSEWHERE = WEIGHTS.values()
