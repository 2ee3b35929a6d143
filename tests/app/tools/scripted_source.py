"""A source of tools whose results come when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.events import Event
from app.tools.tool import ToolInfo, ToolResult

TEXT = '{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}'


def tool(name: str, effect: str = "reads", source: str = "scripted", **values: str) -> ToolInfo:
    return ToolInfo(name, name.title(), f"It does {name}.", TEXT, source, "A source", effect, **values)  # type: ignore[arg-type]


class ScriptedSource:
    """A source with these tools; `calls` are under way: name, arguments and how to tell the result."""

    def __init__(self, *tools: ToolInfo, id: str = "scripted") -> None:
        self.id = id
        self.changed: Event[()] = Event()
        self.offered = tools
        self.calls: list[tuple[str, Mapping[str, Any], Callable[[ToolResult], None]]] = []
        self.begun = self.cancelled = 0

    def tools(self) -> tuple[ToolInfo, ...]:
        return self.offered

    def call(
        self, name: str, arguments: Mapping[str, Any], chat_id: str, done: Callable[[ToolResult], None]
    ) -> Callable[[], None]:
        self.begun += 1
        if arguments["text"] == "raise":
            raise RuntimeError("a bug of a source")
        entry = (name, arguments, done)
        self.calls.append(entry)

        def cancel() -> None:
            self.cancelled += 1
            self.calls.remove(entry)

        return cancel

    def tell(self, number: int = 0, result: ToolResult | None = None) -> None:
        """Tell the result of a call that is under way."""
        _, arguments, done = self.calls.pop(number)
        done(result or ToolResult(f"{arguments['text']}!", "1 result"))
