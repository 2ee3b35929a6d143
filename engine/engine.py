"""The engine: one loaded model and its session, driven by protocol requests.

It runs in a process of its own behind `engine.serve`, and in the terminal's process behind `engine.commands.chat`. The
first load decides which library that process holds.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from common.failures import Failure
from common.folders import cache_folder
from common.power import PowerMode, PowerWatch
from common.sentences import join_sentences
from engine.base import BaseEngine
from engine.costs.disk_reads import DiskReads
from engine.generation.answer import Answer, AnswerOptions
from engine.generation.constraint import AnswerConstraint, AnswerStart, GrammarCompiler, constraint_for, shown_pieces
from engine.generation.harmony import reader_for
from engine.generation.pulse import PulseCollector
from engine.generation.sampling import Sampler
from engine.generation.title import can_write, write_title
from engine.generation.urgent import UrgentWork, never
from engine.kv.kept import KeptChats
from engine.kv.policy import PartialFixed, policy_for
from engine.kv.saved import SavedChats
from engine.loading.crash_mark import CrashWatch
from engine.loading.device_choice import OFF, Decision
from engine.loading.device_plan import LLAMA
from engine.loading.embedder import check_answer, check_room, opened_embedder
from engine.loading.from_disk import expect_from_disk
from engine.loading.libraries import PACKAGES, installed
from engine.loading.load import LoadedModel, load
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadEnvironment, LoadPlan, resolve
from engine.machine import library_version, resident_bytes
from engine.protocol.events import (
    Counted,
    Detokenized,
    Embedded,
    Event,
    Loaded,
    PrefillProgress,
    Prepared,
    Pulse,
    SpeedExpected,
    StatusReport,
    Titled,
    Tokenized,
)
from engine.protocol.requests import (
    BackendName,
    Count,
    Detokenize,
    Embed,
    Generate,
    Load,
    Message,
    Prepare,
    Title,
    Tokenize,
)
from engine.runtime.interface import PictureRuntime
from engine.shared_lock import SharedLock
from engine.speculative.drafters import drafting_for
from engine.stop import StopFlag, Stopped
from engine.tokenization.pictures import has_pictures, text_tokens, whole_blocks
from engine.tokenization.prompt import continued_prompt, infill_prompt, opened_reasoning, plain_prompt
from engine.tokenization.template import PromptOptions
from engine.tokenization.tokens import sum_token_counts
from engine.tokenization.tool_formats import HERMES
from engine.tokenization.turns import ChatTooLong, chat_too_long, drop_oldest_turns, max_counted_tokens
from models.titles import title_of

log = logging.getLogger("engine")


def log_failure(failure: Failure) -> None:
    """Log a failure of idle work."""
    log.warning("%s", failure.log_text)


class Engine(BaseEngine):
    """An engine whose model is on this computer. Not thread-safe, with the exceptions that its base class names."""

    def __init__(self) -> None:
        super().__init__()
        self._model: LoadedModel | None = None
        self._count_lock = SharedLock()  # a model is not freed while its vocabulary is in use
        self._unloading = StopFlag()  # set while the model is freed: running counts stop
        self._saved = SavedChats(cache_folder() / "chats")
        self._crashes = CrashWatch()
        self.pulses = PulseCollector()
        self._power_watch = PowerWatch()
        self._power_mode: PowerMode = "auto"  # of the last request that said one
        self._owes_idle_work = False  # work that was left out on battery, of which close does what would be lost
        self._answering: tuple[int, Answer] | None = None  # the running Generate's id and answer
        self._last_tokens: list[int] = []  # the last prompt with its answer, in case the user continues the answer
        self._grammars: GrammarCompiler | None = None  # of the loaded model, once an answer needed a grammar
        self.give_way_to(never, lambda: None)

    @property
    def libraries(self) -> str:
        """Names and versions of the libraries that can compute in this process."""
        packages = [package for name, package in PACKAGES.items() if installed(name)]
        return ", ".join(f"{package} {library_version(package)}" for package in packages)

    def load(
        self,
        request: Load,
        progress: Callable[[float], None] = lambda _fraction: None,
        expect: Callable[[SpeedExpected], None] = lambda _expected: None,
    ) -> Loaded:
        """Load the request's model in place of the loaded one; report the loaded fraction to `progress`.

        `expect` is told the speed of a model that is larger than the memory, before its file is mapped. Raises Failure,
        Stopped if `stop` is set meanwhile, and OtherLibrary if the model needs a library that only a new process can
        import.
        """
        started = time.perf_counter()
        self._saved.set_quota(request.saved_chats_bytes)
        freed = self._model.anonymous_bytes if self._model else 0
        self.save_chat()
        environment = LoadEnvironment(freed, self.stop.is_set, self._crashes)
        try:
            plan = resolve(LoadOptions.of(request), environment)
            if plan.memory.verdict == "no":
                reasons = join_sentences(*plan.memory.reasons)
                raise Failure("out_of_memory.plan", str(plan.memory.parts), reasons=reasons)
            self._free_model()
            reads = None
            if plan.memory.verdict == "disk":
                expected = expect_from_disk(plan.headers, plan.memory)
                sentence = expected.sentence(title_of(plan.header.path))
                expect(SpeedExpected(request.id, sentence, expected.speed.decode, expected.is_slow))
                reads = expected.reads
            self._model = self._load_plan(plan, environment, progress, reads)
        except BaseException:
            self._crashes.watch(self._model.plan.choice.mark if self._model else None)
            raise
        return Loaded(request.id, self._model.info, time.perf_counter() - started)

    def _load_plan(
        self,
        plan: LoadPlan,
        environment: LoadEnvironment,
        progress: Callable[[float], None],
        reads: DiskReads | None,
    ) -> LoadedModel:
        """Load the model as planned, or with llama.cpp on the processor if its device fails. Raises Failure, Stopped.

        This process has imported llama.cpp, so that ik_llama.cpp would need another one, which would fail in the same
        way.
        """
        try:
            return load(plan, self._saved, self.stop, progress, reads)
        except Failure as failure:
            if plan.placement.device is None:
                raise
            log.warning("%s computes nothing: %s", plan.decision.device, failure.log_text)
            alone = resolve(replace(plan.options, device=OFF, backend=LLAMA), environment)
            if alone.memory.verdict == "no":
                raise
            decision = Decision(reason=failure.sentence)
            return load(replace(alone, decision=decision), self._saved, self.stop, progress)

    def save_chat(self) -> None:
        if self._model:
            try:
                self._model.chat_cache.save(self._model.cost_measurements.disk_bytes_per_s)
            except Failure as failure:
                log.warning("%s", failure.log_text)

    def unload(self) -> None:
        self._free_model()
        self._crashes.watch(None)

    def _free_model(self) -> None:
        model, self._model = self._model, None
        self._last_tokens, self._grammars = [], None
        if model:
            self._unloading.set()
            with self._count_lock.alone():
                self._unloading.clear()
                model.close()

    def generate(self, request: Generate) -> Iterator[Event]:
        """Yield the events of one answer, the last one Finished. Raises Failure before any work if it cannot begin."""
        model, request = self._loaded(), with_whole_answers(request)
        if request.draft.startswith("model") and model.plan.draft is None:
            raise Failure("no_draft_model.loaded")
        prompt = self._prompt(request)
        kv = PartialFixed(
            policy_for(request.kv_policy, model.cost_measurements, model.target.can_truncate), model.target.max_batch
        )
        self._follow_power(request.power)
        drafting = drafting_for(drafted_beside_pictures(request, prompt), model.sources, model.target)
        model.chat_cache.open_chat(request.chat, prompt, request.beginning)
        options, mask = self._answer_options(request, prompt)
        sampler = Sampler(
            request.sampling_for(model.info.thinking.thinks), text_tokens(prompt), mask, request.top_logprobs
        )
        observe = model.cost_measurements.observe
        answer = Answer(
            model.session, sampler, kv, options, drafting,
            lambda each: observe(each.inputs + each.drafted, each.depth, each.seconds, each.rows),
        )  # fmt: skip
        self.pulses.report_answer(answer)
        self._answering = (request.id, answer)
        try:
            yield from self.pulses.insert_into(answer.events(request.id, prompt), model)
        finally:
            self._answering = None
            if isinstance(model.target, PictureRuntime) and model.target.sees:
                model.target.picture_tokens(())  # their files are not held until the next prompt
        self._last_tokens = prompt + answer.counts.tokens
        model.chat_cache.record_prefill(answer.counts.read, answer.counts.prompt_seconds)

    def give_way_to(self, is_due: Callable[[], bool], work: Callable[[], None]) -> None:
        self._is_urgent, self._do_urgent = is_due, work

    def _pause(self) -> None:
        """Do the urgent work between two steps of the running answer, then put back what the answer needs.

        Raises Stopped if the answer was stopped meanwhile: the cache then keeps the urgent chat.
        """
        model, answering = self._loaded(), self._answering
        with model.chat_cache.set_aside():
            self._do_urgent()
            if self._model is not model:  # after a bug, the server may have unloaded it
                raise no_model()
            if self.stop.is_set():
                raise Stopped
            self.save_chat()  # the urgent one
        if answering:
            self._answering = answering
            self.pulses.report_answer(answering[1])

    def _answer_options(
        self, request: Generate, prompt: Sequence[int]
    ) -> tuple[AnswerOptions, AnswerConstraint | None]:
        """Return the options of an answer, and its mask if it must have a certain form. Raises Failure."""
        template = self._loaded().template
        opening = "" if request.continue_last else opened_reasoning(prompt, template.vocabulary.text)
        so_far = request.messages[-1].content if request.continue_last else ""
        tool_format = template.tool_support(self.stop.is_set).format if request.tools else HERMES
        mask = calls = piece = None
        if request.tools or request.constraint:
            start = AnswerStart(opening, so_far, template.thought_openings(request.thinking))
            self._grammars = self._grammars or GrammarCompiler(template.vocabulary)
            mask = constraint_for(request, tool_format, self._grammars, start, self.stop.is_set)
        if request.tools and request.tool_choice != "none":
            calls = reader_for(tool_format, request.tools, lambda: bool(mask and mask.holds))
            piece = shown_pieces(tool_format, template.vocabulary)
        options = AnswerOptions(
            (*(template.stops if request.messages else ()), *request.stop),
            request.max_tokens,
            request.trace,
            opening,
            so_far,
            thinking_budget=request.thinking.budget,
            calls=calls,
            piece=piece,
            score_prompt=request.score_prompt,
            urgent=UrgentWork(self._is_urgent, self._pause) if request.background else UrgentWork(),
        )
        return options, mask

    def _prompt(self, request: Generate) -> list[int]:
        """Return the tokens of the request's prompt. Raises Failure if there is nothing to answer, or too much."""
        template, info = self._loaded().template, self._loaded().info
        if request.prompt is not None:
            return plain_prompt(template.vocabulary, request.prompt, info.n_ctx)
        if request.infill:
            answer = min(info.n_ctx // 4, info.n_ctx if request.max_tokens is None else request.max_tokens)
            return infill_prompt(template.vocabulary, request.infill, answer, info.n_ctx)
        last = request.messages[-1] if request.messages else Message("user", "")
        if not last.content.strip() and last.role != "tool" and not last.pictures and not last.tool_calls:
            raise Failure("empty_prompt.message")
        messages, options = drop_oldest_turns(request.messages, request.forget_turns), self._prompt_options(request)
        options = replace(options, max_tokens=max_counted_tokens(info))
        if request.continue_last:
            prompt = continued_prompt(template, messages, self._last_tokens, options)
        else:
            prompt = template.tokens(messages, options)
        if len(prompt) >= info.n_ctx:
            raise self._too_long(messages, len(prompt), options)
        return prompt

    def _prompt_options(self, request: Generate | Prepare | Title | Count, exact: bool = True) -> PromptOptions:
        """Return what a request's prompt holds besides its messages.

        Unless `exact`, the tokens of pictures are only counted, and about.
        """
        target, see = self._loaded().target, None
        if isinstance(target, PictureRuntime) and target.sees:
            see = partial(target.picture_tokens, exact=exact)
        return PromptOptions(request.thinking, request.tools, see, stopped=self.stop.is_set)

    def _follow_power(self, mode: PowerMode) -> None:
        """Save power from the next pass on, or not, as a request wishes and the battery says."""
        self._power_mode = mode
        reason = self._power_watch.state(mode).reason
        self.pulses.saving_power = reason
        self._loaded().save_power(bool(reason))

    def end_thought(self, request: int) -> bool:
        answering = self._answering
        return answering is not None and answering[0] == request and answering[1].end_thought()

    def _too_long(self, messages: Sequence[Message], tokens: int, options: PromptOptions) -> ChatTooLong:
        model = self._loaded()
        options = replace(options, max_tokens=model.info.n_ctx)

        def count(kept_messages: Sequence[Message]) -> int:
            return len(model.template.tokens(kept_messages, options))

        return chat_too_long(messages, tokens, model.info, count, model.larger_context(tokens))

    def prepare(self, request: Prepare) -> Iterator[Event]:
        model, room = self._loaded(), self._loaded().info.n_ctx - 1
        self._follow_power(request.power)
        prompt: list[int] = []
        with contextlib.suppress(Stopped):  # a stop is no error: the tokens that were read stay in the cache
            options = replace(self._prompt_options(request), max_tokens=room)
            prompt = model.template.certain_tokens(request.messages, options)
            if len(prompt) > room:  # its next question will be refused, so that a minute of reading would be in vain
                raise Failure("prompt_too_long.plain", tokens=len(prompt), n_ctx=model.info.n_ctx)
            prompt = prompt[: whole_blocks(prompt, room)]
            model.chat_cache.open_chat(request.chat, prompt, request.beginning)
            if not model.session.holds(prompt):
                started = time.perf_counter()
                for progress in model.session.prefill(prompt):
                    yield PrefillProgress(request.id, progress.done, len(prompt), progress.reused, progress.looking)
                model.chat_cache.record_prefill(len(prompt) - progress.reused, time.perf_counter() - started)
        yield Prepared(request.id, len(prompt), len(model.session.tokens))

    def title(self, request: Title) -> Titled:
        """Return a few words about the chat in the KV cache, which keeps the chat; "" if that would cost more.

        Raises Stopped.
        """
        model = self._loaded()
        options = replace(self._prompt_options(request), max_tokens=model.info.n_ctx)
        prompt = model.template.tokens(request.messages, options)
        is_asked = request.chat == model.chat_cache.chat and not self.reads_from_disk
        thinks = bool(opened_reasoning(prompt, model.template.vocabulary.text))
        if not is_asked or thinks or not can_write(model.session, prompt, request.max_tokens):
            return Titled(request.id, "")
        return Titled(request.id, write_title(model.session, prompt, model.template.stops, request.max_tokens))

    def embed(self, request: Embed) -> Embedded:
        """Return the vectors of texts. Raises Failure, MemoryError, and Stopped if `stop` is set meanwhile."""
        with opened_embedder(self._model, request.model, self.stop) as embedder:
            tokens = [embedder.tokens(text) for text in request.texts]
            check_answer(len(tokens), embedder.width)
            if not request.model:
                check_room(self._loaded(), max(map(len, tokens)))
            vectors = tuple(embedder.vector(each).astype("<f4").tobytes() for each in tokens)
            return Embedded(request.id, vectors, tuple(map(len, tokens)))

    def count(self, request: Count) -> Counted:
        """Count the tokens of the request's texts and messages; any thread may call this at any time.

        Raises Failure if no model is loaded, or if the model is unloaded or replaced while its tokens are counted.
        """
        with self._count_lock.shared(), contextlib.suppress(Stopped):
            template, stopped = self._loaded().template, self._unloading.is_set
            texts = tuple(sum_token_counts(template.vocabulary.token_counts(text), stopped) for text in request.texts)
            prompt = 0
            if request.messages:
                options = replace(self._prompt_options(request, exact=False), stopped=stopped)
                prompt = len(template.tokens(request.messages, options))
            return Counted(request.id, texts, prompt)
        raise no_model()

    def tokenize(self, request: Tokenize) -> Tokenized:
        """Return the tokens of a text; any thread may call this at any time. Raises Failure as `count` does."""
        with self._count_lock.shared(), contextlib.suppress(Stopped):
            vocabulary, tokens = self._loaded().template.vocabulary, list[int]()
            add_bos = request.add_special and vocabulary.adds_bos
            for piece in vocabulary.tokenize_pieces(request.text, request.parse_special, add_bos):
                if self._unloading.is_set():
                    raise Stopped
                tokens += piece
            return Tokenized(request.id, tuple(tokens), tuple(map(vocabulary.piece, tokens)))
        raise no_model()

    def detokenize(self, request: Detokenize) -> Detokenized:
        """Return the text of tokens; any thread may call this at any time. Raises Failure as `count` does."""
        with self._count_lock.shared():
            vocabulary = self._loaded().template.vocabulary
            if any(not 0 <= token < vocabulary.n_tokens for token in request.tokens):
                raise Failure("bad_prompt.tokens", n_tokens=vocabulary.n_tokens)
            return Detokenized(request.id, b"".join(map(vocabulary.piece, request.tokens)).decode(errors="replace"))

    def status(self, id: int) -> StatusReport:
        model = self._model
        cached = len(model.session.tokens) if model else 0
        return StatusReport(id, model.info if model else None, cached, resident_bytes())

    def watch(self, on: bool) -> None:
        self.pulses.watched = on

    def last_pulse(self) -> Pulse:
        return self.pulses.last_pulse()

    def pulse(self) -> Pulse | None:
        """Gather the engine's current numbers; return them if pulses are on, else keep them for a later watcher."""
        pulse = self.pulses.gather(self._model)
        return pulse if self.pulses.watched else None

    def idle(self, report: Callable[[Failure], None] = log_failure) -> bool:
        """Do useful work while no request waits; return False if nothing remains to be done later.

        True means that measurements are to be repeated once other programs are quiet. `report` is called with each
        Failure; the rest of the work is done all the same. On battery nothing is done: the work waits until the
        computer is plugged in and a request has ended. Raises Stopped if `stop` is set.
        """
        model = self._model
        if self._power_watch.state(self._power_mode).postpones_idle_work:
            self._owes_idle_work = True
            return False
        self._owes_idle_work = False
        if model and model.session.tokens:  # the first answer comes before all idle work
            for failure in model.idle_work():
                if failure:
                    report(failure)
                if self.stop.is_set():
                    raise Stopped
        return bool(model and model.session.tokens and model.cost_measurements.awaits_quiet)

    def faster_library(self) -> BackendName | None:
        return self._model.faster_library() if self._model else None

    @property
    def calibrated(self) -> bool:
        """Whether the costs of the loaded model's passes are known; without them only the published methods draft."""
        return self._loaded().cost_measurements.calibrated

    @property
    def reads_from_disk(self) -> bool:
        """Whether the loaded model is larger than the memory: then timing its passes would take minutes."""
        return self._loaded().plan.memory.verdict == "disk"

    @property
    def kept_chats(self) -> KeptChats:
        """The chats that are kept in memory beside the one in the KV cache."""
        return self._loaded().chat_cache.kept

    def calibrate(self) -> None:
        """Time the loaded model's passes now. Raises Failure where they cannot be timed, and Stopped."""
        model = self._loaded()
        model.cost_measurements.calibrate(model.target)

    @property
    def has_ngram_table(self) -> bool:
        """Whether the loaded model's n-gram table exists (`--draft phrases`)."""
        return self._loaded().sources.ngrams.drafter is not None

    def count_ngrams(self) -> None:
        """Count the loaded model's n-gram table now. Raises Stopped."""
        for _ in self._loaded().sources.ngrams.count_now():
            if self.stop.is_set():
                raise Stopped

    def forget_chat(self, chat: str) -> None:
        """Delete what is saved or kept of a chat that the user deleted; empty the KV cache if that chat is in it."""
        self._saved.delete(chat)
        self._last_tokens = []
        if self._model:
            self._model.chat_cache.delete_chat(chat)
            self._model.sources.lookup.forget()

    def forget(self) -> None:
        if self._model:
            self._model.chat_cache.clear()
            self._model.sources.lookup.forget()

    def close(self) -> None:
        """Free the loaded model, and whatever belongs to it.

        What waited for a time when the computer is plugged in is saved first: what was learned for drafts, then the
        chat's keys and values, which are large. The window ends this process if that takes long.
        """
        if self._model and self._owes_idle_work:
            self._model.sources.store_learned()
            self.save_chat()
        self.unload()

    def _loaded(self) -> LoadedModel:
        if self._model is None:
            raise no_model()
        return self._model


def with_whole_answers(request: Generate) -> Generate:
    """Return the request without an empty answer at its end, and without the wish to continue one that calls tools."""
    last = request.messages[-1] if request.messages else Message("user", "")
    if last.role != "assistant":
        return request
    if last.tool_calls:
        return replace(request, continue_last=False)
    return request if last.content.strip() else replace(request, messages=request.messages[:-1], continue_last=False)


def drafted_beside_pictures(request: Generate, prompt: Sequence[int]) -> Generate:
    """Return the request with a draft mode that works in a chat with pictures: other models cannot read those."""
    if has_pictures(prompt) and request.draft not in ("off", "history", "history-published"):
        return replace(request, draft="history")
    return request


def no_model() -> Failure:
    """Return the Failure to raise where a loaded model is needed and there is none."""
    return Failure("no_model.loaded")
