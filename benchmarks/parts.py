"""Parts of drafting that can be taken out, to see what each is worth on recorded answers (`benchmarks.replay`).

Taken out means: replaced by the simplest thing that could stand in its place. The engine knows nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from engine.costs.cost_model import Drift
from engine.speculative import acceptance, policy, prompt_lookup, prompt_lookup_prior
from engine.speculative.acceptance import Acceptance
from engine.speculative.ngram import UNKNOWN, StaticNgram
from engine.speculative.policy import Budget
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.prompt_lookup_prior import Grounds

USUALLY = 0.6  # of the tokens that prompt lookup drafts are right, evidence aside

Change = tuple[object, str, Any]


@contextmanager
def without(part: str) -> Iterator[None]:
    """The engine without one of PARTS."""
    with ExitStack() as stack:
        for where, name, value in PARTS[part]:
            stack.enter_context(patch.object(where, name, value))
        yield


def _flat(grounds: Grounds) -> tuple[float, ...]:
    return (USUALLY,) * len(grounds.tokens)


def _believed(_self: Acceptance, draft: Any, _weight: float = 0.0) -> list[float]:
    return list(draft.confidence)


def _no_savings(reach: Sequence[float], _total: Sequence[float], _extra: object) -> list[float]:
    return [0.0] * (len(reach) + 1)


def _first_language(self: StaticNgram, token: int) -> None:
    if self._language == UNKNOWN:
        self._language = self.table.language(token)


def _followed_alone(self: PromptLookup, position: int) -> bool:
    return self._followed is not None and position == self._followed


def _never(*_: object) -> bool:
    return False


def _weights(*names: str) -> tuple[Change, ...]:
    return tuple((prompt_lookup_prior, name, 0.0) for name in names)


NO_LIMIT: Callable[[Budget], float] = lambda _self: 1e9  # noqa: E731

PARTS: Mapping[str, tuple[Change, ...]] = {
    "prior": ((prompt_lookup, "prior", _flat),),
    "prior: prompt": _weights("PROMPT", "PROMPT_LENGTH"),
    "prior: single, record": _weights("SINGLE", "RECORD"),
    "prior: rival": _weights("RIVAL"),
    "near": ((PromptLookup, "_is_near", _never), (prompt_lookup, "NEAR_BONUS", 0)),
    "left copies": ((PromptLookup, "_is_near", _followed_alone),),
    "other occurrences": ((prompt_lookup, "LOOK", 1),),
    "acceptance": ((Acceptance, "rates", _believed),),
    "acceptance: places": ((acceptance, "PLACES", (0,) * len(acceptance.PLACES)),),
    "acceptance: tokens": ((Acceptance, "_token_odds", lambda *_: 1.0),),
    "acceptance: fading": ((acceptance, "FADE", 0.9999),),
    "later savings": ((policy, "savings", _no_savings),),
    "budget": ((Budget, "left", property(NO_LIMIT)),),
    "stake": ((policy, "MOST_SAVED", 0.0),),
    "drift": ((Drift, "observe", _never),),
    "n-grams": (),
    "n-grams: language": ((StaticNgram, "_vote", _first_language),),
}
