"""How much of a server's texts is taken over: more would fill the memory, the disk, or the model's context."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.tools.mcp.messages import Tool
from common.paths import printable

MOST_TOOLS = 128
MOST_NAME = 64
MOST_TITLE = 100
MOST_DESCRIPTION = 2_000  # characters; GitHub's server has 26 tools with up to 600
MOST_SCHEMA = 10_000  # characters of JSON
MOST_DEPTH = 20  # of a schema
MOST_LISTED = 100  # resources, and prompts
MOST_ARGUMENTS = 10  # of a prompt
MOST_URI = 1_000
MOST_RESULT = 100_000  # characters; the chat cuts further to what the context holds
MOST_LINE = 4 << 20  # bytes of one message
MOST_OUTPUT = 16 << 20  # bytes between two requests of ours
MOST_WRONG = 20  # lines that are no JSON-RPC; some servers greet on stdout
MOST_LOG_LINES, MOST_LOG_LINE = 500, 500
NAME = re.compile(rf"[\w./-]{{1,{MOST_NAME}}}", re.ASCII)
CUT = "…"


def cut_line(text: str, most: int) -> str:
    """Return the text as one printable line of at most `most` characters."""
    return cut_text(" ".join(text[: 4 * most].split()), most)


def cut_text(text: str, most: int) -> str:
    """Return the text without characters that cannot be stored or shown, cut to `most` characters."""
    text = printable(text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + CUT


def tools_within(described: Sequence[Mapping[str, Any]]) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """Return the tools that keep the limits, and the names of those that do not; of two with a name, the first."""
    tools: dict[str, Tool] = {}
    left_out = []
    for table in described:
        tool = tool_from(table) if len(tools) < MOST_TOOLS else None
        if tool is None or tool.name in tools:
            left_out.append(cut_line(str(table.get("name", "")), MOST_NAME))
        else:
            tools[tool.name] = tool
    return tuple(tools.values()), tuple(left_out[:MOST_TOOLS])


def tool_from(table: Mapping[str, Any]) -> Tool | None:
    """Return the tool that a server describes; None if its name or parameters cannot be used."""
    name, schema = str(table.get("name", "")), table.get("inputSchema")
    if not NAME.fullmatch(name) or not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return None
    if not is_shallow(schema, MOST_DEPTH):
        return None
    parameters = json.dumps({"type": "object", **schema}, ensure_ascii=False, separators=(",", ":"))
    if len(parameters) > MOST_SCHEMA:
        return None
    notes: object = table.get("annotations")
    notes = notes if isinstance(notes, dict) else {}
    return Tool(
        name,
        cut_line(str(table.get("title") or notes.get("title") or ""), MOST_TITLE),
        cut_text(str(table.get("description") or ""), MOST_DESCRIPTION),
        printable(parameters),
        notes.get("readOnlyHint") is True,
    )


def is_shallow(value: object, most: int) -> bool:
    """Return whether a JSON value is nested at most `most` deep."""
    level: list[object] = [value]
    for _ in range(most):
        level = [inner for outer in level if isinstance(outer, dict | list) for inner in _inside(outer)]
        if not level:
            return True
    return False


def _inside(outer: dict[str, object] | list[object]) -> Sequence[object]:
    return list(outer.values()) if isinstance(outer, dict) else outer
