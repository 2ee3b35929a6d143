"""One answer: reads the prompt, decodes tokens, streams text and counts everything."""

from __future__ import annotations

import codecs
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from common.reasoning import Piece, ReasoningParser, overlap
from engine.generation.decode import DecodePass, Step, decode
from engine.generation.sampling import Sampler, ScoredToken, score
from engine.generation.thinking import ThoughtLimit, ThoughtMeter
from engine.generation.tool_calls import CallPiece, CallReader
from engine.generation.urgent import UrgentWork
from engine.kv.policy import PartialFixed
from engine.kv.session import Session
from engine.protocol.events import (
    Event,
    Finished,
    Logprobs,
    PrefillProgress,
    Statistics,
    Text,
    Thinking,
    ThinkingEnded,
    ThinkingStarted,
    TokenLogprob,
    ToolCallArguments,
    ToolCallStarted,
    Trace,
)
from engine.protocol.requests import StopReason
from engine.runtime.interface import PictureRuntime, Runtime, thread_counts_of
from engine.speculative.drafting import Drafting, Tally
from engine.stop import Stopped
from engine.tokenization.pictures import text_tokens


@dataclass(slots=True)
class AnswerCounts:
    """Counts of an answer in progress; they become Statistics at its end."""

    tokens: list[int] = field(default_factory=list)
    reused: int = 0
    read: int = 0  # tokens of the prompt beyond the reused ones
    passes: int = 0
    recomputed: int = 0
    prompt_seconds: float = 0.0
    picture_seconds: float = 0.0
    encoded_tokens: int = 0
    decode_seconds: float = 0.0
    recompute_seconds: float = 0.0
    drafts: Tally = field(default_factory=Tally)
    batch: int = 0  # tokens of the last pass

    def add(self, step: Step) -> None:
        """Count a step and the pass that produced it."""
        self.tokens.extend(step.tokens)
        if step.source:
            self.passes += 1
            self.batch = step.source.inputs + step.source.drafted
            self.recomputed += step.source.recomputed
            self.recompute_seconds += step.source.seconds * step.source.recomputed / step.source.inputs
            self.drafts.add(step.source.draft, step.source.accepted, step.source.seconds)


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Options of one answer.

    `stops`: strings that end the answer. `max_tokens`: limit of its length (None: no limit). `trace`: report every pass
    as a Trace event. `opening`: the end of the prompt that belongs to the answer, such as a marker that opens the
    model's reasoning. `answer_so_far`: the answer so far, if the answer continues one. `thinking_budget`: most tokens
    of its thoughts (0: no limit). `calls`: reader of its tool calls, if it may have any. `piece`: returns the text of a
    token, if that is not the vocabulary's own. `score_prompt`: report the prompt's tokens too, of which none may be a
    picture's. `urgent`: work that may come between two steps.
    """

    stops: tuple[str, ...] = ()
    max_tokens: int | None = None
    trace: bool = False
    opening: str = ""
    answer_so_far: str = ""
    thinking_budget: int = 0
    calls: CallReader | None = None
    piece: Callable[[int], bytes] | None = None
    score_prompt: bool = False
    urgent: UrgentWork = field(default_factory=UrgentWork)


class Answer:
    """One answer, for a single use: `events` runs it and counts into `counts` and `thoughts`.

    `observe` is called with every pass whose time is reliable, so that the cost model can learn from it.
    """

    def __init__(
        self,
        session: Session,
        sampler: Sampler,
        kv: PartialFixed,
        options: AnswerOptions,
        drafting: Drafting | None = None,
        observe: Callable[[DecodePass], None] = lambda _decode_pass: None,
    ) -> None:
        self.session = session
        self.sampler = sampler
        self.kv = kv
        self.options = options
        self.observe = observe
        self.drafting = drafting or Drafting()
        self.text = TextStream(options.stops)
        self.reasoning = ReasoningParser()
        self.reasoning.resume(options.answer_so_far)
        self.counts = AnswerCounts()
        self.thoughts = ThoughtMeter(self._now)
        self._called = 0  # tools so far
        vocabulary = session.runtime.vocabulary
        self._piece = options.piece or vocabulary.piece
        self._limit = ThoughtLimit(
            self.reasoning,
            self.thoughts,
            options.thinking_budget,
            lambda text: vocabulary.tokenize(text, special=True),
            lambda: self.text.is_whole,
        )

    def _now(self) -> float:
        """Return the time in seconds, without that of urgent work."""
        return time.perf_counter() - self.options.urgent.seconds

    def end_thought(self) -> bool:
        """End the open thought soon; return False if no thought is open. Any thread may call this."""
        return self._limit.answer_now()

    def events(self, id: int, prompt: Sequence[int]) -> Iterator[Event]:
        """Yield PrefillProgress, Trace and the events of the answer's text, and at the end Finished.

        Finished is the last event also of a stopped answer. Raises Failure if the KV cache cannot hold the prompt.
        """
        reason: StopReason | None = None
        started, encoded = time.perf_counter(), encoder_work(self.session.runtime)
        try:
            yield from self._score(id, prompt) if self.options.score_prompt else self._prefill(id, prompt)
        except Stopped:
            reason = "cancelled"
        self.counts.prompt_seconds = time.perf_counter() - started
        seconds, tokens = encoder_work(self.session.runtime)
        self.counts.picture_seconds, self.counts.encoded_tokens = seconds - encoded[0], tokens - encoded[1]
        if reason is None:
            reason = "length" if self.options.max_tokens == 0 else (yield from self._decode(id))
        yield Finished(id, self._statistics(prompt, reason), tuple(self.counts.tokens))

    def _prefill(self, id: int, prompt: Sequence[int]) -> Iterator[Event]:
        for progress in self.session.prefill(prompt):
            self.counts.reused, self.counts.read = progress.reused, progress.done - progress.reused
            yield PrefillProgress(id, progress.done, len(prompt), progress.reused, progress.looking)

    def _score(self, id: int, prompt: Sequence[int]) -> Iterator[Event]:
        """Read the prompt from its beginning; yield the probabilities of its tokens, of which the first has none."""
        piece, top = self.session.runtime.vocabulary.piece, self.sampler.top_logprobs or 0
        yield Logprobs(id, (token_logprob(ScoredToken(prompt[0], 0.0, ()), piece),))
        for run in self.session.read_rows(prompt):
            self.counts.read = run.stop
            yield PrefillProgress(id, run.stop, len(prompt), 0)
            assert self.session.logits
            following = prompt[run.start + 1 : run.stop + 1]
            scored = [score(self.session.logits.row(i), token, top) for i, token in enumerate(following)]
            if scored:
                yield Logprobs(id, tuple(token_logprob(each, piece) for each in scored))

    def _decode(self, id: int) -> Generator[Event, None, StopReason]:
        started = self._now()
        reason: StopReason = "cancelled"
        self.thoughts.begin(self._continued_thought_tokens())
        pieces = self.reasoning.feed(self.options.opening)  # told with the first text
        for step in decode(self.session, self.sampler, self.kv, self.options.max_tokens, self.drafting, self._limit):
            self.counts.add(step)
            if self.sampler.scored:
                yield from self._logprobs(id, step)
            for token in step.tokens:
                pieces += self._read(token)
            self.counts.decode_seconds = self._now() - started
            if self.text.has_text:
                yield from self._events(id, joined(pieces))
                pieces = []
            if step.source:
                if not step.source.timing_unreliable:
                    self.observe(step.source)
                if self.options.trace:
                    yield trace_event(id, self.counts.passes, step.source)
            if self.text.stopped:
                reason = "stop"
                break
            reason = step.end or reason
            if step.source and not step.end and not self._give_way():
                break
        yield from self._finish(id, pieces)
        calls = self.options.calls
        return "tool_calls" if calls and calls.calls and reason in ("end", "stop") else reason

    def _give_way(self) -> bool:
        """Do urgent work, if some waits; return False if this answer was stopped meanwhile.

        Drafters then learn again what this answer has so far.
        """
        if self.options.urgent.is_due():
            try:
                self.options.urgent.do()
            except Stopped:
                return False
            self.drafting.begin([*self.session.tokens, *self.kv.pending])
        return True

    def _finish(self, id: int, pieces: list[Piece]) -> Iterator[Event]:
        """End the answer's text; yield the events of its last pieces and of what was held back."""
        rest = [*self.reasoning.feed(self.text.finish()), *self.reasoning.close()]
        self.thoughts.add(rest, tokens=0)
        if self.text.has_text:
            yield from self._events(id, pieces + rest)
        if self.reasoning.closing:
            self.thoughts.close()
        if self.options.calls:
            yield from (self._event(id, piece) for piece in self.options.calls.close())

    def _logprobs(self, id: int, step: Step) -> Iterator[Event]:
        """Yield the probabilities of the step's tokens; an end token and forced ones have none."""
        scored, self.sampler.scored = self.sampler.scored[: len(step.tokens)], []
        if scored:
            piece = self.session.runtime.vocabulary.piece
            yield Logprobs(id, tuple(token_logprob(token, piece) for token in scored))

    def _continued_thought_tokens(self) -> int:
        """Return the number of tokens of the open thought that this answer continues."""
        if not self.reasoning.closing:
            return 0
        return len(self.session.runtime.vocabulary.tokenize(self.reasoning.sections.all[-1].text, special=False))

    def _read(self, token: int) -> list[Piece]:
        """Read a token of the answer and return the pieces whose kind is now certain."""
        pieces = self.reasoning.feed(self.text.feed(self._piece(token)))
        self.thoughts.add(pieces, tokens=1)
        return pieces

    def _events(self, id: int, pieces: Sequence[Piece]) -> Iterator[Event]:
        """Yield the events that carry pieces of the answer."""
        for piece in pieces:
            if piece.kind == "text" and self.options.calls:
                yield from (self._event(id, part) for part in self.options.calls.feed(piece.text))
            else:
                yield self._event(id, piece)

    def _event(self, id: int, piece: Piece | CallPiece) -> Event:
        """Return the event that carries a piece of the answer."""
        match piece.kind:
            case "opened":
                return ThinkingStarted(id, piece.text)
            case "thought":
                return Thinking(id, piece.text)
            case "closed" | "unopened":
                thoughts, opened = self.thoughts, piece.kind == "closed"
                return ThinkingEnded(id, piece.text, opened, thoughts.last_tokens, thoughts.last_seconds)
            case "text":
                return Text(id, piece.text)
            case "started":
                self._called += 1
                return ToolCallStarted(id, self._called - 1, f"call_{secrets.token_hex(8)}", piece.text)
            case "arguments":
                return ToolCallArguments(id, self._called - 1, piece.text)

    def _statistics(self, prompt: Sequence[int], reason: StopReason) -> Statistics:
        counts, threads = self.counts, thread_counts_of(self.session.runtime)
        return Statistics(
            prompt_tokens=len(prompt),
            reused_tokens=counts.reused,
            prompt_seconds=counts.prompt_seconds,
            decode_tokens=len(counts.tokens),
            decode_seconds=counts.decode_seconds,
            steps=counts.passes,
            stop_reason=reason,
            context_tokens=len(self.session.tokens),
            n_ctx=self.session.limit,
            kv_policy=self.kv.policy.name,
            pending_tokens=len(self.kv.pending),
            recomputed_tokens=counts.recomputed,
            recompute_seconds=counts.recompute_seconds,
            drafted=counts.drafts.drafted,
            accepted=counts.drafts.accepted,
            drafters=counts.drafts.drafters,
            drafting_seconds=self.drafting.seconds,
            verifying_seconds=counts.drafts.verifying_seconds,
            estimated_speedup=counts.drafts.estimated_speedup,
            thinking_tokens=self.thoughts.tokens,
            thinking_seconds=self.thoughts.seconds,
            picture_tokens=len(prompt) - len(text_tokens(prompt)),
            encoded_tokens=counts.encoded_tokens,
            picture_seconds=counts.picture_seconds,
            threads=threads.decode,
            prompt_threads=threads.prompt,
            unread_tokens=len(prompt) - counts.reused - counts.read,
        )


