"""Messages of the process that recognises speech, `engine recognise`: one line each way, besides a first one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from common.sentences import Sentence

SAMPLE_RATE = 16_000  # samples a second, of one channel; the only rate that whisper's models know
WITHOUT_BLANKS = "\u2e80"  # from here on: Chinese, Japanese and Korean
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
    """Return the recognised sentences as one text, with blanks between them where their script has blanks."""
    text = ""
    for segment in filter(None, map(str.strip, segments)):
        text += " " * (text != "" and max(text[-1], segment[0]) < WITHOUT_BLANKS) + segment
    return text
