"""Choice of the drafters and of their policy for a request and a loaded model."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from common.store import Store
from engine.costs.measurements import CostMeasurements
from engine.protocol.requests import Generate
from engine.runtime.interface import UNLIMITED, Runtime
from engine.speculative.draft import Drafter
from engine.speculative.draft_model import DraftModel
from engine.speculative.drafting import Auto, Drafting, Fixed
from engine.speculative.mid_layer import EarlyExits
from engine.speculative.ngram_counting import NgramCounter, can_pay
from engine.speculative.own_layers import OwnLayers
from engine.speculative.policy import DraftPolicy
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.published import PublishedDraftModel, PublishedLookup, PublishedMidLayer

log = logging.getLogger("engine.draft")

STORE_AFTER_STEPS = 500  # steps to learn from before the result is stored
LEARNED_STORE = Store("drafts", 2, dict[str, object])  # the policy's state by model and draft model


@dataclass
class DraftSources:
    """All drafters of a loaded model, and the policy that learned about them.

    `cost_measurements`: costs of the model's passes. `draft_identity`: identity of the draft model's file, if there is
    one; what is learned is stored for this pair of models. `own_layers`: drafter with the model's own layers.
    """

    cost_measurements: CostMeasurements
    ngrams: NgramCounter
    exits: EarlyExits
    draft_model: DraftModel | None = None
    draft_identity: str = ""
    own_layers: OwnLayers | None = None
    lookup: PromptLookup = field(default_factory=PromptLookup)

    def __post_init__(self) -> None:
        self.published_model = self.draft_model and PublishedDraftModel(
            self.draft_model.follower, self.draft_model.share
        )
        self._identity = f"{self.cost_measurements.key.model} {self.draft_identity}".rstrip()
        self.policy = DraftPolicy(LEARNED_STORE.get(self._identity))

    def store_learned(self) -> None:
        """Store the policy's state for the next start, once it has learned from enough steps; called in idle time.

        A full disk is only logged.
        """
        if self.policy.steps < STORE_AFTER_STEPS:
            return
        self.policy.steps = 0
        try:
            LEARNED_STORE.put(self.policy.state(), self._identity)
        except OSError as error:
            log.warning("What was learned about this model's drafts cannot be kept: %s", error)


def drafters_for(request: Generate, model: DraftSources) -> tuple[Drafter, ...]:
    """Return the drafters that the request's mode asks for and the model has, cheapest first.

    Raises Failure if the request names a layer that cannot draft.
    """
    ngrams = (model.ngrams.drafter,) if model.ngrams.drafter else ()
    draft_model = (model.draft_model,) if model.draft_model else ()
    own_layers = (model.own_layers,) if model.own_layers else ()
    match request.draft:
        case "auto":
            paying = ngrams if can_pay(model.cost_measurements.cost_model) else ()
            return (model.lookup, *paying, *own_layers, *draft_model, *model.exits.paying_drafters())
        case "history":
            return (model.lookup,)
        case "history-published":
            return (PublishedLookup(request.lookup),)
        case "phrases":
            return ngrams
        case "mtp":
            return (model.lookup, *own_layers)
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
    """Return how an answer is drafted, before its prompt is read. Before passes are timed, only published forms draft.

    Raises Failure if the request names a layer that cannot draft.
    """
    drafters, costs = drafters_for(request, model), model.cost_measurements.cost_model
    if model.own_layers:
        model.own_layers.read_along(costs if model.own_layers in drafters else None, model.policy)
    if not drafters or not target.max_draft:
        return Drafting()
    if request.draft.endswith("-published"):
        return Fixed(drafters[0], costs, branches=target.window == UNLIMITED)
    return Auto(drafters, model.policy, costs) if costs else Drafting()
