"""Reads gpt-oss's notation ("harmony"), in which an answer is a row of messages, out of an answer while it is written.

Each message is `<|start|>assistant HEADER<|message|>BODY<|end|>`. The header names a channel (analysis, commentary or
final) and, for a call, the tool: `to=functions.NAME`. The notation: https://cookbook.openai.com/articles/openai-harmony
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from common.reasoning import overlap
from engine.generation.tool_arguments import json_object
from engine.generation.tool_calls import MOST_HELD, CallReader, ToolCallReader
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


class HarmonyReader(CallReader):
    """Incremental reader of one answer's messages, of which the first may lack its header."""

    def __init__(self, tools: Sequence[Tool], is_certain: Callable[[], bool]) -> None:
        super().__init__(tools, is_certain)
        self._header = ""  # of the present message, as it was written

    # --- states ---

    def _read_beginning(self, ended: bool) -> bool:
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
            if (called := CALLED.search(self._header)) and called[1] in self._tools:
                self._name = called[1]
            elif called:
                self._tell("text", self._header)  # there is no such tool
        return bool(self._held)

    def _read_body(self, ended: bool) -> bool:
        if self._name and self._is_certain():
            self._start_call()
        ends = [(at, end) for end in ENDS if (at := self._held.find(end)) >= 0]
        if ends:
            at, end = min(ends)
            self._tell_body(self._held[:at], whole=True)
            self._held, self._state = self._held[at + len(end) :], self._read_beginning
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


def reader_for(notation: ToolFormat, tools: Sequence[Tool], is_certain: Callable[[], bool]) -> CallReader:
    """Return the reader of an answer's calls in a notation."""
    return HarmonyReader(tools, is_certain) if notation is HARMONY else ToolCallReader(notation, tools, is_certain)
