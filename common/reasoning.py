"""Tells what a model thinks from what it answers, by the markers that it writes around its thoughts.

The engine does it while a text is written, the window with texts that are stored.

A thought stands at the beginning of an answer, or right behind another one; what looks like a marker further on is
text. Where the chat's template has opened the thought already, the text begins inside it; its end shows that it did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think")
# What opens a thought, what closes it: of Qwen, DeepSeek and most others; Magistral; Kimi; Command R; gpt-oss; Gemma.
MARKERS = (
    *((f"<{tag}>", (f"</{tag}>",)) for tag in TAGS),
    ("[THINK]", ("[/THINK]",)),
    ("◁think▷", ("◁/think▷",)),
    ("<|START_THINKING|>", ("<|END_THINKING|>",)),
    (
        "<|channel|>analysis<|message|>",
        (
            "<|end|><|start|>assistant<|channel|>final<|message|>",
            "assistant<|channel|>final<|message|>",
            "<|channel|>final<|message|>",
        ),
    ),
    ("<|channel>analysis\n", ("<channel|>",)),
    ("<|channel>thought\n", ("<channel|>",)),
)
UNOPENED = ("</think>", "[/THINK]", "◁/think▷")
_SIGNS = ("think", "THINK", "<thought", "<reasoning>", "<reflection>", "<|channel")


Kind = Literal["text", "opened", "thought", "closed", "unopened"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Of an answer, as it was written: all pieces together are the answer, markers and blanks included.

    `opened` and `closed` are the markers around a thought; `unopened` closes one that no marker has opened: all of the
    text before it was a thought."""

    kind: Kind
    text: str


@dataclass(slots=True)
class Section:
    """A part of an answer, which grows until it is `closed`. `thought` turns true where only the end shows it."""

    thought: bool
    text: str = ""
    closed: bool = False


@dataclass(slots=True)
class Sections:
    """An answer's thoughts and texts in order, without the markers and blanks between them."""

    all: list[Section] = field(default_factory=list)

    @property
    def thinking(self) -> bool:
        """Is the text inside a thought that was opened?"""
        return bool(self.all) and self.all[-1].thought and not self.all[-1].closed

    def add(self, piece: Piece) -> None:
        """Go on with the next piece."""
        if piece.kind == "opened":
            self.all.append(Section(True))
            return
        if not self.all or self.all[-1].closed:
            if not piece.text.strip():
                return
            self.all.append(Section(False))
        section = self.all[-1]
        if piece.kind == "closed":
            section.closed = True
        elif piece.kind == "unopened":
            section.thought = section.closed = True
        else:
            section.text += piece.text if section.text else piece.text.lstrip("\n")


