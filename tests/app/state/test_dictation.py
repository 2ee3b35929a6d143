"""Dictation in any order of presses and of what two processes do: whoever waits is answered, and no audio stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.state.dictation import LOST, MOST_SECONDS, NO_WORDS, SILENCE, Dictation, Outcome, level_of, spaced
from common.sentences import Sentence
from engine.protocol.speech import SAMPLE_BYTES, SAMPLE_RATE

MODEL = Path("ggml-base.bin")
LOUD, MUTED = b"\x00\x40" * 1600, b"\x01\x00" * 1600
PROBLEM = Sentence.of("dictation.refused")


class ScriptedParts:
    """Processes that do nothing by themselves; `recording` and `recogniser` are whether they run."""

    def __init__(self, cannot_start: bool = False) -> None:
        self.dictation = Dictation(self)
        self.recording = self.recogniser = self.asked_to_stop = False
        self.audio: bytes | None = None
        self._cannot_start = cannot_start

    def start_recorder(self) -> None:
        assert not self.recording
        self.recording = True
        if self._cannot_start:
            self.end_recorder(PROBLEM)

    def start_recogniser(self, model: Path) -> None:
        assert model == MODEL
        assert not self.recogniser
        self.recogniser = True

    def stop_recorder(self) -> None:
        assert self.recording
        self.asked_to_stop = True

    def recognise(self, audio: bytes) -> None:
        assert self.recogniser
        self.audio = audio

    def close(self) -> None:
        self.recording = self.recogniser = self.asked_to_stop = False
        self.audio = None

    def end_recorder(self, problem: Sentence | None = None) -> None:
        self.recording = self.asked_to_stop = False
        self.dictation.recorder_ended(problem)


class Dictating(RuleBasedStateMachine):
    """Machine of all that a user and the two processes can do; `answers` has those of each dictation so far."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = ScriptedParts()
        self.dictation = self.parts.dictation
        self.answers: list[list[Outcome]] = []
        self.said = b""

    def begin(self, model: Path | None) -> None:
        answers: list[Outcome] = []
        self.answers.append(answers)
        if not self.dictation.busy:
            self.said = b""
        self.dictation.begin(model, answers.append)

    @rule()
    def press(self) -> None:
        if self.dictation.phase == "recording":
            self.dictation.finish()
        else:
            self.begin(MODEL)

    @rule()
    def press_without_a_model(self) -> None:
        self.begin(None)

    @rule()
    def model_arrives(self) -> None:
        self.dictation.model_arrived()

    @rule()
    def cancel(self) -> None:
        self.dictation.cancel()

    @rule()
    def finish(self) -> None:
        self.dictation.finish()

    @precondition(lambda self: self.parts.recording)
    @rule(piece=st.sampled_from([LOUD, MUTED]))
    def speak(self, piece: bytes) -> None:
        self.said += piece
        self.dictation.heard(piece)

    @precondition(lambda self: self.parts.recording)
    @rule(problem=st.sampled_from([None, PROBLEM]))
    def recorder_ends(self, problem: Sentence | None) -> None:
        self.parts.end_recorder(problem)

    @precondition(lambda self: self.parts.audio is not None)
    @rule(text=st.sampled_from(["", "buy bread"]))
    def answer(self, text: str) -> None:
        assert self.parts.audio == self.said
        self.dictation.recognised(text)

    @precondition(lambda self: self.parts.recogniser)
    @rule()
    def recogniser_dies(self) -> None:
        self.dictation.recogniser_ended(PROBLEM)

    @rule(event=st.sampled_from(["heard", "recorder_ended", "recognised", "recogniser_ended"]))
    def late_word_of_a_closed_process(self, event: str) -> None:
        """Check that nothing happens if a process that was closed is heard once more."""
        if not self.dictation.busy:
            phase = self.dictation.phase
            getattr(self.dictation, event)(*{"heard": (LOUD,), "recorder_ended": ()}.get(event, (PROBLEM,)))
            assert self.dictation.phase == phase

    @invariant()
    def exactly_the_dictation_under_way_waits(self) -> None:
        waiting = [answers for answers in self.answers if not answers]
        assert len(waiting) == self.dictation.busy
        assert all(len(answers) <= 1 for answers in self.answers)

    @invariant()
    def processes_run_only_during_a_dictation(self) -> None:
        assert self.parts.recogniser == self.dictation.busy
        assert self.parts.asked_to_stop == (self.dictation.phase == "recognising" and self.parts.recording)

    @invariant()
    def audio_is_kept_only_until_it_is_recognised(self) -> None:
        assert (self.dictation.seconds > 0) <= self.parts.recording


