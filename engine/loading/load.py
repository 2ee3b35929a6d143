"""From a plan to a loaded model with all that belongs to it. The only module that wires the engine's parts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Literal

from common.failures import Failure
from common.folders import cache_folder
from common.paths import path_text
from engine.costs.measurements import Key, Measurements
from engine.costs.prior import prior
from engine.kv.saved import Guard, SavedChats
from engine.kv.session import ChatMemory, Session
from engine.loading.first_look import Headers
from engine.loading.libraries import BESIDE
from engine.loading.library_choice import BackendTrial, faster_as_timed
from engine.loading.resolve import LoadPlan
from engine.loading.sizes import DRAFT, DRAFT_LOGITS, given_back
from engine.machine import fingerprint, give_back_memory
from engine.protocol import BackendName, KVType, ModelInfo, Remedy
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import ANSWER_ROOM, EXACT, ContextOptions, KVMode, size_class, words_of
from engine.runtime.interface import Runtime
from engine.speculative import exits
from engine.speculative.draft_model import DraftModel, Follower
from engine.speculative.drafters import DraftSources
from engine.speculative.mid_layer import EarlyExits
from engine.speculative.ngram_book import NgramBook
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from models.header import Header
from models.identity import file_identity
from models.shapes import Shapes, shapes_of
from models.titles import title_of

log = logging.getLogger("engine.load")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What a loaded model consists of. `trial`: of the library that does not compute it, if that is worth while."""

    plan: LoadPlan
    model: CModel
    target: Runtime
    template: ChatTemplate
    session: Session
    memory: ChatMemory
    measured: Measurements
    info: ModelInfo
    draft: DraftModel | None
    draft_weights: CModel | None
    sources: DraftSources
    trial: BackendTrial | None

    @property
    def anonymous_bytes(self) -> int:
        """What unloading gives back."""
        memory = self.plan.memory
        size = given_back(memory.parts, self.target.n_ctx / memory.n_ctx)
        if self.draft:
            size += given_back(memory.parts, self.draft.target.n_ctx / self.draft.n_ctx, DRAFT)
        return size

    def idle_work(self) -> Iterator[None]:
        """What is useful while nobody waits, the most useful first; may end at each step. Raises Failure, Stopped."""
        self.memory.save(self.measured.disk_bytes_per_s)
        yield from self.measured.measure(self.target)
        self.sources.keep_learned()
        if self.draft and self.measured.cost_model:
            self.draft.read_ahead(self.session.tokens, self.measured.cost_model)
        yield from self.sources.ngrams.count(self.measured.cost_model)
        if self.trial:
            yield from self.trial.measure()

    def faster_library(self) -> BackendName | None:
        """The one that is to compute this model from the next load on, if what was timed meanwhile says another."""
        options = self.plan.options
        if self.trial is None:  # nobody compares
            return None
        found = faster_as_timed(self.measured.key.model, options.wish.threads, options.kv_type or "f16")
        return found if found != self.plan.choice.name else None

    def larger_context(self, tokens: int) -> Remedy | None:
        """How to load the model again so that its context holds `tokens` and an answer, if memory allows it."""
        if tokens >= self.info.n_ctx_train:
            return None
        n_ctx = size_class(tokens + ANSWER_ROOM, self.info.n_ctx_train)
        plan = self.plan.with_context(n_ctx, self.anonymous_bytes)
        if plan.verdict == "no":
            return None
        same = plan.kv_type == self.plan.memory.kv_type
        kind: Literal["larger_context", "smaller_kv"] = "larger_context" if same else "smaller_kv"
        return Remedy(kind, n_ctx=plan.n_ctx, kv_type=plan.kv_type)

    def close(self) -> None:
        """Free all of it."""
        if self.draft:
            self.draft.target.close()
        if self.draft_weights:
            self.draft_weights.close()
        self.template.close()
        self.target.close()
        self.model.close()


def load(plan: LoadPlan, saved: SavedChats, stop: StopFlag, progress: Callable[[float], None]) -> LoadedModel:
    """Load as `plan` says; `stop` will stop whatever runs, saved chats are in `saved`, `progress` is told the fraction.

    Raises Failure, and Stopped when it was stopped meanwhile."""
    return _Loader(plan, saved, stop).load(progress)


