"""Dictation as a state machine: what is recorded, and who waits for its text. Knows no Qt and starts no process.

What happens comes in by methods, what shall happen goes out by `Parts`. Whoever has begun a dictation is answered
exactly once, however it ends, and the audio is dropped at that moment.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from app.events import Event
from common.sentences import Sentence
from engine.protocol.speech import SAMPLE_BYTES, SAMPLE_RATE, WITHOUT_BLANKS

MOST_SECONDS = 300.0  # a longer recording ends by itself: 10 MB of audio, and minutes of computing
LEAST_PEAK = 100  # of 32,768: the noise of an open microphone is louder, so a quieter recording is of a muted one
QUIETEST_DB = -50.0  # the level meter's lower end; 0 is as loud as a sample can be
LOUDEST = 32_768
SILENCE, NO_WORDS = Sentence.of("dictation.silence"), Sentence.of("dictation.no_words")
LOST = Sentence.of("dictation.lost")
Phase = Literal["off", "needs_model", "recording", "recognising", "failed"]


class Parts(Protocol):
    """Processes that a dictation uses; their ends come back as events, unless `close` was called before."""

    def start_recorder(self) -> None: ...

    def start_recogniser(self, model: Path) -> None: ...

    def stop_recorder(self) -> None:
        """Ask the recorder to end; `recorder_ended` follows, after the last `heard`."""

    def recognise(self, audio: bytes) -> None:
        """Have the recogniser answer with `recognised` or `recogniser_ended`."""

    def close(self) -> None:
        """End both processes; nothing is heard of them any more."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """End of a dictation: its text, or why there is none; neither if the user has cancelled it."""

    text: str = ""
    problem: Sentence | None = None
    detail: str = ""


class Dictation:
    """One dictation at a time. `changed` is emitted after each change of phase, and while recording, of the level."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.phase: Phase = "off"
        self.level = 0.0  # of the last piece, from 0 to 1
        self.changed: Event[()] = Event()
        self._audio = bytearray()
        self._peak = 0
        self._recorder_runs = False
        self._answered: Callable[[Outcome], object] | None = None

    @property
    def busy(self) -> bool:
        """Whether something is recorded or recognised."""
        return self.phase in ("recording", "recognising")

    @property
    def seconds(self) -> float:
        """Length of the recording."""
        return len(self._audio) / (SAMPLE_RATE * SAMPLE_BYTES)

    @property
    def listens(self) -> bool:
        """Whether the microphone is open: what is said from now on is recorded."""
        return self.phase == "recording" and bool(self._audio)

    # --- what the user does -----------------------------------------------------------------------------------------

    def begin(self, model: Path | None, answered: Callable[[Outcome], object]) -> None:
        """Begin to record, and load the model meanwhile; without one, only say that it is needed.

        A dictation under way goes on; `answered` then hears of a cancelled one.
        """
        if self.busy or model is None:
            self._enter(self.phase if self.busy else "needs_model")
            answered(Outcome())
            return
        self._answered, self._peak, self.level, self._recorder_runs = answered, 0, 0.0, True
        self._enter("recording")
        self._parts.start_recorder()
        if self._recorder_runs:  # else it could not be started
            self._parts.start_recogniser(model)

    def finish(self) -> None:
        """End the recording and have it recognised."""
        if self.phase == "recording":
            self._enter("recognising")
            self._parts.stop_recorder()

    def cancel(self) -> None:
        """Drop the recording or its recognition."""
        if self.busy:
            self._end("off", Outcome())

    def model_arrived(self) -> None:
        """Note that the model, which was missing, is on the disk."""
        if self.phase == "needs_model":
            self._enter("off")

    # --- what the processes tell -------------------------------------------------------------------------------------

    def heard(self, audio: bytes) -> None:
        """Append a piece of the recording."""
        if not (self.busy and self._recorder_runs):
            return
        self._audio += audio
        peak = max(map(abs, array("h", audio[: len(audio) & ~1])), default=0)
        self._peak, self.level = max(peak, self._peak), level_of(peak)
        self.changed.emit()
        if self.seconds >= MOST_SECONDS:
            self.finish()

    def recorder_ended(self, problem: Sentence | None = None, detail: str = "") -> None:
        """Go on with what was recorded; only if that is nothing, a problem ends the dictation."""
        if not (self.busy and self._recorder_runs):
            return
        self._recorder_runs = False
        if self._peak < LEAST_PEAK:
            ended_early = LOST if self.phase == "recording" else SILENCE
            self._end("failed", Outcome(problem=problem or ended_early, detail=detail))
            return
        self._enter("recognising")
        audio, self._audio = bytes(self._audio), bytearray()
        self._parts.recognise(audio)

    def recognised(self, text: str) -> None:
        """End the dictation with its text."""
        if self.phase == "recognising" and not self._recorder_runs:
            self._end("off" if text else "failed", Outcome(text, None if text else NO_WORDS))

    def recogniser_ended(self, problem: Sentence, detail: str = "") -> None:
        """End the dictation, because nothing will be recognised any more."""
        if self.busy:
            self._end("failed", Outcome(problem=problem, detail=detail))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.changed.emit()

    def _end(self, phase: Phase, outcome: Outcome) -> None:
        """Close the processes, drop the audio and answer whoever waits."""
        self._parts.close()
        self._audio, self._recorder_runs = bytearray(), False
        answered, self._answered = self._answered, None
        self._enter(phase)
        if answered is not None:
            answered(outcome)


def level_of(peak: int) -> float:
    """Return how far a sample fills the level meter, from 0 to 1: decibels, as ears hear."""
    decibels = 20 * math.log10(max(peak, 1) / LOUDEST)
    return min(1.0, max(0.0, 1 - decibels / QUIETEST_DB))


def spaced(before: str, text: str, after: str) -> str:
    """Return the text with the blanks that it needs between the letters before and after the cursor."""
    left = " " if _needs_blank(before[-1:], text[:1]) else ""
    right = " " if _needs_blank(text[-1:], after[:1]) else ""
    return f"{left}{text}{right}"


def _needs_blank(left: str, right: str) -> bool:
    """Return whether two neighbouring characters belong to words that a blank separates; Chinese has none."""
    if not left or not right or left.isspace() or right.isspace() or left in "([“‘«" or right in ".,;:!?)]”’»":
        return False
    return max(left, right) < WITHOUT_BLANKS
