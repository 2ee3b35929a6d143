"""One answer: prompt read, tokens decoded, text streamed, everything counted. Knows no messages and no template."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence

from engine.decode import decode
from engine.protocol import Event, Finished, PrefillProgress, Statistics, StopReason, Text
from engine.session import Session
from engine.stop import Stopped
from engine.target import Sampler
from engine.text import TextStream


class Answer:
    """Single use: `events` runs it, and what is counted meanwhile ends up in Finished."""

    def __init__(self, session: Session, sampler: Sampler, stops: Sequence[str]) -> None:
        self.session = session
        self.sampler = sampler
        self.text = TextStream(stops)
        self.tokens: list[int] = []
        self.reused = 0
        self.passes = 0
        self.prompt_seconds = 0.0
        self.decode_seconds = 0.0

    def events(self, id: int, prompt: Sequence[int], max_tokens: int | None) -> Iterator[Event]:
        """PrefillProgress and Text events, and Finished as the last one, also when the answer was stopped."""
        reason: StopReason | None = None
        started = time.perf_counter()
        try:
            for progress in self.session.read(prompt):
                self.reused = progress.reused
                yield PrefillProgress(id, progress.done, len(prompt), progress.reused)
        except Stopped:
            reason = "cancelled"
        self.prompt_seconds = time.perf_counter() - started
        if reason is None:
            reason = yield from self._decode(id, max_tokens)
        yield Finished(id, self._statistics(len(prompt), reason), tuple(self.tokens))

    def _decode(self, id: int, max_tokens: int | None) -> Generator[Event, None, StopReason]:
        piece = self.session.target.vocabulary.piece
        started = time.perf_counter()
        reason: StopReason = "cancelled"
        for count, step in enumerate(decode(self.session, self.sampler, max_tokens)):
            self.passes = count
            self.tokens.extend(step.tokens)
            text = self.text.feed(b"".join(map(piece, step.tokens)))
            self.decode_seconds = time.perf_counter() - started
            if text:
                yield Text(id, text)
            if self.text.stopped:
                reason = "stop"
                break
            if step.end:
                reason = step.end
        if rest := self.text.finish():
            yield Text(id, rest)
        return reason

    def _statistics(self, prompt_tokens: int, reason: StopReason) -> Statistics:
        return Statistics(
            prompt_tokens=prompt_tokens,
            reused_tokens=self.reused,
            prompt_seconds=self.prompt_seconds,
            decode_tokens=len(self.tokens),
            decode_seconds=self.decode_seconds,
            steps=self.passes,
            stop_reason=reason,
            context_tokens=len(self.session.tokens),
            n_ctx=self.session.target.n_ctx,
        )
