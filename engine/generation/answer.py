"""One answer: prompt read, tokens decoded, text streamed, everything counted. Knows no messages and no template."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field

from engine.generation.decode import Pass, Step, decode
from engine.generation.sampling import Sampler
from engine.generation.text import TextStream
from engine.kv.policy import PartialFixed
from engine.kv.session import Session
from engine.protocol import Event, Finished, PrefillProgress, Statistics, StopReason, Text, Trace
from engine.speculative.drafting import Drafting, Off
from engine.speculative.tally import Tally
from engine.stop import Stopped


@dataclass(slots=True)
class Counts:
    """What is counted while an answer is made; becomes Statistics at its end."""

    tokens: list[int] = field(default_factory=list)
    reused: int = 0
    passes: int = 0
    recomputed: int = 0
    prompt_seconds: float = 0.0
    decode_seconds: float = 0.0
    recompute_seconds: float = 0.0
    drafts: Tally = field(default_factory=Tally)
    batch: int = 0  # tokens of the last pass

    def add(self, step: Step) -> None:
        self.tokens.extend(step.tokens)
        if step.source:
            self.passes += 1
            self.batch = step.source.inputs + step.source.drafted
            self.recomputed += step.source.recomputed
            self.recompute_seconds += step.source.seconds * step.source.recomputed / step.source.inputs
            self.drafts.add(step.source.draft, step.source.accepted, step.source.seconds)


class Answer:
    """Single use: `events` runs it, and what is counted meanwhile ends up in Finished."""

    def __init__(
        self,
        session: Session,
        sampler: Sampler,
        kv: PartialFixed,
        stops: Sequence[str],
        observe: Callable[[Pass], None] = lambda _passed: None,
        drafting: Drafting | None = None,
    ) -> None:
        self.session = session
        self.sampler = sampler
        self.kv = kv
        self.observe = observe  # told of every pass, to learn what passes cost
        self.drafting = drafting or Off()
        self.text = TextStream(stops)
        self.counts = Counts()

    def events(self, id: int, prompt: Sequence[int], max_tokens: int | None, trace: bool = False) -> Iterator[Event]:
        """PrefillProgress, Text and Trace events, and Finished as the last one, also when the answer was stopped."""
        reason: StopReason | None = None
        started = time.perf_counter()
        try:
            for progress in self.session.read(prompt):
                self.counts.reused = progress.reused
                yield PrefillProgress(id, progress.done, len(prompt), progress.reused)
        except Stopped:
            reason = "cancelled"
        self.counts.prompt_seconds = time.perf_counter() - started
        if reason is None:
            reason = yield from self._decode(id, max_tokens, trace)
        yield Finished(id, self._statistics(len(prompt), reason), tuple(self.counts.tokens))

    def _decode(self, id: int, max_tokens: int | None, trace: bool) -> Generator[Event, None, StopReason]:
        piece = self.session.runtime.vocabulary.piece
        started = time.perf_counter()
        reason: StopReason = "cancelled"
        for step in decode(self.session, self.sampler, self.kv, max_tokens, self.drafting):
            self.counts.add(step)
            text = self.text.feed(b"".join(map(piece, step.tokens)))
            self.counts.decode_seconds = time.perf_counter() - started
            if text:
                yield Text(id, text)
            if step.source:
                if not step.source.timing_unreliable:
                    self.observe(step.source)
                if trace:
                    yield traced(id, self.counts.passes, step.source)
            if self.text.stopped:
                reason = "stop"
                break
            reason = step.end or reason
        if rest := self.text.finish():
            yield Text(id, rest)
        return reason

    def _statistics(self, prompt_tokens: int, reason: StopReason) -> Statistics:
        counts = self.counts
        return Statistics(
            prompt_tokens=prompt_tokens,
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
        )


def traced(id: int, step: int, source: Pass) -> Trace:
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
