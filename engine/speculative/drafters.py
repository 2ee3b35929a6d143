"""What drafts here? One answer for a request and a loaded model: `drafters_for`, and who is in charge of them."""

from __future__ import annotations

import logging

from common.store import Store
from engine.costs.measurements import Measurements
from engine.protocol import Generate
from engine.runtime.interface import Runtime
from engine.speculative.draft import Drafter
from engine.speculative.draft_model import DraftModel
from engine.speculative.drafting import Auto, Drafting, Fixed, Off
from engine.speculative.mid_layer import EarlyExits
from engine.speculative.ngram_book import NgramBook, can_pay
from engine.speculative.policy import DraftPolicy
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.published import PublishedDraftModel, PublishedLookup, PublishedMidLayer

log = logging.getLogger("engine.draft")

KEEP_AFTER = 500  # steps after which what was learned from them is kept
LEARNED = Store("drafts", 2, dict[str, object])  # the policy's state, by the identities of model and draft model


class DraftSources:
    """What a loaded model has that can draft for it, and what was learned of that.

    `measured`: what its passes cost; `draft_identity`: of the draft model's file, if there is one: how often it is
    right is remembered for this pair."""

    def __init__(
        self,
        measured: Measurements,
        ngrams: NgramBook,
        exits: EarlyExits,
        draft_model: DraftModel | None = None,
        draft_identity: str = "",
    ) -> None:
        self.measured = measured
        self.ngrams = ngrams
        self.exits = exits
        self.lookup = PromptLookup()
        self.draft_model = draft_model
        self.published_model = PublishedDraftModel(draft_model.follower, draft_model.share) if draft_model else None
        self._identity = f"{measured.key.model} {draft_identity}".rstrip()
        self.policy = DraftPolicy(LEARNED.get(self._identity))

    def keep_learned(self) -> None:
        """In idle time: for the next start, once enough was learned. A full disk is noted in the log, no failure."""
        if self.policy.steps < KEEP_AFTER:
            return
        self.policy.steps = 0
        try:
            LEARNED.put(self.policy.state(), self._identity)
        except OSError as error:
            log.warning("What was learned about this model's drafts cannot be kept: %s", error)


def drafters_for(request: Generate, model: DraftSources) -> tuple[Drafter, ...]:
    """Those that the request's mode asks for and the model has, the cheapest first.

    Raises Failure where a layer that is asked for cannot draft."""
    ngrams = (model.ngrams.drafter,) if model.ngrams.drafter else ()
    draft_model = (model.draft_model,) if model.draft_model else ()
    match request.draft:
        case "auto":
            paying = ngrams if can_pay(model.measured.cost_model) else ()
            return (model.lookup, *paying, *draft_model, *model.exits.paying())
        case "history":
            return (model.lookup,)
        case "history-published":
            return (PublishedLookup(request.lookup),)
        case "phrases":
            return ngrams
        case "model":
            return draft_model
        case "model-published":
            return (model.published_model,) if model.published_model else ()
        case "midlayer":
            return (model.exits.drafter(request.exit_layers),)
        case "midlayer-published":
            return (model.exits.drafter(request.exit_layers, PublishedMidLayer),)
        case _:
            return ()


def drafting_for(request: Generate, model: DraftSources, target: Runtime) -> Drafting:
    """Who decides what drafts for an answer. As long as it is not known what passes cost, only published forms draft.

    Raises Failure where a layer that is asked for cannot draft."""
    drafters, costs = drafters_for(request, model), model.measured.cost_model
    if not drafters or not target.can_truncate:
        return Off()
    if request.draft.endswith("-published"):
        return Fixed(drafters[0], costs)
    return Auto(drafters, model.policy, costs) if costs else Off()