@dataclass(frozen=True, slots=True)
class _Loader:
    plan: LoadPlan
    saved: SavedChats
    stop: StopFlag

    def load(self, progress: Callable[[float], None]) -> LoadedModel:
        def on_progress(fraction: float) -> bool:
            progress(fraction)
            return not self.stop.is_set()

        plan = self.plan
        with ExitStack() as opened:  # closes what was loaded where something fails
            model = opened.enter_context(closing(self._weights(plan.headers, on_progress)))
            draft = weights = None
            if plan.draft and plan.memory.draft_kv_type:
                weights = self._weights(plan.draft, lambda _fraction: not self.stop.is_set())
                opened.callback(weights.close)
                draft = self._draft(weights, model, opened)
            loaded = self._wired(model, draft, weights)
            opened.pop_all()
            give_back_memory()  # what headers and kept files were read into: 11 MiB with a vocabulary of 152 k tokens
            return loaded

    def _weights(self, headers: Headers, progress: Callable[[float], bool]) -> CModel:
        memory = self.plan.memory
        return self.plan.library.load(headers, progress, repack=memory.repack, mmap=memory.mmap)

    def _draft(self, weights: CModel, model: CModel, opened: ExitStack) -> DraftModel:
        memory = self.plan.memory
        n_ctx = min(memory.n_ctx, weights.n_ctx_train or memory.n_ctx)
        context = self._context(size_class(0, n_ctx), memory.draft_kv_type or "f16")
        options = replace(context, max_logits=DRAFT_LOGITS)
        target = self.plan.library.target(weights, options, self.stop, cache_folder())
        opened.callback(target.close)
        n_vocab = min(weights.vocabulary.n_tokens, model.vocabulary.n_tokens)
        follower = Follower(target, n_vocab, n_ctx)
        follower.warm_up()
        return DraftModel(follower, share=weights.size_bytes / model.size_bytes)

    def _context(self, n_ctx: int, kv_type: KVType, kv_mode: KVMode = EXACT) -> ContextOptions:
        options, memory = self.plan.options, self.plan.memory
        return ContextOptions(
            n_ctx,
            memory.threads,
            n_batch=memory.n_batch,
            kv_type=kv_type,
            kv_mode=kv_mode,
            gives_way=options.threads is None,
            flash_attention=options.flash_attention,
        )

    def _wired(self, model: CModel, draft: DraftModel | None, weights: CModel | None) -> LoadedModel:
        library, memory, options = self.plan.library, self.plan.memory, self.plan.options
        template = ChatTemplate(model.template, model.vocabulary, self.stop.is_set)
        identity = identity_of(model.header)
        words = options.kv_mode.words + words_of(options.flash_attention)
        guard = Guard(identity, settings=memory.kv_type + words, build=library.build)
        n_ctx = size_class(self.saved.tokens_of_last(guard) + ANSWER_ROOM, memory.n_ctx)
        context = self._context(n_ctx, memory.kv_type, options.kv_mode)
        target = library.target(model, context, self.stop, cache_folder())
        session = Session(target, memory.n_ctx)
        key = Key(identity, memory.threads, memory.kv_type, library.build + words, fingerprint())
        guessed = prior(model.header, library.name, memory.kv_type)
        measured = Measurements(key, known_shapes(model.header), guessed)
        sources = DraftSources(
            measured,
            NgramBook(model.path, identity, BESIDE.get(library.name, library.name)),
            self._exits(target, measured, model.header),
            draft,
            identity_of(weights.header) if weights else "",
        )
        other = self.plan.choice.trial
        return LoadedModel(
            plan=self.plan,
            model=model,
            target=target,
            template=template,
            session=session,
            memory=ChatMemory(session, self.saved, guard),
            measured=measured,
            sources=sources,
            info=self._info(model, template),
            draft=draft,
            draft_weights=weights,
            trial=BackendTrial(model.path, other, memory.threads, memory.kv_type) if other else None,
        )

    def _exits(self, target: Runtime, measured: Measurements, header: Header) -> EarlyExits:
        why_not = self.plan.choice.note if self.plan.options.backend == "graph" else None
        found = exits.kept(measured.key) if self.plan.library.name == "graph" else None
        best = found.best.layers if found else next(iter(exits.trained(header)), None)
        pays = bool(found and found.pays)
        return EarlyExits(target, measured.shapes, lambda: measured.cost_model, best, pays, why_not)

    def _info(self, model: CModel, template: ChatTemplate) -> ModelInfo:
        library, memory = self.plan.library, self.plan.memory
        lossy = library.lossy_note(model, self.plan.options.kv_mode)
        notes = tuple(note for note in (lossy, self.plan.choice.note) if note)
        return ModelInfo(
            path=path_text(model.path.resolve()),
            name=title_of(model.header.path),
            architecture=model.header.architecture,
            parameters=model.n_params,
            file_bytes=model.header.file_bytes,
            n_ctx=memory.n_ctx,
            n_ctx_train=model.n_ctx_train,
            threads=memory.threads,
            template=template.kind,
            notes=(*notes, *template.notes, *memory.notes),
            plan=memory.parts,
            backend=library.name,
            kernels=library.kernels,
        )


def identity_of(header: Header) -> str:
    """Of the file that the header was read from. Raises Failure where it is gone."""
    return file_identity(header.path, header.data_offset)


def known_shapes(header: Header) -> Shapes | None:
    """A model whose header leaves shapes open is loaded all the same: only the published formulas need them."""
    try:
        return shapes_of(header)
    except Failure as failure:
        log.info("%s", failure)
        return None
