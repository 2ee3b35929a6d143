"""Records the microphone in a process of its own: `python -m app.services.microphone [NAME]`. Knows no Qt.

It writes what it hears to stdout as lines of JSON until its stdin is closed. A driver or sound server that hangs or
crashes takes only this process with it. Once the microphone is open, the process gives up network and files.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Generator
from typing import Any, NoReturn

import msgspec

from common.confinement import Rights, confine
from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.lines import claim_stdout
from engine.protocol.speech import SAMPLE_RATE

PIECE_MS = 100
# Without its NULL, which hears silence on a computer that has no microphone.
BACKENDS = ("WASAPI", "COREAUDIO", "PULSEAUDIO", "ALSA")


class Sound(msgspec.Struct, frozen=True):
    """Piece of the recording, as `engine.protocol.speech` describes samples; or why there is none."""

    audio: bytes = b""
    problem: Sentence | None = None
    detail: str = ""


def main(name: str = "") -> NoReturn:
    """Record from the microphone with `name` in its name, or from the system's default, until stdin is closed."""
    output = claim_stdout()
    try:
        pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        device = open_microphone(name)
        device.start(_primed(pieces))
        confine(Rights(processes=False))
        threading.Thread(target=_wait_for_end, args=(pieces,), daemon=True).start()
        while piece := pieces.get():
            output.write(msgspec.json.encode(Sound(piece)) + b"\n")
            output.flush()
    except Failure as failure:
        output.write(msgspec.json.encode(Sound(problem=failure.sentence, detail=failure.detail)) + b"\n")
    output.flush()
    os._exit(0)  # a sound server may take its time to close, and waits for ever while the interpreter ends


def open_microphone(name: str) -> Any:
    """Return miniaudio's open device. Raises Failure."""
    import miniaudio  # late: nothing is loaded that is not used

    for backend in (miniaudio.Backend[each] for each in BACKENDS):
        try:
            found = miniaudio.Devices([backend]).get_captures()
        except miniaudio.MiniaudioError:  # this system has no such sound server
            continue
        if found:
            break
    else:
        raise Failure("dictation.no_microphone")
    chosen = [each["id"] for each in found if name and name.casefold() in each["name"].casefold()]
    if name and not chosen:
        raise Failure("dictation.unknown_microphone", name=name, names=", ".join(each["name"] for each in found))
    try:
        return miniaudio.CaptureDevice(
            miniaudio.SampleFormat.SIGNED16,
            nchannels=1,
            sample_rate=SAMPLE_RATE,
            buffersize_msec=PIECE_MS,
            device_id=chosen[0] if chosen else None,
            backends=[backend],
            app_name="Chickadee",
        )
    except miniaudio.MiniaudioError as error:
        raise Failure("dictation.refused", repr(error)) from error


def _primed(pieces: queue.SimpleQueue[bytes]) -> Generator[None, bytes, None]:
    """Return a generator, at its first `yield`, to which miniaudio's thread sends what it hears."""

    def take() -> Generator[None, bytes, None]:
        while True:
            pieces.put(bytes((yield)))

    generator = take()
    next(generator)
    return generator


def _wait_for_end(pieces: queue.SimpleQueue[bytes]) -> None:
    """Put an empty piece, which ends the recording, behind the others once stdin is closed."""
    sys.stdin.buffer.read()
    pieces.put(b"")


if __name__ == "__main__":
    main(*sys.argv[1:2])