class ReasoningParser:
    """Feed it an answer as it is written; it gives back pieces as soon as it is certain what they are."""

    def __init__(self) -> None:
        self.sections = Sections()
        self._held = ""  # may be the beginning of a marker
        self._closings: tuple[str, ...] = ()  # of the thought that is open
        self._in_text = False
        self._known = 0  # characters of what is held that were told of before
        self._pieces: list[Piece] = []

    def resume(self, text: str) -> None:
        """The answer goes on that begins with `text`, of which no pieces are wanted."""
        self.feed(text)
        self._known = len(self._held)

    def feed(self, text: str) -> list[Piece]:
        """What is certain now."""
        self._held += text
        while self._step(False):
            pass
        return self._taken()

    def close(self) -> list[Piece]:
        """The answer has ended: what was held back."""
        while self._step(True):
            pass
        self._tell("text", self._held)  # blanks behind a thought
        self._held = ""
        if self.sections.all:
            self.sections.all[-1].closed = True
        return self._taken()

    @property
    def held(self) -> Piece:
        """What is held back, as what it is if nothing more comes."""
        return Piece("thought" if self._closings else "text", self._held)

    def _taken(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _tell(self, kind: Kind, text: str) -> None:
        if not text:
            return
        self.sections.add(Piece(kind, text))
        new = text[self._known :]
        self._known = max(0, self._known - len(text))
        if new or kind not in ("text", "thought"):
            self._pieces.append(Piece(kind, new))

    def _step(self, ended: bool) -> bool:
        """Decide about what is held; is there more to decide?"""
        if not self._held:
            return False
        if self._closings:
            return self._think(ended)
        return self._answer(ended) if self._in_text else self._begin(ended)

    def _begin(self, ended: bool) -> bool:
        text = self._held.lstrip()
        for opening, closings in MARKERS:
            if text.startswith(opening):
                self._tell("opened", self._held[: len(self._held) - len(text) + len(opening)])
                self._held, self._closings = text[len(opening) :], closings
                return True
            if not ended and opening.startswith(text):
                return False
        self._in_text = bool(text)
        return self._in_text

    def _think(self, ended: bool) -> bool:
        found = [(at, closing) for closing in self._closings if (at := self._held.find(closing)) >= 0]
        if found:
            at, closing = min(found)
            self._tell("thought", self._held[:at])
            self._tell("closed", closing)
            self._held, self._closings = self._held[at + len(closing) :], ()
            return True
        self._release("thought", self._closings, ended)
        return False

    def _answer(self, ended: bool) -> bool:
        if self.sections.all and self.sections.all[0].thought:  # so no other one can have begun unseen
            self._tell("text", self._held)
            self._held = ""
            return False
        found = [(at, closing) for closing in UNOPENED if (at := self._held.find(closing)) >= 0]
        if found:
            return self._end_unopened(*min(found), ended)
        self._release("text", UNOPENED, ended)
        return False

    def _end_unopened(self, at: int, closing: str, ended: bool) -> bool:
        """`closing` stands at `at`: it ends a thought if it has a line's beginning or end for itself, outside code."""
        behind = self._held[at + len(closing) :]
        if not behind and not ended:
            self._release("text", (closing,), ended=False)
            return False
        first = self.sections.all[0].text if self.sections.all else ""
        before = (first + self._held[:at]).lstrip("\n")
        is_end = (behind[:1] in ("", "\n") or before[-1:] in ("", "\n")) and not _in_code(before)
        if is_end:
            self._tell("text", self._held[:at])
            self._tell("unopened", closing)
            self._in_text = False
        else:
            self._tell("text", self._held[: at + len(closing)])
        self._held = behind
        return True

    def _release(self, kind: Kind, markers: tuple[str, ...], ended: bool) -> None:
        """Tell what is held but an end of it that may become one of the markers, and blanks alone at the beginning."""
        keep = 0 if ended else max(_overlap(self._held, marker) for marker in markers)
        certain = self._held[: len(self._held) - keep]
        if not ended and not self.sections.all and not certain.strip():
            return
        self._tell(kind, certain)
        self._held = self._held[len(self._held) - keep :]


def _overlap(text: str, marker: str) -> int:
    """Length of the longest end of `text` that begins `marker`, or is all of it."""
    at = text.find(marker[0], max(0, len(text) - len(marker)))  # asked for every token: most have no such sign
    while at >= 0 and not marker.startswith(text[at:]):
        at = text.find(marker[0], at + 1)
    return len(text) - at if at >= 0 else 0


def _in_code(text: str) -> bool:
    """Does what follows `text` stand in a fence or a code span?"""
    if len(re.findall(r"^[ \t]*(?:```|~~~)", text, re.MULTILINE)) % 2:
        return True
    return text[text.rfind("\n") + 1 :].count("`") % 2 == 1


def sections_of(text: str) -> list[Section]:
    """The sections of a finished text."""
    parser = ReasoningParser()
    parser.feed(text)
    parser.close()
    return parser.sections.all


def open_sections(text: str) -> Sections:
    """Those of a text that goes on."""
    parser = ReasoningParser()
    parser.feed(text)
    parser.sections.add(parser.held)
    return parser.sections


def without_thoughts(text: str) -> str:
    """The answer alone: what is copied, and what the model reads of it in the next turn."""
    if not any(marker in text for marker in _SIGNS):
        return text
    return "".join(section.text for section in sections_of(text) if not section.thought).strip()
