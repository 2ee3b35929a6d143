"""A tool, the result of a call, and what a source of tools offers: the built-in ones and MCP servers are sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from app.attachments.attachment import Attachment
from app.events import Event

Effect = Literal["reads", "acts"]  # only looks at what the user has chosen; or writes, connects or runs something


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool that a chat may use.

    `name`: how the model calls it, unique in its source; `description`: for the model; `parameters`: JSON schema of the
    arguments as JSON text. `title` and `source_title`: for people; `source`: id of the source. What a server says of
    itself is a stranger's text. A tool that acts is never called before the user agreed; `host_argument` names the
    argument with the address that it connects to, if there is one: the user then agrees to each host.
    """

    name: str
    title: str
    description: str
    parameters: str
    source: str
    source_title: str
    effect: Effect = "acts"
    host_argument: str = ""

    @property
    def fingerprint(self) -> str:
        """A digest of what the user agreed to: another description or schema under the same name is another tool."""
        parts = (self.source, self.name, self.description, self.parameters, self.effect)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a call: text for the model, and `summary`, a few words for people (“3 passages”).

    `failed`: the text says why there is no result. `found`: the passages of collections that the text consists of.
    """

    text: str
    summary: str = ""
    failed: bool = False
    found: tuple[Attachment, ...] = ()


class ToolSource(Protocol):
    """A source of tools. `changed` is emitted when `tools()` would answer otherwise."""

    id: str
    changed: Event[()]

    def tools(self) -> tuple[ToolInfo, ...]:
        """Return the tools that are there now; starts nothing."""
        ...

    def call(
        self, name: str, arguments: Mapping[str, Any], chat_id: str, done: Callable[[ToolResult], None]
    ) -> Callable[[], None]:
        """Begin a call; return a function that cancels it.

        `done` is called exactly once, later, in the window's thread: a failure and the death of a process are results
        too. After a cancel it is not called.
        """
        ...
