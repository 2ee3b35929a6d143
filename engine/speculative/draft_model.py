"""A loaded draft model: its target, and the drafter it makes in either form. Knows no chat.

Target and drafter are never at work at once: the decode loop calls one after the other, both with the same number of
threads, so that they take turns on the same cores.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.costs.cost_model import CostModel
from engine.protocol import DraftMode
from engine.runtime.interface import Runtime
from engine.speculative.draft import Drafter
from engine.speculative.follower import Follower
from engine.speculative.model_drafter import ModelDrafter


class DraftModel:
    """Drafts with `target`, whose cache may grow to `n_ctx` tokens, below the token `n_vocab`, which both models know.

    `share`: bytes of its weights, as a share of those of the model that it drafts for."""

    def __init__(self, target: Runtime, n_ctx: int, n_vocab: int, share: float) -> None:
        """Raises Stopped."""
        self.target = target
        self.n_ctx = n_ctx
        follower = Follower(target, n_vocab, n_ctx)
        self._improved = ModelDrafter(follower, share)
        self._published = ModelDrafter(follower, share, published=True)
        follower.warm_up()

    def drafter(self, mode: DraftMode) -> Drafter:
        """In the form that `mode` asks for."""
        return self._published if mode == self._published.name else self._improved

    def read_ahead(self, tokens: Sequence[int], table: CostModel) -> None:
        """In idle time: read the chat, if drafts can pay where passes cost what `table` says. Raises Stopped."""
        if self._improved.can_pay(table, len(tokens)):
            self._improved.follower.read_ahead(tokens)
