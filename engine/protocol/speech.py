"""Messages of the process that recognises speech, `engine recognise`: one line each way, besides a first one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from common.sentences import Sentence

SAMPLE_RATE = 16_000  # samples a second, of one channel; the only rate that whisper's models know
SAMPLE_BYTES = 2  # signed, little-endian


class Recognise(msgspec.Struct, frozen=True):
    """Request: samples as SAMPLE_RATE and SAMPLE_BYTES say, and an ISO 639 code; "" has the language recognised too."""

    audio: bytes
    language: str = ""


class Recognised(msgspec.Struct, frozen=True):
    """Answer: the text, or why there is none. The first line is none: it says that the model is loaded."""

    text: str = ""
    is_answer: bool = True
    problem: Sentence | None = None
    detail: str = ""


def joined_text(segments: Sequence[str]) -> str:
    """Return the pieces that the library recognised as one text."""
    return " ".join("".join(segments).split())
