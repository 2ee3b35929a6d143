"""What history lookup believes before anything is learned: how likely each token of a draft is, from its evidence.

A logistic regression, fitted to the tuning half of the recorded answers by `python -m benchmarks.fit_prior`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WEIGHTS = {
    "bias": -0.41,
    "length": 0.06,  # for each doubling of the match's length, with the draft's tokens before
    "single": -1.01,  # the match is a single token
    "disputed": 0.16,  # another occurrence that agreed so far goes on otherwise
    "rival": -0.79,  # for each doubling of that one's match
    "shared": 0.66,  # another occurrence goes on in the same way
    "near": 0.51,  # where a copy is under way or was left
    "second": -0.53,  # there is a more promising occurrence
    "prompt": 0.55,  # found in what was read, not in the answer itself
    "prompt_length": 0.6,  # copies of what was read are longer than the answer's repetitions of itself
    "hits": 0.2,  # the share of tokens foreseen of late
    "copy": -0.02,  # for each doubling of the copy under way, with the draft's tokens before, if it goes on with it
    "elsewhere": -0.36,  # for each doubling of the copy under way, if it does not
    "record": 1.11,  # what became of this token in this answer when it was foreseen (`engine.speculative.foreseen`)
    "asked": -0.57,  # found in the last tokens of the prompt, and so perhaps in what is to be changed
}

HOPELESS = 0.01  # a token that is reached less often is not worth being named


@dataclass(frozen=True, slots=True)
class Grounds:
    """Of one draft, until the next token comes. `followed`: it goes on with the copy under way, of `run` tokens so far.

    `shared`: how many tokens another occurrence agrees with; `rivals`: from which tokens on others disagree, and the
    longest match of those; `records`: of tokens that were foreseen; `asked`: tokens of what is to be done."""

    tokens: Sequence[int]
    length: int
    near: bool
    followed: bool
    second: bool
    prompt: bool
    run: int
    hits: float
    shared: int
    rivals: Mapping[int, int]
    records: Mapping[int, float]
    asked: Collection[int]


def features(grounds: Grounds) -> NDArray[np.float64]:
    """Shape [tokens of the draft, WEIGHTS], in their order."""
    places = np.arange(len(grounds.tokens))
    length = np.log2(grounds.length + places)
    found = np.empty((len(places), len(WEIGHTS)))
    found[:, 0] = 1
    found[:, 1] = length
    found[:, 2] = grounds.length + places == 1
    found[:, 3] = [place in grounds.rivals for place in places]
    found[:, 4] = [math.log2(1 + grounds.rivals.get(place, 0)) for place in range(len(places))]
    found[:, 5] = places < grounds.shared
    found[:, 6:9] = grounds.near, grounds.second, grounds.prompt
    found[:, 9] = grounds.prompt * length
    found[:, 10] = grounds.hits
    found[:, 11] = np.log2(1 + grounds.run + places) if grounds.followed else 0
    found[:, 12] = 0 if grounds.followed else math.log2(1 + grounds.run)
    found[:, 13] = [grounds.records.get(token, 0) for token in grounds.tokens]
    found[:, 14] = [token in grounds.asked for token in grounds.tokens]
    return found


def prior(grounds: Grounds) -> tuple[float, ...]:
    """The probability of each token of the draft, given that those before it are right, as far as there is hope.

    What `features` and the weights say, token by token: most drafts are hopeless after a few, and between two passes,
    with nothing in the processor's caches, one call of numpy takes longer than ten tokens do here."""
    followed, run, prompt = grounds.followed, grounds.run, grounds.prompt
    whole = BIAS + NEAR * grounds.near + SECOND * grounds.second + PROMPT * prompt + HITS * grounds.hits
    if not followed:
        whole += ELSEWHERE * math.log2(1 + run)
    per_doubling = LENGTH + PROMPT_LENGTH * prompt
    found, reach = [], 1.0
    for place, token in enumerate(grounds.tokens):
        odds = whole + per_doubling * math.log2(grounds.length + place) + RECORD * grounds.records.get(token, 0)
        odds += SINGLE * (grounds.length + place == 1) + SHARED * (place < grounds.shared)
        if place in grounds.rivals:
            odds += DISPUTED + RIVAL * math.log2(1 + grounds.rivals[place])
        if token in grounds.asked:
            odds += ASKED
        if followed:
            odds += COPY * math.log2(1 + run + place)
        chance = 1 / (1 + math.exp(-odds))
        found.append(chance)
        reach *= chance
        if reach < HOPELESS:
            break
    return tuple(found)


VECTOR = np.array(list(WEIGHTS.values()))
BIAS, LENGTH, SINGLE, DISPUTED, RIVAL, SHARED, NEAR, SECOND, PROMPT, PROMPT_LENGTH, HITS, *_LAST = WEIGHTS.values()
COPY, ELSEWHERE, RECORD, ASKED = _LAST
