"""Load a plan's model with all that belongs to it. The only module that wires the engine's parts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from common.failures import Failure
from common.folders import cache_folder
from common.paths import path_text
from common.planning import KEPT_CHATS, KVType
from common.sentences import Sentence
from engine.costs.cost_prior import prior_timings
from engine.costs.disk_reads import DiskReads
from engine.costs.measurements import CalibrationKey, CostMeasurements
from engine.kv.chat_cache import ChatCache
from engine.kv.saved import Guard, SavedChats
from engine.kv.session import Session
from engine.loading.device_plan import LLAMA, use_of
from engine.loading.device_trials import DeviceTrials
from engine.loading.first_look import Headers
from engine.loading.libraries import SHARED_LIBRARY
from engine.loading.library_choice import BackendTrial, faster_as_timed, identity_of
from engine.loading.resolve import LoadPlan
from engine.loading.sizes import DRAFT_LOGITS, DRAFT_PREFIX, freed_by_unloading
from engine.machine import fingerprint, return_freed_memory
from engine.protocol.events import ModelInfo, Remedy, Vision
from engine.protocol.requests import BackendName
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import ANSWER_ROOM, ContextOptions, ThreadCounts, size_class
from engine.runtime.interface import PictureRuntime, PredictingRuntime, Runtime, ThreadedRuntime
from engine.speculative.draft_model import DraftModel, Follower
from engine.speculative.drafters import DraftSources
from engine.speculative.mid_layer import EarlyExits, load_exits, trained_exits
from engine.speculative.ngram_counting import NgramCounter
from engine.speculative.own_layers import OwnLayers
from engine.stop import StopFlag
from engine.tokenization.pictures import has_pictures
from engine.tokenization.renderer import Renderer
from engine.tokenization.template import ChatTemplate
from models.header import Header
from models.own_drafter import usable_layers
from models.projector import Projector
from models.shapes import Shapes, shapes_of
from models.split import whole_header
from models.titles import title_of
from models.vocabulary_match import check_same_vocabulary

log = logging.getLogger("engine.load")
FROM_DISK = " from disk"  # ends the `way` of timings of a model that is larger than the memory


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A loaded model with all its parts.

    `trial` times the library that does not compute the model; None if that is not worth while. `device_trials` times
    the model on this computer's devices. `resources` closes what was opened.
    """

    plan: LoadPlan
    model: CModel
    target: Runtime
    template: ChatTemplate
    session: Session
    chat_cache: ChatCache
    cost_measurements: CostMeasurements
    info: ModelInfo
    draft: DraftModel | None
    sources: DraftSources
    trial: BackendTrial | None
    device_trials: DeviceTrials
    resources: ExitStack

    @property
    def anonymous_bytes(self) -> int:
        """Bytes that unloading the model would free."""
        memory = self.plan.memory
        size = freed_by_unloading(memory.parts, self.target.n_ctx / memory.n_ctx)
        if self.draft:
            size += freed_by_unloading(memory.parts, self.draft.target.n_ctx / self.draft.n_ctx, DRAFT_PREFIX)
        return size + self.chat_cache.kept.bytes

    def idle_work(self) -> Iterator[Failure | None]:
        """Do useful work while no request waits, the most useful first; the caller may stop at each yield.

        A Failure is yielded, not raised, so that the other work is done all the same. Raises Stopped.
        """
        for work in self._pieces_of_work():
            try:
                yield from work
            except Failure as failure:
                yield failure

    def _pieces_of_work(self) -> Iterator[Iterator[None]]:
        yield self._save_chat()
        yield self._release_if_short()
        if self.plan.memory.verdict == "disk":  # each pass would keep the disk busy for seconds
            return
        yield self.cost_measurements.measure(self.target)
        yield self._read_ahead()
        yield self.sources.ngrams.count(self.cost_measurements.cost_model)
        if self.trial:
            yield self.trial.measure()
        yield self.device_trials.measure()

    def _release_if_short(self) -> Iterator[None]:
        self.chat_cache.release_if_short()
        if isinstance(self.target, PictureRuntime) and self.target.sees:
            self.target.release_encoder_if_short()
            yield

    def _save_chat(self) -> Iterator[None]:
        self.chat_cache.save(self.cost_measurements.disk_bytes_per_s)
        yield

    def save_power(self, on: bool) -> None:
        """Compute with the numbers of threads that save power from the next pass on, or with the usual ones."""
        self.cost_measurements.save_power(on)
        counts, planned = self.cost_measurements.thread_counts, self.plan.memory.threads
        if isinstance(self.target, ThreadedRuntime):
            self.target.use_threads(counts)
        if self.draft and isinstance(self.draft.target, ThreadedRuntime):
            self.draft.target.use_threads(counts if on else ThreadCounts(planned, planned))

    def _read_ahead(self) -> Iterator[None]:
        self.sources.store_learned()
        if self.draft and self.cost_measurements.cost_model and not has_pictures(self.session.tokens):
            self.draft.read_ahead(self.session.tokens, self.cost_measurements.cost_model)
        yield

    def faster_library(self) -> BackendName | None:
        """Return the library that should compute this model from the next load on, if it is known to be faster.

        With another placement of the model it is llama.cpp, also if that computes it now.
        """
        placement = self.device_trials.decision().placement
        if placement != self.plan.placement and self.plan.options.placed_layers is None:
            return LLAMA if placement.device else self.device_trials.processor
        if placement.device:
            return None
        if self.trial is None:  # nobody compares
            return None
        faster = faster_as_timed(self.cost_measurements.key.model, self.plan.options)
        return faster if faster != self.plan.choice.name else None

    def larger_context(self, tokens: int) -> Remedy | None:
        """Return how to load the model again with room for `tokens` and an answer; None if that is not possible."""
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
        """Free the model, its draft model and the process that renders its templates."""
        self.resources.close()


