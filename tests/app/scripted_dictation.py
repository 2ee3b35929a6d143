"""The two processes of a dictation with a script in place of a microphone and a speech model.

`python -m tests.app.scripted_dictation record WAV NAME` gives a WAV file (16 kHz, mono, 16 bits) as the recording;
`recognise ENDING KIND PATH` answers with the number of bytes that it got, or ends as ENDING says.
"""

from __future__ import annotations

import os
import sys
import wave

import msgspec

from app.services.microphone import PIECE_MS, Sound
from common.sentences import Sentence
from engine.protocol.lines import claim_stdout
from engine.protocol.speech import SAMPLE_RATE, Recognise, Recognised

MODULE = [sys.executable, "-m", "tests.app.scripted_dictation"]
output = claim_stdout()


def say(message: msgspec.Struct) -> None:
    output.write(msgspec.json.encode(message) + b"\n")
    output.flush()


def record(path: str, _name: str) -> None:
    """Say the whole file at once, then wait until stdin is closed, as a person does who says no more."""
    if not path.endswith(".wav"):
        say(Sound(problem=Sentence.of(path)))
        return
    with wave.open(path) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (SAMPLE_RATE, 1, 2)
        while piece := file.readframes(SAMPLE_RATE * PIECE_MS // 1000):
            say(Sound(piece))
    sys.stdin.buffer.read()


def recognise(ending: str, _kind: str, _path: str) -> None:
    if ending == "dies":
        os._exit(3)
    if ending != "answers":
        say(Recognised(problem=Sentence.of(ending)))
        return
    say(Recognised(is_answer=False))
    if line := sys.stdin.buffer.readline():
        request = msgspec.json.decode(line, type=Recognise)
        say(Recognised(f"{len(request.audio)} bytes {request.language}".strip()))


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(*sys.argv[2:])
    else:
        recognise(*sys.argv[2:])
