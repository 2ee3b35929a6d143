"""The built-in tools as one source: what the model reads of each, and what people read. Knows no Qt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.events import Event
from app.tools.tool import Effect, ToolInfo, ToolResult
from app.words import mark

BUILT_IN = "own"
Done = Callable[[ToolResult], None]
Run = Callable[[Mapping[str, Any], str, Done], Callable[[], None]]  # as ToolSource.call, for one tool


def parameters(**described: str) -> str:
    """Return the schema of a tool whose arguments are texts; those described as "optional" may be missing."""
    required = [name for name, words in described.items() if not words.startswith("optional")]
    properties = {name: {"type": "string", "description": words} for name, words in described.items()}
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return json.dumps(schema)


def own_tool(
    name: str, title: str, description: str, effect: Effect = "reads", host: str = "", /, **described: str
) -> ToolInfo:
    """Return a built-in tool; `title` is marked for translation, and `described` are its arguments."""
    return ToolInfo(name, title, description, parameters(**described), BUILT_IN, "", effect, host)


SEARCH_COLLECTIONS = own_tool(
    "search_documents", mark("Search the chat's collections"),
    "Search the user's own documents. Returns the passages that match best. Search again with other words if they do "
    "not answer the question.", query="what to look for, in a few words",
)  # fmt: skip
READ_FILE = own_tool(
    "read_file", mark("Read the chat's files"),
    "Read a file that the user attached to this chat. Returns the parts that match a query, or one part.",
    name="the file's name", query="optional: what to look for in the file",
    part="optional: number of the part to read, from 1",
)  # fmt: skip
SEARCH_CHATS = own_tool(
    "search_chats", mark("Search your other chats"),
    "Search the user's earlier chats with you. Returns the beginnings of the messages that have the words.",
    "acts", query="words that the messages contain",
)  # fmt: skip
CALCULATE = own_tool(
    "calculate", mark("Calculator"),
    "Compute an arithmetic expression exactly, with + - * / ^ % ( ) sqrt, or convert a quantity: “A UNIT in UNIT”.",
    expression="the expression, with the numbers of the question",
)  # fmt: skip
CLOCK = own_tool(
    "date_and_time", mark("Date and time"), "Return the present date, weekday and time.",
    timezone="optional: an IANA time zone; without it, the user's own",
)  # fmt: skip
READ_PAGE = own_tool(
    "read_web_page", mark("Read a web page"), "Fetch a web page and return its text.",
    "acts", "address", address="the page's address",
)  # fmt: skip
SEARCH_WEB = own_tool(
    "search_web", mark("Search the web"),
    "Search the web. Returns titles, addresses and beginnings of pages.", "acts", query="what to look for",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OwnTool:
    """A built-in tool and its work. `here`: whether it can be used at present."""

    info: ToolInfo
    run: Run
    here: Callable[[], bool] = lambda: True


class OwnTools:
    """The source of the built-in tools."""

    id = BUILT_IN

    def __init__(self, *tools: OwnTool) -> None:
        self.changed: Event[()] = Event()
        self._tools = {tool.info.name: tool for tool in tools}

    def tools(self) -> tuple[ToolInfo, ...]:
        return tuple(tool.info for tool in self._tools.values() if tool.here())

    def call(self, name: str, arguments: Mapping[str, Any], chat_id: str, done: Done) -> Callable[[], None]:
        return self._tools[name].run(arguments, chat_id, done)


def at_once(work: Callable[[Mapping[str, Any]], ToolResult], later: Callable[[Callable[[], object]], object]) -> Run:
    """Return the work of a tool that has its result at once; `later` calls a function soon, in the window's thread."""

    def run(arguments: Mapping[str, Any], _chat_id: str, done: Done) -> Callable[[], None]:
        cancelled = False

        def cancel() -> None:
            nonlocal cancelled
            cancelled = True

        result = work(arguments)
        later(lambda: None if cancelled else done(result))
        return cancel

    return run


def calculation(arguments: Mapping[str, Any]) -> ToolResult:
    """Return the result of the calculator."""
    from app.tools.calculator import calculate  # not at the start of a window that calculates nothing

    expression = arguments["expression"]
    try:
        value = calculate(expression)
    except ValueError as error:
        return ToolResult(f"{expression!r:.200} was not computed: {error}.", failed=True)
    return ToolResult(f"{expression.strip()} = {value}", f"= {value}")


def present_time(arguments: Mapping[str, Any]) -> ToolResult:
    """Return the present date and time, in a time zone if one is named."""
    from zoneinfo import ZoneInfo

    zone = str(arguments.get("timezone") or "").strip()
    try:
        now = datetime.now(ZoneInfo(zone)) if zone else datetime.now().astimezone()
    except (OSError, ValueError, KeyError):  # what ZoneInfo raises for a folder, a strange name and an unknown one
        return ToolResult(f"There is no time zone {zone!r:.80}.", failed=True)
    shown = f"{now:%Y-%m-%d %H:%M}"
    return ToolResult(f"{now:%A}, {now:%Y-%m-%d}, {now:%H:%M:%S} ({now.tzname()}, UTC{now:%z})", shown)
