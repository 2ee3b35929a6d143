"""Trial of one model: what users do with a chat, through the engine's process, with each answer compared.

The comparison is with a fresh engine that reads the whole chat, greedily and without flash attention, whose sums of
16-bit floats differ between passes of different sizes. Where even fresh engines do not agree on a token, of which some
have flash attention and others read the question in two parts, the choice is a near tie, and either token is right. So
it is where the fresh engine gives its token the same probability, but for rounding, as the tried engine gives its own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.engine_process import Broken, EngineProcess, Refused
from benchmarks.memory import peak_bytes
from benchmarks.peers import GREEDY
from common.store import Store
from engine import machine
from engine.costs.profile import PROFILES, Profile
from engine.protocol.events import Failed, Finished, Loaded, Logprobs, PrefillProgress, Text
from engine.protocol.requests import FlashAttention, Generate, Load, Message, Prepare, Sampling
from engine.tokenization.tokens import common_prefix

# Without the penalty a random model soon repeats itself; drafts are tried without it, because they need repetition.
VARIED = Sampling(temperature=0, repeat_penalty=3, repeat_last_n=24)
ANSWER = 24  # tokens
CONTEXT, SMALL_CONTEXT = 6144, 512
TAIL = 13  # tokens that the chat template writes behind a question; a character is a token
QUESTION, STOPS = 140, 5  # words of a question, and random stops, of a whole trial
GROWING = 330  # tokens: the smallest cache grows in the middle of such an answer
PARTS = (0.3, 0.5, 0.8, 1)  # of the last question, which a fresh engine reads first where an answer differs
TIE = 1e-3  # nats: whether a pass reads a token alone or with others, keys of 16 bits move probabilities by as much
LONGEST_WAIT = 0.2  # seconds until a random stop
SHORT_QUESTION = 90  # words of a question of a short trial, which has two of them and one random stop
WORDS = ("tit", "wren", "robin", "finch", "crane", "heron", "stork", "swift", "egret", "raven", "snipe", "quail")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's text, and its tokens with the logarithms of their probabilities before penalties.

    `read`: tokens of its prompt that ran, `prompt`: all of them.
    """

    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    read: int
    prompt: int
    stop_reason: str
    drafted: int
    accepted: int


@dataclass
class Trial:
    """Results of a model.

    `refused`: the sentence with which the engine refuses it; `untried`: why there is no such model. `wrong`: the steps
    that went wrong, with the reason. `near_ties`: answers that differ from a fresh engine's from a near tie on.
    `prompt`: tokens of the chat. Tokens that were read again: `again` by another try, `stopped` by a prompt that was
    stopped in its middle, `edited` by an edit in the middle of the last question, beyond those behind the edit,
    `restarted` by another try after a restart. `accepted`: drafted tokens that became part of an answer. `plan`:
    planned bytes as a share of those that the process really took.
    """

    name: str
    refused: str = ""
    untried: str = ""
    prompt: int = 0
    again: int = 0
    stopped: int = 0
    edited: int = 0
    restarted: int | None = None
    accepted: int = 0
    near_ties: int = 0
    plan: float = 0.0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ProfilesIn(Store[Profile]):
    """The profiles in the cache folder of another process."""

    cache: Path = Path()

    @property
    def folder(self) -> Path:
        return self.cache / self.name


def pretend_fast_disk(home: Path) -> None:
    """Store a profile of this machine for the engines, by which each chat is worth saving, however fast it is read.

    With a profile the engines do not measure the machine in idle time either, which would disturb the other process.
    """
    memory, cores = machine.memory(), machine.default_threads()
    profile = Profile(
        ram_total_bytes=memory.total,
        ram_available_bytes=memory.available,
        read_bandwidth_bytes_per_s=1e10,
        flops_f32_per_s=1e11,
        disk_read_bytes_per_s=1e13,
        disk_write_bytes_per_s=1e9,
        physical_cores=cores,
        performance_cores=cores,
        logical_cores=cores,
        threads=cores,
        cpu="",
        last_level_cache_bytes=1 << 24,
        read_bandwidth_by_threads={1: 1e10},
        measured_at=datetime.now(UTC).isoformat(),
        measuring_seconds=1.0,
    )
    ProfilesIn(PROFILES.name, PROFILES.version, Profile, cache=home / "cache").put(profile, machine.fingerprint())


