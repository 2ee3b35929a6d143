"""Reads tool calls out of an answer while it is written.

What only looks like a call is text. A model's text is a stranger's: nothing in it raises an exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from common.reasoning import overlap
from engine.generation.tool_arguments import ArgumentsEnd, Values, json_object, read_arguments
from engine.protocol.requests import Tool
from engine.tokenization.tool_formats import ToolFormat, schema_of, words

NAME = r"([\w.-]{1,64})"
# An answer that is a call as a whole, perhaps in a fence: models write it although they were told another notation. Two
# braces stand in the templates of Qwen2.5, whose models repeat them.
BARE = re.compile(r"\s*(?:```\w*\s*)?\{?(?P<call>\{\s*\"name\"\s*:\s*\")")
BARE_LENGTH = 40  # characters from which on the beginning is known to be no such call
FENCES = re.compile(r"^\s*(?:```\w*\s*)?(?:\{(?=\{))?|```\s*$")
MOST_HELD = 1 << 17  # characters of a call that may be no call; what is longer is text


PieceKind = Literal["text", "thought", "started", "arguments"]


@dataclass(frozen=True, slots=True)
class CallPiece:
    """Part of an answer: text, a thought within it, the start of a call (`text` is the tool's name), or arguments."""

    kind: PieceKind
    text: str


class CallReader:
    """Base of the incremental readers of one answer's calls.

    `tools`: those that may be called. `is_certain`: returns whether a grammar makes sure that what is written now is a
    call. Then arguments are returned as they are written; otherwise when they are whole and make sense.
    """

    def __init__(self, tools: Sequence[Tool], is_certain: Callable[[], bool]) -> None:
        self.calls = 0  # that have started
        self._tools = {tool.name: tool for tool in tools}
        self._is_certain = is_certain
        self._state: Callable[[bool], bool] = self._read_beginning  # reads held text; whether the next one can go on
        self._pieces: list[CallPiece] = []
        self._held = ""  # text about which nothing is decided
        self._name = ""  # of the tool that is called
        self._told = False  # whether the start of the present call was told

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

    def _read_beginning(self, ended: bool) -> bool:
        raise NotImplementedError

    def _tell(self, kind: PieceKind, text: str) -> None:
        if text:
            self._pieces.append(CallPiece(kind, text))

    def _start_call(self) -> None:
        """Tell that the present call has started, unless that was told."""
        if not self._told:
            self._told = True
            self.calls += 1
            self._tell("started", self._name)


class ToolCallReader(CallReader):
    """Incremental reader of one answer's calls in one notation."""

    def __init__(self, notation: ToolFormat, tools: Sequence[Tool], is_certain: Callable[[], bool]) -> None:
        super().__init__(tools, is_certain)
        self._format = notation
        self._head = re.compile(notation.head_of(NAME))
        self._closing = words(notation.after)[-1] if notation.after.endswith(">") else ""
        marks = "|".join(re.escape(mark) for mark in (self._closing, notation.opening.strip()) if mark)
        self._between_calls = re.compile(rf"(?:[\s,;}}]|```{'|' if marks else ''}{marks})*")
        self._in_text = False  # whether the text since the last call has begun; blanks before it are not told
        self._call: str | None = None  # the present call as it was written, with blanks before, up to the held text
        self._end = ArgumentsEnd(notation.arguments)
        self._shown = 0  # characters of the present call's arguments that were told
        self._expected: list[str] = []  # what must follow the present call's arguments, or all calls

    def close(self) -> list[CallPiece]:
        pieces = self._run(ended=True)
        if self._call is not None and not self._told:
            self._tell_whole(self._call + self._held)
        self._held, self._call = "", None
        return pieces + self._run(ended=True)

    # --- states ---

    def _read_beginning(self, ended: bool) -> bool:
        opening = self._format.opening
        if self._may_be_bare(ended):
            self._state = self._read_bare
            return True
        at = self._held.find(opening) if opening else self._find_bare_call()
        if at < 0:
            keep = 0 if ended or not opening else overlap(self._held, opening)
            self._tell_text(len(self._held) - keep, ended)
            return False
        self._tell_text(at, ended=False)
        begin = self._held.find(opening) + len(opening) if opening else len(self._held) - len(self._held.lstrip())
        self._call, self._held = self._held[:begin], self._held[begin:]
        self._told = False
        self._state = self._read_head
        return True

    def _find_bare_call(self) -> int:
        """Return where an answer that is a call as a whole begins, with a brace; -1 if it is none."""
        blanks = len(self._held) - len(self._held.lstrip())
        return blanks if not (self._in_text or self.calls) and self._held[blanks:].startswith("{") else -1

    def _may_be_bare(self, ended: bool) -> bool:
        """Return whether the answer looks like a call without the opening of its notation."""
        text = self._held.lstrip()
        if self._in_text or self.calls or self._format.arguments != "json" or not self._format.opening:
            return False
        return bool(BARE.match(text)) or (not ended and text[:1] in ("{", "`") and len(text) < BARE_LENGTH)

    def _read_bare(self, ended: bool) -> bool:
        """Hold an answer until it turns out to be a call or not."""
        if self._may_be_bare(ended) and not ended and len(self._held) < MOST_HELD:
            return False
        whole, self._held = self._held, ""
        if ended:
            self._tell_whole(whole)
        else:
            self._in_text, self._held = True, whole
        self._state = self._read_beginning
        return True

    def _tell_text(self, count: int, ended: bool) -> None:
        """Tell the first held characters as text; blanks are held until something follows, and dropped beside calls."""
        text = self._held[:count]
        if not self._in_text and not text.strip() and not (ended and not self.calls):
            return
        self._held = self._held[count:]
        self._in_text |= bool(text)
        self._tell("text", text)

    def _read_head(self, ended: bool) -> bool:
        head = self._head.match(self._held)
        rest = self._held[head.end() :].lstrip() if head else ""
        is_json = self._format.arguments == "json"
        if head and is_json and not rest and not ended:
            return False
        if head and head[1] in self._tools and (not is_json or rest.startswith("{")):
            self._name, self._end, self._shown = head[1], ArgumentsEnd(self._format.arguments), 0
            end = len(self._held) - len(rest) if is_json else head.end()
            self._call, self._held = f"{self._call or ''}{self._held[:end]}", self._held[end:]
            self._state = self._read_arguments
            if self._is_certain():
                self._start_call()
            return True
        if self._closing and (at := self._held.find(self._closing)) >= 0:
            end = at + len(self._closing)
            whole, self._held, self._call = f"{self._call or ''}{self._held[:end]}", self._held[end:], None
            self._tell_whole(whole)
            self._state = self._read_beginning
            return True
        if len(self._held) > MOST_HELD:
            self._give_up()
            return True
        return False

    def _read_arguments(self, _ended: bool) -> bool:
        end = self._end.find(self._held)
        if self._told and self._format.arguments == "json":
            self._tell("arguments", self._held[self._shown : end])
            self._shown = len(self._held)
        elif end is not None:
            schema = schema_of(self._tools[self._name])
            values = read_arguments(self._format.arguments, self._held[:end], schema["properties"])
            if values is None and not self._told:
                self._give_up()
                return True
            self._tell_call(values or {})
        if end is None:
            is_too_long = len(self._held) > MOST_HELD and not self._told
            if is_too_long:
                self._give_up()
            return is_too_long
        self._held, self._call, self._in_text = self._held[end:], None, False
        self._expected = words(self._format.after)
        self._state = self._read_behind
        return True

    def _tell_call(self, values: Values) -> None:
        """Tell a call whose arguments are whole."""
        self._start_call()
        self._tell("arguments", json.dumps(values, ensure_ascii=False))

    def _skip_expected(self, ended: bool) -> bool:
        """Skip the expected text as far as it comes; return False if more of the answer must be known first."""
        while self._expected:
            self._held = self._held.lstrip()
            if self._held.startswith(self._expected[0]):
                self._held = self._held.removeprefix(self._expected.pop(0))
            elif not self._expected[0].startswith(self._held):
                return True
            elif ended:
                self._held = ""  # an answer that was cut off within the notation
                return True
            else:
                return False
        return True

    def _read_behind(self, ended: bool) -> bool:
        """Skip what stands behind arguments: the rest of the call, then either a comma or the end of all calls."""
        if not self._skip_expected(ended):
            return False
        is_list, self._state = bool(self._format.first) and not self._expected, self._read_beginning
        if not is_list:
            return True
        self._held = self._held.lstrip()
        if not self._held and not ended:
            self._state = self._read_behind
            return False
        if self._held.startswith(","):
            self._held, self._call, self._told, self._state = self._held[1:], ",", False, self._read_head
        elif self._held.startswith("]"):
            self._expected = words(self._format.end)
            self._state = self._read_end
        return True

    def _read_end(self, ended: bool) -> bool:
        """Skip what stands behind all calls."""
        if not self._skip_expected(ended):
            return False
        self._state = self._read_beginning
        return True

    # --- what was no call after all ---

    def _give_up(self) -> None:
        """Take the present call for text."""
        self._held, self._call, self._state = f"{self._call or ''}{self._held}", None, self._read_beginning
        self._in_text = True
        self._tell_text(len(self._held), ended=True)

    def _tell_whole(self, written: str) -> None:
        """Tell what was written from an opening on: as calls if it is JSON in another order, otherwise as text."""
        calls: list[tuple[str, Values]] = []
        rest = ""
        if self._format.arguments == "json":
            body = written.strip().removeprefix(self._format.opening).removesuffix(self._closing)
            calls, rest = self._calls_of(FENCES.sub("", body))
        if not calls:
            self._in_text = True
            self._tell("text", written)
            return
        for name, values in calls:
            self._name, self._told = name, False
            self._tell_call(values)
        self._in_text = bool(rest)
        self._tell("text", rest)

    def _calls_of(self, text: str) -> tuple[list[tuple[str, Values]], str]:
        """Return names and arguments of calls in JSON, with fields in any order, and the text behind them.

        The text is empty if it is a call that was cut off. Without a call before it, nothing is a call.
        """
        calls: list[tuple[str, Values]] = []
        decoder, at = json.JSONDecoder(), 0
        with suppress(ValueError, RecursionError):
            while at < len(text):
                value, end = decoder.raw_decode(text, at)
                new: list[tuple[str, Values]] = []
                for call in value if isinstance(value, list) else [value]:
                    values = call.get("arguments", call.get("parameters", {})) if isinstance(call, dict) else None
                    values = json_object(values) if isinstance(values, str) else values
                    if not isinstance(values, dict) or call.get("name") not in self._tools:
                        return calls, text[at:]
                    new.append((call["name"], values))
                calls, at = calls + new, end
                if between := self._between_calls.match(text, at):
                    at = between.end()
        rest = text[at:]
        return calls, "" if BARE.match(rest) else rest
