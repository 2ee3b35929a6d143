"""Separates a model's thoughts from its answer, by the markers that the model writes around its thoughts.

The engine does this while a text is generated, the window for stored texts.

A thought begins at the start of an answer or right after another thought; anything that looks like a marker further on
is text. If the chat's template has already opened the thought, the text begins inside it, and only the closing marker
shows that it did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

# gpt-oss begins each message of an answer with a header; a call of a tool has " to=" with the tool in it.
HEADERS = ("<|end|><|start|>assistant<|channel|>", "assistant<|channel|>", "<|channel|>")
TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think")
# (opening marker, closing markers) of Qwen, DeepSeek and most others; Magistral; Kimi; Command R; gpt-oss; Gemma.
MARKERS = (
    *((f"<{tag}>", (f"</{tag}>",)) for tag in TAGS),
    ("[THINK]", ("[/THINK]",)),
    ("◁think▷", ("◁/think▷",)),
    ("<|START_THINKING|>", ("<|END_THINKING|>",)),
    (
        "<|channel|>analysis<|message|>",
        (
            *(f"{header}final<|message|>" for header in HEADERS),
            *(f"{header}commentary{end}" for header in HEADERS for end in ("<|message|>", " to=")),
            "<|end|><|start|>assistant to=",
        ),
    ),
    ("<|channel|>final", ("<|message|>",)),  # without a thought
    ("<|channel|>commentary", ("<|message|>", " to=")),
    ("<|channel>analysis\n", ("<channel|>",)),
    ("<|channel>thought\n", ("<channel|>",)),
)
UNOPENED = ("</think>", "[/THINK]", "◁/think▷")
# What Qwen recommends to end a thought early, before its closing marker (Qwen3 technical report, section 4.7).
HURRIED = (
    "\n\nConsidering the limited time by the user, I have to give the solution based on the thinking directly now.\n"
)
# Limits that keep reading linear in a text's length: after more blanks at the beginning, more sections or more closing
# markers in the middle of lines, the rest of the answer is text. No model writes as many.
MOST_BLANKS, MOST_SECTIONS, MOST_STRAY_MARKERS = 1000, 1000, 100
_SIGNS = ("think", "THINK", "<thought", "<reasoning>", "<reflection>", "<|channel")


PieceKind = Literal["text", "opened", "thought", "closed", "unopened"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive part of an answer as it was written: all pieces joined are the answer, with markers and blanks.

    `opened` and `closed` are the markers around a thought; `unopened` is a closing marker without an opening one: all
    text before it was a thought.
    """

    kind: PieceKind
    text: str


@dataclass(slots=True)
class Section:
    """Thought or text of an answer, which grows until it is `closed`.

    `thought` becomes true late if only the closing marker shows that the text was a thought.
    """

    thought: bool
    text: str = ""
    closed: bool = False