def encoder_work(runtime: Runtime) -> tuple[float, int]:
    """Return for how many seconds the runtime has encoded pictures, and their tokens; zeros for one that is blind."""
    return runtime.encoder_work if isinstance(runtime, PictureRuntime) else (0.0, 0)


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces with neighbours of one kind joined, so that a step with a draft is not many events."""
    return [Piece(kind, "".join(piece.text for piece in group)) for kind, group in groupby(pieces, lambda p: p.kind)]


def token_logprob(scored: ScoredToken, piece: Callable[[int], bytes]) -> TokenLogprob:
    """Return a scored token with its text, as an event has it."""

    def told(token: int, logprob: float, top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
        return TokenLogprob(token, piece(token).decode(errors="replace"), tuple(piece(token)), logprob, top)

    return told(scored.token, scored.logprob, tuple(told(token, logprob) for token, logprob in scored.top))


def trace_event(id: int, step: int, source: DecodePass) -> Trace:
    """Return the Trace event of a pass, the `step`-th of its answer."""
    decision, draft = source.decision, source.draft
    return Trace(
        id=id,
        step=step,
        inputs=source.inputs,
        depth=source.depth,
        recomputed=source.recomputed,
        seconds=source.seconds,
        keep=decision.keep,
        reason=decision.reason,
        drafted=source.drafted,
        accepted=source.accepted,
        draft_reason=draft.reason,
        drafter=draft.drafter,
        expected=draft.expected,
        gain=draft.gain,
        plain_seconds=draft.plain_seconds,
        pass_seconds=draft.pass_seconds,
        drafting_seconds=draft.drafting_seconds,
    )


class TextStream:
    """Converter from token bytes to text that can be shown: whole characters only, and no part of a stop string.

    `feed` returns text as soon as later bytes can no longer change it.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.stops = tuple(stops)
        self.stopped = False
        self.has_text = False  # whether any text was returned
        self._held = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, token_bytes: bytes) -> str:
        """Append bytes and return the text that is final now.

        After a stop string, `stopped` is True and nothing more is returned.
        """
        if self.stopped:
            return ""
        text = self._held + self._decoder.decode(token_bytes)
        stop_at = min((at for at in (text.find(stop) for stop in self.stops) if at >= 0), default=-1)
        self.stopped = stop_at >= 0
        final = stop_at
        if not self.stopped:
            final = len(text) - max((overlap(text, stop) for stop in self.stops), default=0)
        self._held = "" if self.stopped else text[final:]
        self.has_text |= final > 0
        return text[:final]

    @property
    def is_whole(self) -> bool:
        """Whether the bytes so far end with a whole character."""
        return not self._decoder.getstate()[0]

    def finish(self) -> str:
        """Return the text that was held back as a possible stop string.

        Bytes of an unfinished character are dropped.
        """
        held, self._held = self._held, ""
        self.has_text |= bool(held)
        return held
