"""Tells what a model thinks from what it answers, by the markers that it writes around its thoughts. Knows no Qt.

A thought stands at the beginning of an answer, or right behind another one; what looks like a marker further on is
text. Where the chat's template has opened the thought already, the text begins inside it; its end shows that it did.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(slots=True)
class Section:
    """A part of an answer, which grows until it is `closed`. `thought` turns true where only the end shows it."""

    thought: bool
    text: str = ""
    closed: bool = False


class ThoughtSplitter:
    """Feed it pieces; `sections` are the answer's thoughts and texts in order, their markers left out."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self._held = ""  # may be the beginning of a marker
        self._closings: tuple[str, ...] = ()  # of the thought that is open

    @property
    def thinking(self) -> bool:
        """Is the text inside a thought that was opened?"""
        return bool(self._closings)

    def feed(self, piece: str) -> None:
        self._held += piece
        while self._step(False):
            pass

    def close(self) -> None:
        """The text has ended: what was held back is shown."""
        while self._step(True):
            pass
        self._held = ""  # blanks behind a thought
        if self.sections:
            self.sections[-1].closed = True

    def _step(self, ended: bool) -> bool:
        """Decide about what is held; is there more to decide?"""
        if not self._held:
            return False
        if self._closings:
            return self._think(ended)
        if not self.sections or self.sections[-1].closed:
            return self._begin(ended)
        return self._answer(ended)

    def _begin(self, ended: bool) -> bool:
        text = self._held.lstrip()
        for opening, closings in MARKERS:
            if text.startswith(opening):
                self._held, self._closings = text[len(opening) :], closings
                self.sections.append(Section(True))
                return True
            if not ended and opening.startswith(text):
                return False
        if not text:
            return False
        self.sections.append(Section(False))
        return True

    def _think(self, ended: bool) -> bool:
        found = [(at, closing) for closing in self._closings if (at := self._held.find(closing)) >= 0]
        if found:
            at, closing = min(found)
            self._add(self._held[:at])
            self.sections[-1].closed = True
            self._held, self._closings = self._held[at + len(closing) :], ()
            return True
        self._release(self._closings, ended)
        return False

    def _answer(self, ended: bool) -> bool:
        if len(self.sections) > 1:  # a thought was opened before, so no other one can have begun unseen
            self._add(self._held)
            self._held = ""
            return False
        found = [(at, closing) for closing in UNOPENED if (at := self._held.find(closing)) >= 0]
        if found:
            return self._end_unopened(*min(found), ended)
        self._release(UNOPENED, ended)
        return False

    def _end_unopened(self, at: int, closing: str, ended: bool) -> bool:
        """`closing` stands at `at`: it ends a thought if it has a line's beginning or end for itself, outside code."""
        behind = self._held[at + len(closing) :]
        if not behind and not ended:
            self._release((closing,), ended=False)
            return False
        before = (self.sections[0].text + self._held[:at]).lstrip("\n")
        is_end = (behind[:1] in ("", "\n") or before[-1:] in ("", "\n")) and not _in_code(before)
        if is_end:
            self._add(self._held[:at])
            self.sections[0].thought = self.sections[0].closed = True
        else:
            self._add(self._held[: at + len(closing)])
        self._held = behind
        return True

    def _release(self, markers: tuple[str, ...], ended: bool) -> None:
        """Show what is held but an end of it that may become one of the markers."""
        keep = 0 if ended else max(_overlap(self._held, marker) for marker in markers)
        self._add(self._held[: len(self._held) - keep])
        self._held = self._held[len(self._held) - keep :]

    def _add(self, text: str) -> None:
        section = self.sections[-1]
        section.text += text if section.text else text.lstrip("\n")


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
    splitter = ThoughtSplitter()
    splitter.feed(text)
    splitter.close()
    return splitter.sections


def without_thoughts(text: str) -> str:
    """The answer alone: what is copied, and what the model reads of it in the next turn."""
    if not any(marker in text for marker in _SIGNS):
        return text
    return "".join(section.text for section in sections_of(text) if not section.thought).strip()


class ThoughtTimer:
    """How long a model thinks, by a `clock` that gives seconds; `resume` goes on with what was measured before."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.resume("", None)

    def resume(self, text: str, seconds: float | None) -> None:
        self._splitter = ThoughtSplitter()
        self._splitter.feed(text)
        self._seconds = seconds or 0.0
        self._first: float | None = None
        self._last = 0.0

    def feed(self, piece: str) -> None:
        now, splitter = self._clock(), self._splitter
        if self._first is None:
            self._first = self._last = now
        thought, thinking = self._thought, splitter.thinking
        splitter.feed(piece)
        if thinking:
            self._seconds += now - self._last
        elif self._thought and not thought and not splitter.thinking:
            self._seconds = now - self._first  # only its end showed that all of it was one
        self._last = now

    @property
    def seconds(self) -> float | None:
        """None where nothing was thought."""
        return self._seconds if self._thought else None

    @property
    def _thought(self) -> bool:
        return any(section.thought for section in self._splitter.sections)
