"""Parts of drafting that can be disabled, to see what each is worth on recorded answers (`benchmarks.replay`).

A disabled part is replaced by the simplest thing that works in its place. The engine knows nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from engine.costs.cost_model import Drift
from engine.speculative import acceptance, policy, prompt_lookup, prompt_lookup_prior
from engine.speculative.acceptance import Acceptance
from engine.speculative.policy import DraftBudget
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.prompt_lookup_prior import LookupEvidence
from engine.speculative.static_ngram import UNKNOWN, StaticNgram

USUALLY = 0.6  # share of right tokens in the drafts of prompt lookup, whatever the evidence

Change = tuple[object, str, Any]


@contextmanager
def disable_part(part: str) -> Iterator[None]:
    """Disable one of PARTS in the engine within the block."""
    with ExitStack() as stack:
        for where, name, value in PARTS[part]:
            stack.enter_context(patch.object(where, name, value))
        yield


def _flat(evidence: LookupEvidence) -> tuple[float, ...]:
    return (USUALLY,) * len(evidence.tokens)


def _believed(_self: Acceptance, draft: Any, _weight: float = 0.0) -> list[float]:
    return list(draft.confidence)


def _no_savings(reach: Sequence[float], _total: Sequence[float], _extra: object) -> list[float]:
    return [0.0] * (len(reach) + 1)


def _first_language(self: StaticNgram, token: int) -> None:
    if self._language == UNKNOWN:
        self._language = self.table.language(token)


def _followed_alone(self: PromptLookup, position: int) -> bool:
    return self._expected_position is not None and position == self._expected_position


def _never(*_: object) -> bool:
    return False


def _weights(*names: str) -> tuple[Change, ...]:
    return tuple((prompt_lookup_prior, name, 0.0) for name in names)


NO_LIMIT: Callable[[DraftBudget], float] = lambda _self: 1e9  # noqa: E731

PARTS: Mapping[str, tuple[Change, ...]] = {
    "prior": ((prompt_lookup, "acceptance_prior", _flat),),
    "prior: prompt": _weights("PROMPT", "PROMPT_LENGTH"),
    "prior: single, record": _weights("SINGLE", "RECORD"),
    "prior: rival": _weights("RIVAL"),
    "near": ((PromptLookup, "_is_near", _never), (prompt_lookup, "NEAR_BONUS", 0)),
    "left copies": ((PromptLookup, "_is_near", _followed_alone),),
    "other occurrences": ((prompt_lookup, "MAX_OCCURRENCES", 1),),
    "acceptance": ((Acceptance, "rates", _believed),),
    "acceptance: places": ((acceptance, "PLACES", (0,) * len(acceptance.PLACES)),),
    "acceptance: tokens": ((Acceptance, "_token_odds_factor", lambda *_: 1.0),),
    "acceptance: fading": ((acceptance, "FADE", 0.9999),),
    "later savings": ((policy, "later_savings", _no_savings),),
    "budget": ((DraftBudget, "left", property(NO_LIMIT)),),
    "stake": ((policy, "MAX_CARRIED", 0.0),),
    "drift": ((Drift, "observe", _never),),
    "n-grams": (),
    "n-grams: language": ((StaticNgram, "_vote", _first_language),),
}