TestDictating = Dictating.TestCase


def dictate(parts: ScriptedParts) -> list[Outcome]:
    answers: list[Outcome] = []
    parts.dictation.begin(MODEL, answers.append)
    return answers


def test_a_text_comes_after_the_last_piece():
    parts = ScriptedParts()
    answers = dictate(parts)
    parts.dictation.heard(LOUD)
    parts.dictation.finish()
    parts.dictation.heard(LOUD)  # what the microphone had heard before it was closed
    assert parts.asked_to_stop
    parts.end_recorder()
    assert parts.audio == LOUD + LOUD
    parts.dictation.recognised("buy bread")
    assert answers == [Outcome("buy bread")]
    assert not parts.dictation.busy


@pytest.mark.parametrize(("finishes", "problem"), [(True, SILENCE), (False, LOST)])
def test_a_muted_or_lost_microphone_is_told(finishes, problem):
    parts = ScriptedParts()
    answers = dictate(parts)
    parts.dictation.heard(MUTED)
    if finishes:
        parts.dictation.finish()
    parts.end_recorder()
    assert (answers, parts.dictation.phase) == ([Outcome(problem=problem)], "failed")


def test_what_was_said_before_the_microphone_was_lost_is_recognised():
    parts = ScriptedParts()
    dictate(parts)
    parts.dictation.heard(LOUD)
    parts.end_recorder(PROBLEM)
    assert (parts.audio, parts.dictation.phase) == (LOUD, "recognising")


def test_a_recorder_that_cannot_start_starts_no_recogniser():
    parts = ScriptedParts(cannot_start=True)
    assert dictate(parts) == [Outcome(problem=PROBLEM)]
    assert not parts.recogniser


def test_no_words_are_a_problem():
    parts = ScriptedParts()
    answers = dictate(parts)
    parts.dictation.heard(LOUD)
    parts.end_recorder()
    parts.dictation.recognised("")
    assert answers == [Outcome(problem=NO_WORDS)]


def test_a_long_recording_ends_by_itself():
    parts = ScriptedParts()
    dictate(parts)
    most = b"\x00\x40" * int(SAMPLE_RATE * MOST_SECONDS)
    parts.dictation.heard(most[SAMPLE_BYTES:])
    assert not parts.asked_to_stop
    parts.dictation.heard(most[:SAMPLE_BYTES])
    assert (parts.dictation.phase, parts.asked_to_stop) == ("recognising", True)
    assert parts.dictation.seconds == MOST_SECONDS


def test_the_meter_is_full_at_the_loudest_sample_and_empty_in_silence():
    assert (level_of(0), level_of(32_768)) == (0.0, 1.0)
    assert 0 < level_of(300) < level_of(3_000) < 1


@pytest.mark.parametrize(
    ("before", "text", "after", "whole"),
    [
        ("", "Hello.", "", "Hello."),
        ("Buy", "bread", "", " bread"),
        ("Buy ", "bread", "and", "bread "),
        ("(", "bread", ")", "bread"),
        ("买", "面包", "", "面包"),
        ("a\n", "b", "\nc", "b"),
    ],
)
def test_words_are_set_apart_by_one_blank(before, text, after, whole):
    assert spaced(before, text, after) == whole