@dataclass(slots=True)
class Sections:
    """Thoughts and texts of an answer in order, without the markers and blanks between them."""

    all: list[Section] = field(default_factory=list)

    @property
    def thinking(self) -> bool:
        """Whether the last section is a thought that is not closed."""
        return bool(self.all) and self.all[-1].thought and not self.all[-1].closed

    def add(self, piece: Piece) -> None:
        """Append the answer's next piece."""
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
    """Incremental parser: takes an answer as it is written and returns pieces as soon as their kind is certain."""

    def __init__(self) -> None:
        self.sections = Sections()
        self._held = ""  # text that may turn out to begin a marker
        self._closings: tuple[str, ...] = ()  # closing markers of the open thought
        self._in_text = False
        self._stray = 0  # closing markers without an opening one that turned out to be text
        self._resumed = 0  # characters of the held text that `resume` read: they are not returned again
        self._pieces: list[Piece] = []

    def resume(self, text: str) -> None:
        """Read the beginning of an answer that will go on, without returning its pieces."""
        self.feed(text)
        self._resumed = len(self._held)

    def feed(self, text: str) -> list[Piece]:
        """Read more text and return the pieces whose kind is now certain."""
        self._held += text
        while self._decide(False):
            pass
        return self._pop_pieces()

    def close(self) -> list[Piece]:
        """End the answer and return the pieces that were held back."""
        while self._decide(True):
            pass
        self._emit("text", self._held)  # blanks after a thought
        self._held = ""
        if self.sections.all:
            self.sections.all[-1].closed = True
        return self._pop_pieces()

    @property
    def closing(self) -> str:
        """Marker that would close the open thought; empty if no thought is open."""
        return self._closings[0] if self._closings else ""

    @property
    def in_text(self) -> bool:
        """Whether the answer's text has begun, after which no thought begins."""
        return self._in_text

    @property
    def held(self) -> Piece:
        """Text held back so far, with the kind that it has if no more text follows."""
        return Piece("thought" if self._closings else "text", self._held)

    def _pop_pieces(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _emit(self, kind: PieceKind, text: str) -> None:
        if not text:
            return
        self.sections.add(Piece(kind, text))
        new = text[self._resumed :]
        self._resumed = max(0, self._resumed - len(text))
        if new or kind not in ("text", "thought"):
            self._pieces.append(Piece(kind, new))

    def _decide(self, ended: bool) -> bool:
        """Decide about the beginning of the held text; return whether another decision may follow."""
        if not self._held:
            return False
        if self._closings:
            return self._decide_thought(ended)
        return self._decide_answer(ended) if self._in_text else self._decide_beginning(ended)

    def _decide_beginning(self, ended: bool) -> bool:
        text = self._held.lstrip()
        if len(self._held) - len(text) > MOST_BLANKS or len(self.sections.all) >= MOST_SECTIONS:
            self._in_text = True
            return True
        for opening, closings in MARKERS:
            if text.startswith(opening):
                self._emit("opened", self._held[: len(self._held) - len(text) + len(opening)])
                self._held, self._closings = text[len(opening) :], closings
                return True
            if not ended and opening.startswith(text):
                return False
        self._in_text = bool(text)
        return self._in_text

    def _decide_thought(self, ended: bool) -> bool:
        ends = [(at, closing) for closing in self._closings if (at := self._held.find(closing)) >= 0]
        if ends:
            at, closing = min(ends)
            self._emit("thought", self._held[:at])
            self._emit("closed", closing)
            self._held, self._closings = self._held[at + len(closing) :], ()
            return True
        self._release("thought", self._closings, ended)
        return False

    def _decide_answer(self, ended: bool) -> bool:
        seen = bool(self.sections.all) and self.sections.all[0].thought  # then no thought has begun unseen
        if seen or self._stray >= MOST_STRAY_MARKERS:
            self._emit("text", self._held)
            self._held = ""
            return False
        ends = [(at, closing) for closing in UNOPENED if (at := self._held.find(closing)) >= 0]
        if ends:
            return self._end_unopened(*min(ends), ended)
        self._release("text", UNOPENED, ended)
        return False

    def _end_unopened(self, at: int, closing: str, ended: bool) -> bool:
        """Handle `closing`, found at `at` without an opening marker; return whether more can be decided.

        The marker ends a thought if it stands at the beginning or end of a line, outside code; otherwise it is text.
        """
        behind = self._held[at + len(closing) :]
        if not behind and not ended:
            self._release("text", (closing,), ended=False)
            return False
        first = self.sections.all[0].text if self.sections.all else ""
        before = (first + self._held[:at]).lstrip("\n")
        is_end = (behind[:1] in ("", "\n") or before[-1:] in ("", "\n")) and not _in_code(before)
        if is_end:
            self._emit("text", self._held[:at])
            self._emit("unopened", closing)
            self._in_text = False
        else:
            self._stray += 1
            self._emit("text", self._held[: at + len(closing)])
        self._held = behind
        return True

    def _release(self, kind: PieceKind, markers: tuple[str, ...], ended: bool) -> None:
        """Emit the held text as `kind`, except for an end that may become one of the markers.

        Blanks at the very beginning of an answer, up to MOST_BLANKS, stay held until other text follows.
        """
        keep = 0 if ended else max(overlap(self._held, marker) for marker in markers)
        certain = self._held[: len(self._held) - keep]
        if not ended and not self.sections.all and len(certain) <= MOST_BLANKS and not certain.strip():
            return
        self._emit(kind, certain)
        self._held = self._held[len(self._held) - keep :]


def overlap(text: str, marker: str) -> int:
    """Return the length of the longest suffix of `text` that is a prefix of `marker` (possibly all of it)."""
    at = text.find(marker[0], max(0, len(text) - len(marker)))  # for every token; most lack this character
    while at >= 0 and not marker.startswith(text[at:]):
        at = text.find(marker[0], at + 1)
    return len(text) - at if at >= 0 else 0


def _in_code(text: str) -> bool:
    """Return whether text that follows `text` would be inside a code fence or code span."""
    if len(re.findall(r"^[ \t]*(?:```|~~~)", text, re.MULTILINE)) % 2:
        return True
    return text[text.rfind("\n") + 1 :].count("`") % 2 == 1


def sections_of(text: str) -> list[Section]:
    """Return the sections of a finished text."""
    parser = ReasoningParser()
    parser.feed(text)
    parser.close()
    return parser.sections.all


def open_sections(text: str) -> Sections:
    """Return the sections of a text that is still being written, the held-back end included."""
    parser = ReasoningParser()
    parser.feed(text)
    parser.sections.add(parser.held)
    return parser.sections


def early_end(closing: str) -> str:
    """Return the text that ends a thought with this closing marker early."""
    return f"{HURRIED}{closing}\n\n" if closing.startswith("</") else closing


def without_thoughts(text: str) -> str:
    """Return the answer without its thoughts: what is copied, and what the model reads of it in the next turn."""
    if not any(marker in text for marker in _SIGNS):
        return text
    return "".join(section.text for section in sections_of(text) if not section.thought).strip()