def load(
    plan: LoadPlan,
    saved: SavedChats,
    stop: StopFlag,
    progress: Callable[[float], None],
    disk_reads: DiskReads | None = None,
) -> LoadedModel:
    """Load the model as `plan` says.

    `saved` holds the saved chats; `stop` will stop any work of the loaded model; `progress` is called with the loaded
    fraction; `disk_reads`: what passes read from the disk; None if the model fits into memory. Raises Failure, and
    Stopped if `stop` is set meanwhile.
    """
    with ExitStack() as opened:  # closes what was loaded where something fails
        return _Loader(plan, saved, stop, disk_reads, opened).load(progress)


@dataclass(frozen=True, slots=True)
class _Loader:
    """One load; `opened` closes what was loaded so far, in reverse order."""

    plan: LoadPlan
    saved: SavedChats
    stop: StopFlag
    disk_reads: DiskReads | None
    opened: ExitStack

    def load(self, progress: Callable[[float], None]) -> LoadedModel:
        def on_progress(fraction: float) -> bool:
            progress(fraction)
            return not self.stop.is_set()

        plan, memory = self.plan, self.plan.memory
        renderer = Renderer()
        self.opened.callback(renderer.close)
        renderer.start()
        model, own_layers = self._main_weights(on_progress)
        draft_type = memory.draft_kv_type
        draft = self._draft_model(model, plan.draft, draft_type) if plan.draft and draft_type else None
        template = ChatTemplate(model.template, model.vocabulary, self.stop.is_set, renderer)
        self.opened.callback(template.close)
        identity = identity_of(model.header)
        guard = Guard(identity, settings=memory.kv_type + plan.options.way, build=plan.library.build)
        n_ctx = size_class(self.saved.tokens_of_last(guard) + ANSWER_ROOM, memory.n_ctx)
        target = self._target(model, n_ctx, memory.kv_type, kv_mode=plan.options.kv_mode, own_layers=own_layers)
        if plan.projector:
            plan.library.open_eyes(target, plan.projector, memory.threads, self.stop)
        costs = self._cost_measurements(model, identity)
        if isinstance(target, ThreadedRuntime):
            target.use_threads(costs.thread_counts)
        sources = DraftSources(
            costs,
            NgramCounter(model.path, identity, SHARED_LIBRARY.get(plan.library.name, plan.library.name)),
            self._exits(target, costs, model.header),
            draft,
            identity_of(plan.draft[0]) if plan.draft and draft else "",
            own_layers_drafter(target, costs),
        )
        session = Session(target, memory.n_ctx, memory.checkpoints)
        return_freed_memory()  # of headers and stored files: 11 MiB with 152 k tokens in the vocabulary
        return LoadedModel(
            plan=plan,
            model=model,
            target=target,
            template=template,
            session=session,
            chat_cache=ChatCache(session, self.saved, guard, memory.parts.get(KEPT_CHATS, 0)),
            cost_measurements=costs,
            sources=sources,
            info=self._info(model, template, sources.own_layers is not None),
            draft=draft,
            trial=self._trial(model.path, plan.choice.trial) if plan.choice.trial else None,
            device_trials=DeviceTrials(plan.options, plan.headers, memory.available_bytes, plan.processor),
            resources=self.opened.pop_all(),
        )

    def _main_weights(self, progress: Callable[[float], bool]) -> tuple[CModel, bool]:
        """Load the model; return it and whether its own layers are loaded too. Raises Failure, Stopped."""
        placed = {"placement": self.plan.placement} if self.plan.placement.device else {}
        if self.plan.memory.own_layers:
            try:
                return self._weights(self.plan.headers, progress, own_layers=True, **placed), True
            except Failure as failure:
                log.warning("the model's own layers are left out: %s", failure.log_text)
        return self._weights(self.plan.headers, progress, **placed), False

    def _weights(self, headers: Headers, progress: Callable[[float], bool], **options: Any) -> CModel:
        memory = self.plan.memory
        model = self.plan.library.load(headers, progress, repack=memory.repack, mmap=memory.mmap, **options)
        self.opened.callback(model.close)
        return model

    def _draft_model(self, model: CModel, headers: Headers, kv_type: KVType) -> DraftModel:
        memory = self.plan.memory
        weights = self._weights(headers, lambda _fraction: not self.stop.is_set())
        n_ctx = min(memory.n_ctx, weights.n_ctx_train or memory.n_ctx)
        target = self._target(weights, size_class(0, n_ctx), kv_type, max_logits=DRAFT_LOGITS, rollback=0)
        follower = Follower(target, check_same_vocabulary(model.header, weights.header), n_ctx)
        follower.warm_up()
        return DraftModel(follower, share=weights.size_bytes / model.size_bytes)

    def _target(self, model: CModel, n_ctx: int, kv_type: KVType, **changes: Any) -> Runtime:
        options, memory = self.plan.options, self.plan.memory
        context = ContextOptions(
            n_ctx,
            memory.threads,
            n_batch=memory.n_batch,
            kv_type=kv_type,
            gives_way=options.threads is None,
            flash_attention=options.flash_attention,
            rollback=memory.rollback,
        )
        target = self.plan.library.target(model, replace(context, **changes), self.stop, cache_folder())
        self.opened.callback(target.close)
        return target

    def _cost_measurements(self, model: CModel, identity: str) -> CostMeasurements:
        library, memory, options = self.plan.library, self.plan.memory, self.plan.options
        way = options.way + self.plan.placement.suffix + FROM_DISK * (self.disk_reads is not None)
        header = whole_header(model.parts)
        key = CalibrationKey(identity, options.key_threads, memory.kv_type, library.build, fingerprint(), way)
        prior = prior_timings(header, library.name, memory.kv_type)
        if prior and self.disk_reads:
            prior = self.disk_reads.slowed(prior)
        return CostMeasurements(key, memory.threads, known_shapes(header), prior)

    def _trial(self, path: Path, library: BackendName) -> BackendTrial:
        options = self.plan.options
        return BackendTrial(path, library, options.key_threads, self.plan.memory.kv_type, options.flash_attention)

    def _exits(self, target: Runtime, cost_measurements: CostMeasurements, header: Header) -> EarlyExits:
        why_not = self.plan.choice.note if self.plan.options.backend == "graph" else None
        measured = load_exits(cost_measurements.key) if self.plan.library.name == "graph" else None
        best = measured.best.layers if measured else next(iter(trained_exits(header)), None)
        pays = bool(measured and measured.pays)
        return EarlyExits(target, cost_measurements.shapes, lambda: cost_measurements.cost_model, best, pays, why_not)

    def _own_drafter_refusal(self) -> Sentence | None:
        if self.plan.memory.own_layers:
            return Sentence.of("own_drafter.not_loaded")
        if usable_layers(self.plan.headers) and self.plan.library.name == "llama":
            return Sentence.of("plan.no_own_layers")
        return self.plan.own_drafter

    def _info(self, model: CModel, template: ChatTemplate, drafts_itself: bool) -> ModelInfo:
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
            thinking=template.thinking,
            tight=memory.verdict == "tight",
            drafts_itself=drafts_itself,
            own_drafter=None if drafts_itself else self._own_drafter_refusal(),
            devices=use_of(self.plan.decision),
            vision=vision_of(self.plan.projector) if self.plan.projector else None,
        )


def vision_of(projector: Projector) -> Vision:
    """Return what the window must know of a projector."""
    if projector.is_dynamic:
        return Vision(token_side=projector.patch_size * projector.merge)
    side = projector.image_size
    return Vision(projector.tokens_of(side, side), side, tiled=projector.is_tiled)


def own_layers_drafter(target: Runtime, cost_measurements: CostMeasurements) -> OwnLayers | None:
    """Return the drafter with the model's own layers; None if they are not loaded. Raises Stopped."""
    if not isinstance(target, PredictingRuntime) or not target.own_layers:
        return None
    layers = OwnLayers(target, lambda: cost_measurements.cost_model)
    layers.warm_up()
    return layers


def known_shapes(header: Header) -> Shapes | None:
    """Return the model's shapes, or None if its header leaves shapes open: only the published formulas need them."""
    try:
        return shapes_of(header)
    except Failure as failure:
        log.info("%s", failure)
        return None
