"""The engine: one loaded model and its session, driven by protocol requests.

Runs in its own process behind `engine.serve`, and in the terminal's process behind `engine.commands.chat`. Which
library that process holds is decided by the first load.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from common.confinement import limits
from common.failures import Failure
from common.folders import cache_folder
from common.sentences import together
from engine.generation.answer import Answer, AnswerOptions
from engine.generation.pulse import Pulses
from engine.generation.sampling import Sampler
from engine.kv.policy import PartialFixed, policy_for
from engine.kv.saved import SavedChats
from engine.loading.crash_mark import CrashWatch
from engine.loading.libraries import PACKAGES, installed
from engine.loading.load import LoadedModel, load
from engine.loading.options import LoadOptions
from engine.loading.resolve import Surroundings, resolve
from engine.machine import library_version, resident_bytes
from engine.protocol import (
    BackendName,
    Count,
    Counted,
    Event,
    Generate,
    Load,
    Loaded,
    Message,
    PrefillProgress,
    Prepare,
    Prepared,
    Pulse,
    StatusReport,
    Welcome,
)
from engine.speculative.drafters import drafting_for
from engine.stop import StopFlag, Stopped
from engine.tokenization.template import continued_prompt, opened_reasoning
from engine.tokenization.tokens import counted
from engine.tokenization.turns import TooLong, most_counted, too_long, without_oldest

VERSION = "0.1.0"


class Engine:
    """Not thread-safe but for `stop`, which may be set from any thread, `count`, and `status`, which only reads."""

    def __init__(self) -> None:
        self.stop = StopFlag()
        self._chat: LoadedModel | None = None
        self._counting = threading.Lock()  # a model is not freed while its vocabulary is in use
        self._leaving = StopFlag()  # it is to be freed: who counts stops
        self._saved = SavedChats(cache_folder() / "chats")
        self._crashes = CrashWatch()
        self.pulses = Pulses()
        self._last_tokens: list[int] = []  # of the last prompt and its answer, should that be continued

    def welcome(self, id: int, pid: int) -> Welcome:
        """Who this is, for the window that started it."""
        there = [package for name, package in PACKAGES.items() if installed(name)]
        backend = ", ".join(f"{package} {library_version(package)}" for package in there)
        return Welcome(id, engine=f"chickadee {VERSION}", backend=backend, pid=pid, limits=limits())

    def load(self, request: Load, progress: Callable[[float], None] = lambda _fraction: None) -> Loaded:
        """Load the request's model in place of the loaded one.

        Raises Failure, Stopped when stopped meanwhile, and OtherLibrary when it takes a new process."""
        started = time.perf_counter()
        self._saved.limit(request.saved_chats_bytes)
        freed = self._chat.anonymous_bytes if self._chat else 0
        around = Surroundings(freed, self.stop.is_set, self._crashes)
        try:
            plan = resolve(LoadOptions.of(request), around)
            if plan.memory.verdict == "no":
                reasons = together(*plan.memory.reasons)
                raise Failure("out_of_memory.plan", str(plan.memory.parts), reasons=reasons)
            self._drop()
            self._chat = load(plan, self._saved, self.stop, progress)
        except BaseException:
            self._crashes.watch(self._chat.plan.choice.mark if self._chat else None)
            raise
        return Loaded(request.id, self._chat.info, time.perf_counter() - started)

    def unload(self) -> None:
        """Free the loaded model, if there is one."""
        self._drop()
        self._crashes.watch(None)

    def _drop(self) -> None:
        chat, self._chat = self._chat, None
        self._last_tokens = []
        if chat:
            self._leaving.set()
            with self._counting:
                self._leaving.clear()
                chat.close()

    def generate(self, request: Generate) -> Iterator[Event]:
        """Events of one answer, the last one Finished. Raises Failure before any work if it cannot be begun."""
        chat = self._loaded()
        if not request.messages or not request.messages[-1].content.strip():
            raise Failure("empty_prompt.message")
        if request.draft.startswith("model") and chat.plan.draft is None:
            raise Failure("no_draft_model.loaded")
        messages = without_oldest(request.messages, request.forget_turns)
        prompt = self._prompt(request, messages)
        if len(prompt) >= chat.info.n_ctx:
            raise self._too_long(messages, len(prompt))
        kv = PartialFixed(policy_for(request.kv_policy, chat.measured, chat.target.can_truncate), chat.target.max_batch)
        drafting = drafting_for(request, chat.sources, chat.target)
        chat.memory.open(request.chat, prompt)
        stops = (*chat.template.stops, *request.stop)
        opening = "" if request.continue_last else opened_reasoning(prompt, chat.template.vocabulary.text)
        begun = request.messages[-1].content if request.continue_last else ""
        options = AnswerOptions(stops, request.max_tokens, request.trace, opening, begun)
        sampler = Sampler(request.sampling, prompt)
        answer = Answer(chat.session, sampler, kv, options, drafting, chat.measured.observe)
        self.pulses.follow(answer)
        yield from self.pulses.among(answer.events(request.id, prompt), chat)
        self._last_tokens = prompt + answer.counts.tokens
        chat.memory.has_read(len(prompt) - answer.counts.reused, answer.counts.prompt_seconds)

    def _prompt(self, request: Generate, messages: Sequence[Message]) -> list[int]:
        template, most = self._loaded().template, most_counted(self._loaded().info)
        if request.continue_last:
            return continued_prompt(template, messages, self._last_tokens, most, self.stop.is_set)
        return template.tokens(messages, False, most, self.stop.is_set)

    def _too_long(self, messages: Sequence[Message], tokens: int) -> TooLong:
        chat, stopped = self._loaded(), self.stop.is_set

        def count(some: Sequence[Message]) -> int:
            return len(chat.template.tokens(some, most=chat.info.n_ctx, stopped=stopped))

        return too_long(messages, tokens, chat.info, count, chat.larger_context(tokens))

    def prepare(self, request: Prepare) -> Iterator[Event]:
        """Read what is certain of the next prompt; the last event is Prepared, also when it was stopped."""
        chat, room = self._loaded(), self._loaded().info.n_ctx - 1
        prompt: list[int] = []
        with contextlib.suppress(Stopped):  # an outcome like another: what was read stays
            prompt = chat.template.certain_tokens(request.messages, room, self.stop.is_set)[:room]
            chat.memory.open(request.chat, prompt)
            if not chat.session.holds(prompt):
                started = time.perf_counter()
                for progress in chat.session.read(prompt):
                    yield PrefillProgress(request.id, progress.done, len(prompt), progress.reused)
                chat.memory.has_read(len(prompt) - progress.reused, time.perf_counter() - started)
        yield Prepared(request.id, len(prompt), len(chat.session.tokens))

    def count(self, request: Count) -> Counted:
        """May be called from another thread at any time. Raises Failure without a model, also when it is unloaded or
        another one loaded meanwhile."""
        with self._counting, contextlib.suppress(Stopped):
            template, stopped = self._loaded().template, self._leaving.is_set
            texts = tuple(counted(template.vocabulary.counted(text), stopped) for text in request.texts)
            prompt = len(template.tokens(request.messages, stopped=stopped)) if request.messages else 0
            return Counted(request.id, texts, prompt)
        raise no_model()

    def status(self, id: int) -> StatusReport:
        """What is loaded and how much of a chat is cached. May be called from any thread."""
        chat = self._chat
        cached = len(chat.session.tokens) if chat else 0
        return StatusReport(id, chat.info if chat else None, cached, resident_bytes())

    def watch(self, on: bool) -> None:
        """Tell what is done, or no longer. May be called from any thread."""
        self.pulses.on = on

    def pulse(self) -> Pulse | None:
        """How things stand, if somebody watches; noted also for who will watch later."""
        pulse = self.pulses.of(self._chat)
        return pulse if self.pulses.on else None

    def idle(self) -> bool:
        """Do what is useful while nobody waits; False when nothing is left, also not later. Raises Failure, Stopped."""
        chat = self._chat
        if chat and chat.session.tokens:  # the first answer comes before everything
            for _ in chat.idle_work():
                if self.stop.is_set():
                    raise Stopped
        return bool(chat and chat.session.tokens and chat.measured.awaits_quiet)

    def faster_library(self) -> BackendName | None:
        """Another library than the one that computes the loaded model, which by now is known to be faster."""
        return self._chat.faster_library() if self._chat else None

    @property
    def calibrated(self) -> bool:
        """Is it known what the loaded model's passes cost? Otherwise only published forms draft."""
        return self._loaded().measured.calibrated

    def calibrate(self) -> None:
        """Time the loaded model's passes now. Raises Failure where that cannot be done, and Stopped."""
        chat = self._loaded()
        chat.measured.calibrate(chat.target)

    @property
    def has_phrases(self) -> bool:
        """Is it known what usually comes next in the loaded model's tokens?"""
        return self._loaded().sources.ngrams.drafter is not None

    def count_phrases(self) -> None:
        """Make the loaded model's table of usual phrases now. Raises Stopped."""
        for _ in self._loaded().sources.ngrams.count_now():
            if self.stop.is_set():
                raise Stopped

    def forget_chat(self, chat: str) -> None:
        """The user deleted this chat: delete what is saved of it, and the cache's content if it is that chat's."""
        self._saved.delete(chat)
        self._last_tokens = []
        if self._chat:
            self._chat.memory.delete(chat)

    def forget(self) -> None:
        """Empty the session, for the case that a bug left it in an unknown state."""
        if self._chat:
            self._chat.session.forget()

    def close(self) -> None:
        """Free everything."""
        self.unload()

    def _loaded(self) -> LoadedModel:
        if self._chat is None:
            raise no_model()
        return self._chat


def no_model() -> Failure:
    """What is raised where a loaded model is needed."""
    return Failure("no_model.loaded")
