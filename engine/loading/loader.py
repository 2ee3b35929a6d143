"""Loads a model with all that belongs to it. The only module that wires the engine's parts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from common.folders import cache_folder
from engine.costs.calibrated import Key
from engine.kv.memory import ChatMemory
from engine.kv.saved import Guard, SavedChats
from engine.kv.session import Session
from engine.loading.backend_trial import Rival
from engine.loading.libraries import BESIDE, Backend
from engine.loading.library_choice import Choice
from engine.loading.memory_parts import DRAFT, given_back
from engine.loading.memory_plan import Plan
from engine.machine import fingerprint
from engine.protocol import Generate, Load, ModelInfo
from engine.runtime.capi.context import ContextOptions
from engine.runtime.capi.model import CModel
from engine.runtime.flash_attention import words_of
from engine.runtime.interface import Target
from engine.runtime.kv_mode import EXACT, KVMode, mode_of
from engine.runtime.ladder import ANSWER_ROOM, size_class
from engine.runtime.sizes import KVType
from engine.speculative import exits
from engine.speculative.draft import Drafter
from engine.speculative.draft_model import DraftModel
from engine.speculative.judge import Judge
from engine.speculative.middle_layer import MiddleLayer
from engine.speculative.ngram_book import NgramBook
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from models.failures import Failure
from models.header import Header
from models.identity import file_identity
from models.paths import path_of, path_text
from models.shapes import Shapes, shapes_of
from models.titles import title_of

log = logging.getLogger("engine.loader")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What a loaded model consists of. `choice`: why this library computes it; `rival`: the other one, if timing it is
    worth while."""

    library: Backend
    choice: Choice
    model: CModel
    target: Target
    template: ChatTemplate
    session: Session
    memory: ChatMemory
    judge: Judge
    request: Load
    plan: Plan
    info: ModelInfo
    draft: DraftModel | None
    draft_weights: CModel | None
    phrases: NgramBook
    middle: MiddleLayer
    rival: Rival | None

    @property
    def anonymous_bytes(self) -> int:
        """What unloading gives back."""
        size = given_back(self.plan.parts, self.target.n_ctx / self.plan.n_ctx)
        if self.draft:
            size += given_back(self.plan.parts, self.draft.target.n_ctx / self.draft.n_ctx, DRAFT)
        return size

    def drafters(self, request: Generate) -> tuple[Drafter, ...]:
        """Those of the request's mode that belong to this model. Raises Failure where a layer that is asked for cannot
        draft."""
        if request.draft.startswith("midlayer"):
            return (self.middle.drafter(request.draft, request.exit_layers),)
        usual = self.phrases.drafters(request.draft, self.judge.table)
        if request.draft == "phrases":
            return usual
        models = (self.draft.drafter(request.draft),) if self.draft else ()
        return (*usual, *models, *(self.middle.automatic() if request.draft == "auto" else ()))

    def close(self) -> None:
        if self.draft:
            self.draft.target.close()
        if self.draft_weights:
            self.draft_weights.close()
        self.template.close()
        self.target.close()
        self.model.close()


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads by `plan` with the library of `choice`; `stop` will stop whatever runs, and saved chats are in `saved`."""

    library: Backend
    choice: Choice
    plan: Plan
    request: Load
    saved: SavedChats
    stop: StopFlag

    def load(self, progress: Callable[[float], None]) -> LoadedModel:
        """Raises Failure, and Stopped when it was stopped meanwhile."""

        def on_progress(fraction: float) -> bool:
            progress(fraction)
            return not self.stop.is_set()

        with ExitStack() as opened:  # closes what was loaded where something fails
            model = opened.enter_context(closing(self._weights(path_of(self.request.path), on_progress)))
            draft = weights = None
            if self.request.draft_model and self.plan.draft_kv_type:
                draft_path = path_of(self.request.draft_model)
                weights = self._weights(draft_path, lambda _fraction: not self.stop.is_set())
                opened.callback(weights.close)
                draft = self._draft(weights, model, opened)
            loaded = self._wire(model, draft, weights)
            opened.pop_all()
            return loaded

    def _weights(self, path: Path, progress: Callable[[float], bool]) -> CModel:
        return self.library.load(path, progress, repack=self.plan.repack, mmap=self.plan.mmap)

    def _draft(self, weights: CModel, model: CModel, opened: ExitStack) -> DraftModel:
        n_ctx = min(self.plan.n_ctx, weights.n_ctx_train or self.plan.n_ctx)
        options = self._context(size_class(0, n_ctx), self.plan.draft_kv_type or "f16")
        target = self.library.target(weights, options, self.stop, cache_folder())
        opened.callback(target.close)
        n_vocab = min(weights.vocabulary.n_tokens, model.vocabulary.n_tokens)
        return DraftModel(target, n_ctx, n_vocab, share=weights.size_bytes / model.size_bytes)

    def _context(self, n_ctx: int, kv_type: KVType, kv_mode: KVMode = EXACT) -> ContextOptions:
        return ContextOptions(
            n_ctx,
            self.plan.threads,
            n_batch=self.plan.n_batch,
            kv_type=kv_type,
            kv_mode=kv_mode,
            gives_way=self.request.threads is None,
            flash_attention=self.request.flash_attention,
        )

    def _wire(self, model: CModel, draft: DraftModel | None, weights: CModel | None) -> LoadedModel:
        library, plan = self.library, self.plan
        template = ChatTemplate(model.template, model.vocabulary, self.stop.is_set)
        identity = identity_of(model)
        mode = kv_mode_of(self.request)
        words = mode.words + words_of(self.request.flash_attention)
        guard = Guard(identity, settings=plan.kv_type + words, build=library.build)
        n_ctx = size_class(self.saved.tokens_of_last(guard) + ANSWER_ROOM, plan.n_ctx)
        target = library.target(model, self._context(n_ctx, plan.kv_type, mode), self.stop, cache_folder())
        session = Session(target, plan.n_ctx)
        key = Key(identity, plan.threads, plan.kv_type, library.build + words, fingerprint())
        judge = Judge(known_shapes(model.header), key, identity_of(weights) if weights else "")
        rival = self.choice.rival
        return LoadedModel(
            library=library,
            choice=self.choice,
            model=model,
            target=target,
            template=template,
            session=session,
            memory=ChatMemory(session, self.saved, guard),
            judge=judge,
            request=self.request,
            plan=plan,
            info=self._info(model, template),
            draft=draft,
            draft_weights=weights,
            phrases=NgramBook(model.path, identity, BESIDE.get(library.name, library.name)),
            middle=self._middle(target, judge, model.header),
            rival=Rival(model.path, rival, plan.threads, plan.kv_type) if rival else None,
        )

    def _middle(self, target: Target, judge: Judge, header: Header) -> MiddleLayer:
        why_not = self.choice.note if self.request.backend == "graph" else ""
        found = exits.kept(judge.key) if self.library.name == "graph" else None
        best = found.best.layers if found else next(iter(exits.trained(header)), None)
        return MiddleLayer(target, judge.shapes, lambda: judge.table, why_not, best, pays=bool(found and found.pays))

    def _info(self, model: CModel, template: ChatTemplate) -> ModelInfo:
        lossy = self.library.lossy_note(model, kv_mode_of(self.request))
        notes = tuple(note for note in (lossy, self.choice.note) if note)
        return ModelInfo(
            path=path_text(model.path.resolve()),
            name=title_of(model.header.path),
            architecture=model.header.architecture,
            parameters=model.n_params,
            file_bytes=model.header.file_bytes,
            n_ctx=self.plan.n_ctx,
            n_ctx_train=model.n_ctx_train,
            threads=self.plan.threads,
            template=template.kind,
            notes=(*notes, *template.notes, *self.plan.notes),
            plan=self.plan.parts,
            backend=self.library.name,
            kernels=self.library.kernels,
        )


def identity_of(model: CModel) -> str:
    return file_identity(model.path, model.header.data_offset)


def kv_mode_of(request: Load) -> KVMode:
    return mode_of(request.kv_mode, request.kv_share)


def known_shapes(header: Header) -> Shapes | None:
    """A model whose header leaves shapes open is loaded all the same: only the published formulas need them."""
    try:
        return shapes_of(header)
    except Failure as failure:
        log.info("%s", failure)
        return None
