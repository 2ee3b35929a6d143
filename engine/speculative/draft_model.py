"""A loaded draft model: its weights, its target, and the drafter it makes in either form. Knows no chat.

Target and drafter are never at work at once: the decode loop calls one after the other, both with the same number of
threads, so that they take turns on the same cores.
"""

from __future__ import annotations

from collections.abc import Sequence

from common.folders import cache_folder
from engine.costs.cost_model import CostTable
from engine.loading.libraries import Backend
from engine.loading.memory_plan import Plan
from engine.protocol import DraftMode, Load
from engine.runtime.capi.context import ContextOptions
from engine.runtime.capi.model import CModel
from engine.runtime.ladder import size_class
from engine.speculative.draft import Drafter
from engine.speculative.follower import Follower
from engine.speculative.model_drafter import ModelDrafter
from engine.stop import StopFlag
from models.identity import file_identity
from models.paths import path_of


class DraftModel:
    """Owns the weights and the target; `stop` is the engine's, so that one flag stops whatever runs."""

    def __init__(self, request: Load, plan: Plan, library: Backend, target: CModel, stop: StopFlag) -> None:
        """Load the request's draft model as `plan` says, with the library of `target`, for which it drafts.

        Raises Failure and Stopped."""
        assert request.draft_model, request
        assert plan.draft_kv_type, "the plan has no room for a draft model"
        path = path_of(request.draft_model)
        self.model = library.load(path, lambda _fraction: not stop.is_set(), repack=plan.repack, mmap=plan.mmap)
        try:
            self.n_ctx = min(plan.n_ctx, self.model.n_ctx_train or plan.n_ctx)
            n_ctx = size_class(0, self.n_ctx)
            options = ContextOptions(
                n_ctx,
                plan.threads,
                n_batch=plan.n_batch,
                kv_type=plan.draft_kv_type,
                gives_way=request.threads is None,
                flash_attention=request.flash_attention,
            )
            self.target = library.target(self.model, options, stop, cache_folder())
        except BaseException:
            self.model.close()
            raise
        follower = Follower(self.target, min(self.model.vocabulary.n_tokens, target.vocabulary.n_tokens), self.n_ctx)
        share = self.model.size_bytes / target.size_bytes
        self._improved = ModelDrafter(follower, share)
        self._published = ModelDrafter(follower, share, published=True)
        try:
            follower.warm_up()
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> str:
        return file_identity(self.model.path, self.model.header.data_offset)

    def drafter(self, mode: DraftMode) -> Drafter:
        """In the form that `mode` asks for."""
        return self._published if mode == self._published.name else self._improved

    def read_ahead(self, tokens: Sequence[int], table: CostTable) -> None:
        """In idle time: read the chat, if drafts can pay where passes cost what `table` says. Raises Stopped."""
        if self._improved.can_pay(table, len(tokens)):
            self._improved.follower.read_ahead(tokens)

    def close(self) -> None:
        self.target.close()
        self.model.close()
