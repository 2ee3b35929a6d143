"""Reads gpt-oss's notation ("harmony"), in which an answer is a row of messages, out of an answer while it is written.

Each message is `<|start|>assistant HEADER<|message|>BODY<|end|>`. The header names a channel (analysis, commentary or
final) and, for a call, the tool: `to=functions.NAME`. The notation: https://cookbook.openai.com/articles/openai-harmony
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engine.generation.tool_arguments import json_object
from engine.generation.tool_calls import MOST_HELD, CallPiece, PieceKind, ToolCallReader, overlap
from engine.protocol.requests import Tool
from engine.tokenization.tool_formats import HARMONY, ToolFormat

# How a header begins. Where `common.reasoning` has read its first part as the end of a thought, the rest begins with
# the tool.
BEGINNINGS = ("<|start|>", "<|channel|>", "<|message|>", "to=", "functions.")
BODY = "<|message|>"
ENDS = ("<|end|>", "<|call|>", "<|return|>")
CALLED = re.compile(r"functions\.([\w.-]{1,64})")
ANALYSIS = "<|channel|>analysis"
MOST_HEADER = 200  # characters; what is longer is text


class HarmonyReader:
    """Incremental reader of one answer's messages, of which the first may lack its header.

    `tools`: those that may be called. `is_certain`: returns whether a grammar makes sure that what is written now is a
    call. Then arguments are returned as they are written; otherwise when they are whole.
    """

    def __init__(self, tools: Sequence[Tool], is_certain: Callable[[], bool]) -> None:
        self.calls = 0  # that have started
        self._names = {tool.name for tool in tools}
        self._is_certain = is_certain
        self._held = ""  # text about which nothing is decided
        self._header = ""  # of the present message, as it was written
        self._name = ""  # of the tool that it calls
        self._told = False  # whether the start of this call was told
        self._state: Callable[[bool], bool] = self._read_header
        self._pieces: list[CallPiece] = []

    def feed(self, text: str) -> list[CallPiece]:
        """Read more of the answer's text and return the pieces that are certain now."""
        self._held += text
        return self._run(ended=False)

    def close(self) -> list[CallPiece]:
        """End the answer and return what was held back."""
        return self._run(ended=True)

    def _run(self, ended: bool) -> list[CallPiece]:
        while self._state(ended):
            pass
        pieces, self._pieces = self._pieces, []
        return pieces

    # --- states: each reads from the held text and returns whether the next state can go on ---

    def _read_header(self, ended: bool) -> bool:
        text = self._held.lstrip()
        begins = any(text.startswith(beginning) for beginning in BEGINNINGS)
        if not ended and not begins and any(beginning.startswith(text) for beginning in BEGINNINGS):
            return False
        at = text.find(BODY) if begins else -1
        if begins and at < 0 and not ended and len(text) < MOST_HEADER:
            return False
        self._header, self._name, self._told = "", "", False
        self._state = self._read_body
        if 0 <= at < MOST_HEADER:
            self._header, self._held = text[: at + len(BODY)], text[at + len(BODY) :]
            if (called := CALLED.search(self._header)) and called[1] in self._names:
                self._name = called[1]
            elif called:
                self._tell("text", self._header)  # there is no such tool
        return bool(self._held)

    def _read_body(self, ended: bool) -> bool:
        if self._name and self._is_certain():
            self._start_call()
        found = [(at, end) for end in ENDS if (at := self._held.find(end)) >= 0]
        if found:
            at, end = min(found)
            self._tell_body(self._held[:at], whole=True)
            self._held, self._state = self._held[at + len(end) :], self._read_header
            return bool(self._held)
        keep = 0 if ended else max(overlap(self._held, end) for end in ENDS)
        if self._name and not self._told and not ended and len(self._held) < MOST_HELD:
            return False
        body, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        self._tell_body(body, whole=ended)
        return False

    def _tell_body(self, body: str, whole: bool) -> None:
        if self._told:
            self._tell("arguments", body)
        elif not self._name:
            self._tell("thought" if ANALYSIS in self._header else "text", body)
        elif whole and (json_object(body) is not None):
            self._start_call()
            self._tell("arguments", body.strip())
        else:
            self._tell("text", self._header + body)
            self._name = self._header = ""

    def _start_call(self) -> None:
        if not self._told:
            self._told = True
            self.calls += 1
            self._tell("started", self._name)

    def _tell(self, kind: PieceKind, text: str) -> None:
        if text:
            self._pieces.append(CallPiece(kind, text))


def reader_for(
    found: ToolFormat, tools: Sequence[Tool], is_certain: Callable[[], bool]
) -> ToolCallReader | HarmonyReader:
    """Return the reader of an answer's calls in a notation."""
    return HarmonyReader(tools, is_certain) if found is HARMONY else ToolCallReader(found, tools, is_certain)