class Engines:
    """The engine under trial and a second process that is the fresh engine; both may read the models in `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        pretend_fast_disk(home)
        self.tried = EngineProcess(home)
        self.fresh = EngineProcess(home)

    def restart(self) -> None:
        """Replace the engine under trial by a new process."""
        self.tried.close()
        self.tried = EngineProcess(self.home)

    def renew(self) -> None:
        """Replace what has crashed."""
        if self.tried.process.poll() is not None:
            self.restart()
        if self.fresh.process.poll() is not None:
            self.fresh.close()
            self.fresh = EngineProcess(self.home)

    def close(self) -> None:
        """End both processes."""
        self.tried.close()
        self.fresh.close()


class ModelTrial:
    """Trial of one model in all steps; `trial` is the result.

    `words`: of each of the three questions. `short`: with short questions and one stop, and without a look at the plan,
    which needs a process of its own.
    """

    def __init__(
        self, name: str, path: Path, engines: Engines, seed: int, words: int = QUESTION, *, short: bool = False
    ) -> None:
        self.trial = Trial(name)
        self.path = path
        self.engines = engines
        self.short = short
        self.words, self.turns, self.stops = (SHORT_QUESTION, 2, 1) if short else (words, 3, STOPS)
        self.dice = random.Random(seed)
        self.flash_attention: FlashAttention = "off"
        self._expected: dict[str, Answer] = {}

    def run(self) -> Trial:
        """Run all steps, as far as the process lives, and return the result."""
        started = time.perf_counter()
        try:
            try:
                self.load(self.engines.tried)
            except Refused:  # llama.cpp needs flash attention where keys and values differ in size
                self.flash_attention = "auto"
                self.load(self.engines.tried)
        except Refused as refusal:
            self.trial.refused = str(refusal)
        except Broken as broken:
            self.trial.wrong.append(f"load: {broken}")
        else:
            self._steps()
        self.engines.renew()
        self.trial.seconds = time.perf_counter() - started
        return self.trial

    def _steps(self) -> None:
        chat = [self.message(self.words)]
        steps: tuple[Callable[[], None], ...] = (
            self.grow,
            lambda: self.ask_turns(chat),
            lambda: self.try_again(chat),
            lambda: self.edit(chat),
            lambda: self.stop(chat),
            lambda: self.continue_answer(chat),
            self.draft,
            lambda: self.restart(chat),
            self.measure,
            self.fill_context,
        )
        names = "growing", "chat", "again", "edit", "stop", "continue", "drafts", "restart", "plan", "full context"
        for name, step in zip(names, steps, strict=True):
            try:
                step()
            except Refused as refusal:
                self.trial.wrong.append(f"{name}: {refusal}")
            except Broken as broken:
                self.trial.wrong.append(f"{name}: {broken}")
                return

    def load(
        self, engine: EngineProcess, n_ctx: int = CONTEXT, flash_attention: FlashAttention | None = None
    ) -> Loaded:
        """Load the model. Raises Refused."""
        flash_attention = flash_attention or self.flash_attention
        request = Load(
            engine.next_id(), str(self.path), n_ctx, threads=1, backend="llama", flash_attention=flash_attention
        )
        loaded = engine.ask(request)
        assert isinstance(loaded, Loaded), loaded
        return loaded

    def ask(self, messages: Sequence[Message], engine: EngineProcess | None = None, **more: Any) -> Answer:
        """Answer with the engine under trial, or with another one."""
        engine = engine or self.engines.tried
        *events, finished = engine.events(self._request(engine, messages, **more))
        assert isinstance(finished, Finished), finished
        text = "".join(event.text for event in events if isinstance(event, Text))
        logprobs = tuple(token.logprob for event in events if isinstance(event, Logprobs) for token in event.tokens)
        s = finished.statistics
        read = s.prompt_tokens - s.reused_tokens
        return Answer(text, finished.tokens, logprobs, read, s.prompt_tokens, s.stop_reason, s.drafted, s.accepted)

    def _request(self, engine: EngineProcess, messages: Sequence[Message], **more: Any) -> Generate:
        usual: dict[str, Any] = {
            "sampling": VARIED,
            "max_tokens": ANSWER,
            "draft": "off",
            "chat": "trial",
            "top_logprobs": 0,
        }
        return Generate(engine.next_id(), tuple(messages), **(usual | more))

    def expected(
        self,
        messages: Sequence[Message],
        n_ctx: int = CONTEXT,
        flash_attention: FlashAttention | None = None,
        **more: Any,
    ) -> Answer:
        """Return the answer of an engine that has just loaded the model."""
        self.load(self.engines.fresh, n_ctx, flash_attention)
        return self.ask(messages, self.engines.fresh, chat="", **more)

    def check(self, step: str, messages: Sequence[Message], *parts: Answer, **more: Any) -> None:
        """Compare an answer, which may have several parts, with that of a fresh engine, and note what is wrong."""
        key = str((messages, sorted(more.items())))
        if key not in self._expected:
            self._expected[key] = self.expected(messages, **more)
        expected = self._expected[key]
        tokens = [token for part in parts for token in part.tokens]
        if tuple(tokens) == expected.tokens:
            return
        first = common_prefix(tokens, expected.tokens)
        logprobs = [logprob for part in parts for logprob in part.logprobs]
        if self._is_tie(first, logprobs, expected) or self._is_disputed(first, expected.tokens, messages, **more):
            self.trial.near_ties += 1
        else:
            self.trial.wrong.append(f"{step}: token {first} of {len(expected.tokens)} differs")

    def _is_tie(self, first: int, logprobs: Sequence[float], expected: Answer) -> bool:
        """Return whether two answers chose equally probable tokens at `first`."""
        both = logprobs[first : first + 1], expected.logprobs[first : first + 1]
        return all(both) and abs(both[0][0] - both[1][0]) < TIE

    def _is_disputed(self, first: int, expected: Sequence[int], messages: Sequence[Message], **more: Any) -> bool:
        """Return whether even fresh engines do not agree on the answer up to the token at `first`."""
        others = [self.expected(messages, **{"flash_attention": self._other_attention, **more})]
        others += [self._read_in_two(messages, part, **more) for part in PARTS]
        return any(common_prefix(other.tokens, expected) <= first < len(expected) for other in others)

    @property
    def _other_attention(self) -> FlashAttention:
        return "auto" if self.flash_attention == "off" else "off"

    def _read_in_two(self, messages: Sequence[Message], part: float, n_ctx: int = CONTEXT, **more: Any) -> Answer:
        """Return the answer of an engine that has just loaded the model and reads a part of the last question first."""
        fresh, last = self.engines.fresh, messages[-1]
        self.load(fresh, n_ctx)
        beginning = Message(last.role, last.content[: int(part * len(last.content))])
        fresh.ask(Prepare(fresh.next_id(), (*messages[:-1], beginning)))
        return self.ask(messages, fresh, chat="", **more)

    def message(self, words: int) -> Message:
        """Return a question of random words, about six tokens each."""
        return Message("user", " ".join(self.dice.choice(WORDS) for _ in range(words)))

    # --- the steps ---

    def grow(self) -> None:
        """Let the cache grow in the middle of an answer; the parts are from caches that grew before them."""
        question = self.message(34)
        whole = self.ask([question], max_tokens=GROWING)
        self.load(self.engines.tried)
        text, parts = "", list[Answer]()
        for _ in range(3):
            messages = [question, Message("assistant", text)] if text else [question]
            part = self.ask(messages, max_tokens=GROWING // 3, continue_last=bool(text))
            text += part.text
            parts.append(part)
        self.check("growing", [question], whole, max_tokens=GROWING)
        self.check("growing in parts", [question], *parts, max_tokens=GROWING)

    def ask_turns(self, chat: list[Message]) -> None:
        """Ask questions, which make `chat` longer."""
        for turn in range(self.turns):
            answer = self.ask(chat)
            self.check(f"question {turn + 1}", chat, answer)
            self.trial.prompt = answer.prompt
            if turn < self.turns - 1:
                chat += [Message("assistant", answer.text), self.message(self.words)]

    def try_again(self, chat: list[Message]) -> None:
        """Answer the last question once more."""
        answer = self.ask(chat)
        self.trial.again = answer.read
        self.check("again", chat, answer)

    def edit(self, chat: list[Message]) -> None:
        """Edit the last question in its middle, then go back to the branch before."""
        words = chat[-1].content.split()
        words[len(words) // 2] = "owl"
        edited = [*chat[:-1], Message("user", " ".join(words))]
        answer = self.ask(edited)
        same = common_prefix(chat[-1].content.encode(), edited[-1].content.encode())
        self.trial.edited = answer.read - (len(edited[-1].content) - same) - TAIL
        self.check("edit", edited, answer)
        self.check("the branch before", chat, self.ask(chat))

    def stop(self, chat: list[Message]) -> None:
        """Stop in the middle of a long prompt, then at random moments; each time an answer follows."""
        question = [*chat[:-1], self.message(2 * self.words)]
        held = self._stop_while_reading(question)
        answer = self.ask(question)
        unread = answer.prompt - min(held, answer.prompt - 1)  # the last token always runs
        self.trial.stopped = max(0, answer.read - unread)
        self.check("stop", question, answer)
        engine = self.engines.tried
        for i in range(self.stops):
            request = self._request(engine, question if i % 2 else chat, max_tokens=200)
            engine.send(request)
            time.sleep(self.dice.random() * LONGEST_WAIT)
            engine.cancel(request)
            while not (isinstance(event := engine.next_event(), Finished | Failed) and event.id == request.id):
                pass
            after = self.dice.choice((chat, question))
            self.check(f"random stop {i + 1}", after, self.ask(after))

    def _stop_while_reading(self, messages: Sequence[Message]) -> int:
        """Stop once half of a prompt's new tokens are read, and return how many tokens were in the cache then."""
        engine = self.engines.tried
        request = self._request(engine, messages)
        held, stopped = 0, False
        for event in engine.events(request):
            if isinstance(event, PrefillProgress):
                held = event.done
                if not stopped and event.done - event.reused > (event.total - event.reused) // 2:
                    engine.cancel(request)
                    stopped = True
        return held

    def continue_answer(self, chat: list[Message]) -> None:
        """Cut an answer in its middle and continue it."""
        half = ANSWER // 2
        first = self.ask(chat, max_tokens=half)
        if not first.text.strip():  # llama.cpp lets Chameleon write none of our tokens
            return
        more = self.ask([*chat, Message("assistant", first.text)], max_tokens=half, continue_last=True)
        self.check("continue", chat, first, more)

    def draft(self) -> None:
        """Answer with drafts that are always verified; the expected answer is one without."""
        question = [Message("user", "Say it again: " + "tit, wren, robin, finch; " * 20)]
        plain: dict[str, Any] = {"sampling": GREEDY, "max_tokens": 96}
        drafted = self.ask(question, draft="history-published", **plain)
        self.trial.accepted = drafted.accepted
        self.check("drafts", question, drafted, **plain)

    def restart(self, chat: list[Message]) -> None:
        """Save the chat by loading the model again, and try again in a new process."""
        self.ask(chat)
        self.load(self.engines.tried)
        self.engines.restart()
        self.load(self.engines.tried)
        answer = self.ask(chat)
        self.trial.restarted = answer.read
        self.check("restart", chat, answer)

    def measure(self) -> None:
        """Compare the plan with the most memory of a new process, which ends with a full cache and flash attention."""
        if self.short:
            return
        self.engines.restart()
        planned = sum(self.load(self.engines.tried, flash_attention="auto").model.plan.values())
        for letters in (CONTEXT // 2, CONTEXT - 256):
            self.ask([Message("user", "a" * letters)])
        self.trial.plan = planned / peak_bytes(self.engines.tried.process.pid)

    def fill_context(self) -> None:
        """Answer until a small context is full; the next question is refused until the chat forgets turns."""
        self.load(self.engines.tried, SMALL_CONTEXT)
        first = self.message(30)
        answer = self.ask([first], max_tokens=None)
        if answer.stop_reason not in ("context", "end"):
            self.trial.wrong.append(f"full context: stopped because of {answer.stop_reason}")
        chat = [first, Message("assistant", answer.text), self.message(30)]
        try:
            self.ask(chat)
        except Refused as refusal:
            turns = next((r.turns for r in refusal.failed.remedies if r.kind == "forget_turns"), 0)
            if not turns:
                raise
            after = self.ask(chat, forget_turns=turns)
            self.check("full context", chat, after, n_ctx=SMALL_CONTEXT, forget_turns=turns)
