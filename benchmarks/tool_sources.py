"""The tools that benchmarks.tools gives a model: the built-in ones over the tasks' documents, and two MCP servers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QEventLoop, QObject

from app.attachments.attachment import Attachment
from app.collections.embedding import make_vectors
from app.collections.index import open_index
from app.collections.indexing import Indexer
from app.collections.messages import Answer, Begin, Question
from app.collections.search import Searcher
from app.control.own_tools import PASSAGES_TOKENS, file_parts, passages_result
from app.services.json_line_process import wait_for_children
from app.tools import own
from app.tools.mcp.configuration import FILE, ToolServer
from app.tools.mcp.servers import ToolServers
from app.tools.mcp.source import McpSource
from app.tools.mcp.sources import McpSources
from app.tools.own import OwnTool, OwnTools, at_once
from app.tools.rounds import Offered, Round
from app.tools.tool import ToolResult, ToolSource
from benchmarks import tool_server
from benchmarks.tool_server import SERVERS
from common.sentences import Sentence
from models.default import default_model


class Tools:
    """The built-in tools over the documents and chats of the tasks, and two MCP servers: by the model's names."""

    def __init__(self, raw: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        self._app = QCoreApplication.instance() or QCoreApplication([])
        self._parent = QObject()
        self._documents = indexed(folder, raw["documents"])
        servers = ToolServers(folder / FILE)
        for name in SERVERS:
            command = (sys.executable, str(Path(tool_server.__file__).resolve()), name)
            servers.add(ToolServer(id=name, name=name, command=command, unconfined=sys.platform != "linux"))
        self._mcp = McpSources(servers, lambda: None, self._parent)
        sources: list[ToolSource] = [tools_over(raw, self._documents.answer)]
        for source in self._mcp.all():
            self._start(source)
            sources.append(source)
        self.by_name = {info.name: Offered(info, source) for source in sources for info in source.tools()}

    def close(self) -> None:
        self._mcp.close()
        wait_for_children(5)

    def end(self, round_: Round) -> None:
        """Have a round done to its end."""
        round_.start()
        while not round_.over:
            self._app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)

    def _start(self, source: McpSource) -> None:
        problems: list[Sentence | None] = []
        source.test(problems.append)
        while not problems:
            self._app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        if problems[0] is not None:
            raise SystemExit(f"{source.id}: {problems[0]}")


def indexed(folder: Path, contents: Mapping[str, str]) -> Searcher:
    """Return the search of a new index of these files."""
    texts, vectors = folder / "documents", make_vectors(default_model())
    texts.mkdir()
    for name, content in contents.items():
        (texts / name).write_text(content, encoding="utf-8")
    with closing(open_index(folder, writes=True)) as db:
        Indexer(db, vectors, lambda _: None).run(Begin((str(texts),)))
    return Searcher(open_index(folder), vectors)


def paragraphs(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each paragraph of a text begins and ends."""
    return tuple(match.span() for match in re.finditer(r".+(?:\n.+)*", text))


def tools_over(raw: Mapping[str, Mapping[str, str]], search: Callable[[Question], Answer]) -> OwnTools:
    """Return the built-in tools over these documents and chats; what has a result has it at once."""

    def attached(texts: Mapping[str, str]) -> dict[str, Attachment]:
        return {name: Attachment(name, "text", len(text), text, paragraphs(text)) for name, text in texts.items()}

    earlier = attached({"chats": "\n\n".join(f"{name}: {text}" for name, text in raw["chats"].items())})
    files = attached(raw["documents"])

    def passages(arguments: Mapping[str, Any]) -> ToolResult:
        return passages_result(search(Question(1, arguments["query"], ("/",), PASSAGES_TOKENS)))

    def chats(arguments: Mapping[str, Any]) -> ToolResult:
        return file_parts(earlier, {"name": "chats", "query": arguments["query"]})

    def now(work: Callable[[], object]) -> object:
        return work()

    return OwnTools(
        OwnTool(own.SEARCH_COLLECTIONS, at_once(passages, now)),
        OwnTool(own.READ_FILE, at_once(lambda arguments: file_parts(files, arguments), now)),
        OwnTool(own.SEARCH_CHATS, at_once(chats, now)),
        OwnTool(own.CALCULATE, at_once(own.calculation, now)),
        OwnTool(own.CLOCK, at_once(own.present_time, now)),
    )
