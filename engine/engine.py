"""The engine: one loaded model and its session, driven by protocol requests.

Runs in its own process behind `engine.serve`, and in the terminal's process behind `engine.commands.chat_loop`. Which
library that process holds is decided by the first load.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from common.confinement import limits
from common.folders import cache_folder
from engine.generation.answer import Answer
from engine.generation.pulse import Pulses
from engine.kv.policy import PartialFixed
from engine.kv.saved import SavedChats
from engine.loading.crash_mark import CrashWatch
from engine.loading.first_look import meanwhile
from engine.loading.libraries import PACKAGES, Backend, OtherLibrary, backend, takes_new_process
from engine.loading.library_choice import Choice, choose, wish_for
from engine.loading.loader import LoadedModel, Loader, kv_mode_of
from engine.loading.memory_plan import Plan, Wish
from engine.loading.planner import plan_for
from engine.machine import default_threads, library_version, resident_bytes
from engine.protocol import (
    Count,
    Counted,
    Event,
    Finished,
    Generate,
    Load,
    Loaded,
    Message,
    PrefillProgress,
    Prepare,
    Prepared,
    Pulse,
    Remedy,
    StatusReport,
    Welcome,
)
from engine.runtime.kv_mode import EXACT
from engine.runtime.ladder import ANSWER_ROOM, size_class
from engine.stop import StopFlag, Stopped
from engine.tokenization.continuing import continued_prompt
from engine.tokenization.counter import counted
from engine.tokenization.reasoning import opened_thought, with_opening
from engine.tokenization.turns import TooLong, turns_to_forget, without_oldest
from models.failures import Failure
from models.paths import path_of
from models.validation import checked_header

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
        installed = ", ".join(f"{package} {library_version(package)}" for package in PACKAGES.values())
        return Welcome(id, engine=f"chickadee {VERSION}", backend=installed, pid=pid, limits=limits())

    def load(self, request: Load, progress: Callable[[float], None] = lambda _fraction: None) -> Loaded:
        """Load the request's model in place of the loaded one.

        Raises Failure, Stopped when stopped meanwhile, and OtherLibrary when it takes a new process."""
        started = time.perf_counter()
        self._saved.limit(request.saved_chats_bytes)
        header = checked_header(path_of(request.path))
        wish = wish_for(request.backend, kv_mode_of(request))
        choice = choose(wish, header, request.threads or default_threads(), request.kv_type or "f16")
        if kv_mode_of(request) != EXACT and choice.name != "graph":
            raise Failure("not_supported", choice.note)
        try:
            files = (path_of(request.path), path_of(request.draft_model) if request.draft_model else None)
            library = meanwhile(lambda: self._library(choice), files, choice.name, self.stop.is_set)
            plan = self._plan(request, library)
            if plan.verdict == "no":
                raise Failure("out_of_memory", " ".join(plan.reasons), str(plan.parts))
            self._drop()
            self._chat = Loader(library, choice, plan, request, self._saved, self.stop).load(progress)
        except BaseException:
            self._crashes.watch(self._chat.choice.mark if self._chat else None)
            raise
        return Loaded(request.id, self._chat.info, time.perf_counter() - started)

    def _library(self, choice: Choice) -> Backend:
        """Imports it; one that this processor cannot run dies of that already."""
        if takes_new_process(choice.name):
            raise OtherLibrary(choice.name)
        if choice.mark:
            choice.mark.clear()
        self._crashes.watch(choice.mark)
        return backend(choice.name)

    def _plan(self, request: Load, library: Backend) -> Plan:
        """How to load the request's model in place of the loaded one, which stays as it is."""
        wish = Wish(request.threads or default_threads(), request.n_ctx, request.kv_type)
        freed = self._chat.anonymous_bytes if self._chat else 0
        draft = path_of(request.draft_model) if request.draft_model else None
        return plan_for(
            path_of(request.path), wish, library, request.memory_bytes, freed, draft, kv_mode_of(request),
            request.flash_attention,
        )  # fmt: skip

    def unload(self) -> None:
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
            raise Failure("empty_prompt", "There is nothing to answer: the message is empty.")
        if request.draft.startswith("model") and not chat.request.draft_model:
            raise Failure("no_draft_model", "No draft model is loaded. Choose one, or draft without.")
        messages = without_oldest(request.messages, request.forget_turns)
        prompt = self._prompt(request, messages)
        if len(prompt) >= chat.info.n_ctx:
            raise self._too_long(messages, len(prompt))
        sampler = chat.target.sampler(request.sampling, prompt)
        try:
            kv = PartialFixed(chat.judge.policy(request.kv_policy, chat.target), chat.target.most_inputs)
            drafting = chat.judge.drafting(request, chat.target, chat.drafters(request))
            chat.memory.open(request.chat, prompt)
            stops = (*chat.template.stops, *request.stop)
            answer = Answer(chat.session, sampler, kv, stops, chat.judge.observe, drafting)
            self.pulses.follow(answer)
            opening = "" if request.continue_last else opened_thought(prompt, chat.template.vocabulary.text)
            events = answer.events(request.id, prompt, request.max_tokens, request.trace)
            for event in with_opening(opening, events):
                if self.pulses.due(last=isinstance(event, Finished)):
                    pulse = self.pulses.of(chat)
                    if self.pulses.on:
                        yield pulse
                yield event
            self._last_tokens = prompt + answer.counts.tokens
            chat.memory.has_read(len(prompt) - answer.counts.reused, answer.counts.prompt_seconds)
        finally:
            sampler.close()

    def _prompt(self, request: Generate, messages: Sequence[Message]) -> list[int]:
        template = self._loaded().template
        if request.continue_last:
            return continued_prompt(template, messages, self._last_tokens, self._most, self.stop.is_set)
        return template.tokens(messages, False, self._most, self.stop.is_set)

    @property
    def _most(self) -> int:
        """Tokens of a chat that are counted; more would fit no context of this model."""
        info = self._loaded().info
        return max(info.n_ctx, info.n_ctx_train)

    def _too_long(self, messages: Sequence[Message], tokens: int) -> TooLong:
        """What to say and to offer when `messages` need more tokens than the context holds."""
        info = self._loaded().info
        needed = f"more than {self._most:,}" if tokens > self._most else f"{tokens:,}"
        sentence = f"This chat needs {needed} tokens, the context holds {info.n_ctx:,}."
        remedies = []
        template, stopped = self._loaded().template, self.stop.is_set
        turns = turns_to_forget(
            messages, info.n_ctx, lambda some: len(template.tokens(some, most=info.n_ctx, stopped=stopped))
        )
        if turns:
            remedies.append(Remedy("forget_turns", turns=turns))
            sentence += f" Forget the oldest {turns} turns," if turns > 1 else " Forget the oldest turn,"
        else:
            sentence += " Shorten the message,"
        larger = self._larger(tokens)
        if larger:
            remedies.append(larger)
            how = " and keys and values in 8 bits" if larger.kind == "smaller_kv" else ""
            sentence += f" start a new chat, or load the model with a context of {larger.n_ctx:,} tokens{how}."
        elif info.n_ctx < info.n_ctx_train:
            sentence += " or start a new chat; a context that holds it would not fit into memory."
        else:
            sentence += " or start a new chat; the model was not trained for a larger context."
        return TooLong(sentence, tuple(remedies))

    def _larger(self, tokens: int) -> Remedy | None:
        """How to load the model again so that its context holds `tokens` and an answer, if memory allows it."""
        chat = self._loaded()
        trained = chat.info.n_ctx_train
        if tokens >= trained:
            return None
        wish = replace(chat.request, n_ctx=size_class(tokens + ANSWER_ROOM, trained))
        plan = self._plan(wish, chat.library)
        if plan.verdict == "no" and wish.kv_type:  # the type that was asked for does not fit: another one may
            plan = self._plan(replace(wish, kv_type=None), chat.library)
        if plan.verdict == "no":
            return None
        kind: Literal["larger_context", "smaller_kv"] = (
            "larger_context" if plan.kv_type == chat.plan.kv_type else "smaller_kv"
        )
        return Remedy(kind, n_ctx=plan.n_ctx, kv_type=plan.kv_type)

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
            chat.memory.save(chat.judge.disk_bytes_per_s)
            for _ in chat.judge.measure(chat.target):
                if self.stop.is_set():
                    raise Stopped
            if chat.draft and chat.judge.table:
                chat.draft.read_ahead(chat.session.tokens, chat.judge.table)
            for _ in chat.phrases.count(chat.judge.table):
                if self.stop.is_set():
                    raise Stopped
            for _ in chat.rival.measure() if chat.rival else ():
                if self.stop.is_set():
                    raise Stopped
        return bool(chat and chat.session.tokens and chat.judge.awaits_quiet)

    @property
    def calibrated(self) -> bool:
        """Is it known what the loaded model's passes cost? Otherwise only published forms draft."""
        return self._loaded().judge.table is not None

    def calibrate(self) -> None:
        """Time the loaded model's passes now. Raises Failure where that cannot be done, and Stopped."""
        chat = self._loaded()
        chat.judge.calibrate(chat.target)

    @property
    def has_phrases(self) -> bool:
        """Is it known what usually comes next in the loaded model's tokens?"""
        return bool(self._loaded().phrases.drafters("phrases", None))

    def count_phrases(self) -> None:
        """Make the loaded model's table of usual phrases now. Raises Stopped."""
        for _ in self._loaded().phrases.count_now():
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
        self.unload()

    def _loaded(self) -> LoadedModel:
        if self._chat is None:
            raise no_model()
        return self._chat


def no_model() -> Failure:
    return Failure("no_model", "No model is loaded. Choose a model first.")
