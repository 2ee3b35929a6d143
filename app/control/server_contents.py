"""What MCP servers have besides tools: resources, which are attached as files, and prompts, which stand as snippets."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTemporaryDir
from PySide6.QtWidgets import QMenu

from app.attachments.attachment import clean_name
from app.control.draft_files import DraftFiles
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.tools.mcp.configuration import ToolServer
from app.tools.mcp.messages import Called, Prompt, Resource
from app.tools.mcp.source import McpSource
from app.tools.mcp.sources import McpSources
from app.window import Window
from app.words import UiText, mark, tr, worded

TOPIC = "resources"  # of notices
READING = mark("Reading “{name}” of {server}…")


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt of a server; `id` is unique among those of all servers."""

    id: str
    server: ToolServer
    prompt: Prompt


class ServerContents(QObject):
    """The resources and prompts that the servers told when they ran last; one starts only to read or fill in one.

    A resource is a stranger's file: its content goes into a file of ours, which the server cannot reach, and is read
    by the confined reader as every attached file.
    """

    def __init__(self, window: Window, open_chats: OpenChats, sources: McpSources, files: DraftFiles) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._sources, self._files = window, open_chats, sources, files
        self._folder: QTemporaryDir | None = None
        self._count = 0

    # --- resources ----------------------------------------------------------------------------------------------------

    def add_menus(self, menu: QMenu) -> None:
        """Add a list for each server that has resources."""
        for source in self._sources.all():
            if (server := source.server) is not None and server.on and server.resources:
                listed = menu.addMenu(tr("Attach from {server}", server=server.name).replace("&", "&&"))
                for resource in server.resources:
                    action = listed.addAction(resource.title.replace("&", "&&"))
                    action.triggered.connect(partial(self.attach, source, resource))

    def attach(self, source: McpSource, resource: Resource, _checked: bool = False) -> None:
        """Have the server read a resource, and attach that to the open chat's message."""
        conversation = self._open_chats.current
        self._ask(source, resource.title, partial(source.read, resource), partial(self._keep, conversation, resource))

    def _keep(self, conversation: Conversation, resource: Resource, called: Called) -> None:
        if conversation.state == "gone":
            return
        self._folder = self._folder or QTemporaryDir()
        self._count += 1
        path = Path(self._folder.filePath(str(self._count)), file_name(resource, called.kind))
        path.parent.mkdir()
        path.write_bytes(called.data)
        self._files.attach(conversation, [path])

    # --- prompts ------------------------------------------------------------------------------------------------------

    def prompts(self) -> list[ServerPrompt]:
        """Return the prompts of all servers."""
        servers = [server for server in self._sources.servers.all() if server.on]
        return [ServerPrompt(f"{each.id}/{prompt.name}", each, prompt) for each in servers for prompt in each.prompts]

    def fill(self, asked: ServerPrompt, values: dict[str, str], done: Callable[[str], object]) -> None:
        """Have the server fill in a prompt; `done` gets the text."""
        source = self._sources.source_of(asked.server)
        given = {name: value for name, value in values.items() if value}
        self._ask(source, asked.prompt.title, partial(source.fill, asked.prompt, given), lambda it: done(it.text))

    # --- both ---------------------------------------------------------------------------------------------------------

    def _ask(
        self,
        source: McpSource,
        name: str,
        begin: Callable[[Callable[[Called], object]], Callable[[], None]],
        use: Callable[[Called], object],
    ) -> None:
        """Begin a request, with a notice that can cancel it; use what comes, or say why nothing does."""
        notice, server = self._window.notice, source.server
        words: UiText = lambda: tr(READING, name=name, server=server.name if server else "")  # noqa: E731

        def ended(called: Called) -> None:
            notice.solve(TOPIC)
            if called.failed and called.problem is not None:
                problem = called.problem
                notice.post(lambda: worded(problem), kind="problem", topic=TOPIC)
            elif not (called.text or called.data).strip():
                notice.post(lambda: tr("“{name}” is empty.", name=name), kind="problem", topic=TOPIC)
            else:
                use(called)

        notice.solve(TOPIC)
        cancel = begin(ended)
        notice.post(words, lambda: tr("Cancel"), cancel, topic=TOPIC)


def file_name(resource: Resource, kind: str) -> str:
    """Return a name for a resource's file: a server's title must not lead out of the folder."""
    name = re.sub(r'[/\\:*?"<>|]', "_", clean_name(resource.title)).lstrip(".") or "resource"
    if Path(name).suffix:
        return name
    ending = Path(re.sub(r"[^\w./-]", "", resource.uri.rpartition("/")[2])).suffix
    return name + (ending or mimetypes.guess_extension(kind.partition(";")[0].strip()) or ".txt")
