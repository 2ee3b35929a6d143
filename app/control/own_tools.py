"""The work of the built-in tools that need the window's parts: documents, files, chats and web pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from PySide6.QtCore import QObject, QTimer

from app.attachments.attachment import Attachment, with_attachments
from app.attachments.fitting import ranked
from app.attachments.pages import PageReader
from app.collections.attached import attachments_of
from app.collections.messages import DAMAGED, Answer
from app.control.retriever import Retriever
from app.services.background import Background
from app.settings.settings import Settings
from app.state.collections import Collections
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.store.message_search import Hit, Search
from app.tools import own
from app.tools.own import Done, OwnTool, OwnTools, at_once
from app.tools.tool import ToolResult
from app.words import tr_n
from models.network import offline_reason

PASSAGES_TOKENS = 2_000  # of found passages in one result
MOST_MESSAGES, MESSAGE_LENGTH = 8, 1_200  # of other chats in one result; characters
MOST_PARTS = 4  # of a file in one result
MOST_PAGES = 8  # of a web search
OFFLINE = "The user has forbidden connections."
Arguments = Mapping[str, Any]


class OwnToolWork(QObject):
    """The work of the built-in tools; `source` is what the desk knows of them. Nothing starts before the first call."""

    def __init__(
        self, open_chats: OpenChats, collections: Collections, retriever: Retriever, settings: Settings, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._open_chats, self._collections, self._retriever = open_chats, collections, retriever
        self._settings = settings
        self._background = Background(self)
        self._pages = PageReader(self)
        self._search: Search | None = None
        soon = partial(QTimer.singleShot, 0, self)
        self.source = OwnTools(
            OwnTool(own.SEARCH_COLLECTIONS, self._search_collections, lambda: bool(collections.all())),
            OwnTool(own.READ_FILE, self._read_file),
            OwnTool(own.SEARCH_CHATS, self._search_chats),
            OwnTool(own.CALCULATE, at_once(own.calculation, soon)),
            OwnTool(own.CLOCK, at_once(own.present_time, soon)),
            OwnTool(own.READ_PAGE, self._read_page, self._is_online),
            OwnTool(own.SEARCH_WEB, self._search_web, lambda: self._is_online() and bool(self._search_address)),
        )
        settings.changed.connect(self.source.changed.emit)
        collections.changed.connect(self.source.changed.emit)

    def close(self) -> None:
        """End the work under way, because the window closes."""
        self._pages.close()
        self._background.wait()
        if self._search is not None:
            self._search.close()

    # --- the chat's documents and files -------------------------------------------------------------------------------

    def _search_collections(self, arguments: Arguments, chat_id: str, done: Done) -> Callable[[], None]:
        call = _Call(done)
        conversation = self._open_chats.conversation(chat_id)
        used = self._collections.used_by(conversation) if conversation else []

        def answered(answer: Answer | None) -> None:
            if answer is not None and answer.problem == DAMAGED:
                self._retriever.damaged.emit()
            call.tell(passages_result(answer))

        if used:
            self._retriever.search.find(
                arguments["query"], self._collections.folders_of(used), PASSAGES_TOKENS, answered
            )
        else:
            self._soon(call, _failed("No collection of documents is switched on in this chat."))
        return call.cancel

    def _read_file(self, arguments: Arguments, chat_id: str, done: Done) -> Callable[[], None]:
        call = _Call(done)
        conversation = self._open_chats.conversation(chat_id)
        files = _files(conversation) if conversation else {}
        self._soon(call, file_parts(files, arguments))
        return call.cancel

    # --- other chats -------------------------------------------------------------------------------------------------

    def _search_chats(self, arguments: Arguments, chat_id: str, done: Done) -> Callable[[], None]:
        call = _Call(done)
        search = self._search = self._search or Search(self._open_chats.store.path)

        def find() -> list[Hit]:
            for any_word in (False, True):
                hits = search.search_texts(arguments["query"], MOST_MESSAGES + 20, MESSAGE_LENGTH, any_word)
                if others := [hit for hit in hits if hit.chat_id != chat_id]:
                    return others[:MOST_MESSAGES]
            return []

        self._background.run(
            find,
            lambda hits: call.tell(_messages(hits)),
            lambda failure: call.tell(_failed(str(failure))),
        )
        return call.cancel

    # --- the web -----------------------------------------------------------------------------------------------------

    def _read_page(self, arguments: Arguments, _chat_id: str, done: Done) -> Callable[[], None]:
        address = str(arguments["address"]).strip()
        return self._fetch(address if "://" in address else f"https://{address}", done, _page)

    def _search_web(self, arguments: Arguments, _chat_id: str, done: Done) -> Callable[[], None]:
        words, address = quote(str(arguments["query"]), safe=""), self._search_address
        if "{query}" not in address:
            address = address.rstrip("/").removesuffix("/search") + "/search?format=json&q={query}"
        return self._fetch(address.replace("{query}", words), done, _found_pages)

    def _fetch(self, address: str, done: Done, result_of: Callable[[Attachment], ToolResult]) -> Callable[[], None]:
        call = _Call(done)
        if not self._is_online():
            self._soon(call, _failed(OFFLINE))
            return call.cancel

        def read(page: Attachment | str) -> None:
            call.tell(_failed(page) if isinstance(page, str) else result_of(page))

        stop = self._pages.read(address, read)

        def cancel() -> None:
            call.cancel()
            stop()

        return cancel

    @property
    def _search_address(self) -> str:
        return str(self._settings.values["tools.search"]).strip()

    def _is_online(self) -> bool:
        return offline_reason(self._settings.path) is None

    def _soon(self, call: _Call, result: ToolResult) -> None:
        QTimer.singleShot(0, self, lambda: call.tell(result))


class _Call:
    """A call under way: its result is told once, and not after it was cancelled."""

    def __init__(self, done: Done) -> None:
        self._done: Done | None = done

    def tell(self, result: ToolResult) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(result)

    def cancel(self) -> None:
        self._done = None


def file_parts(files: Mapping[str, Attachment], arguments: Arguments) -> ToolResult:
    """Return the parts of a file that match a query, or the part with a number."""
    wanted = str(arguments["name"]).strip().casefold()
    name = next((name for name in files if wanted and wanted in name.casefold()), "")
    if not name:
        names = ", ".join(files) or "none"
        return _failed(f"There is no file {arguments['name']!r:.80} in this chat. Its files: {names}.")
    file = files[name]
    parts = [file.part(index) for index in range(len(file.parts))] or [file.text]
    query, number = str(arguments.get("query") or ""), str(arguments.get("part") or "")
    if query.strip():
        chosen = sorted(index for _, index in ranked([parts], query)[:MOST_PARTS]) or [0]
    else:
        chosen = [min(max(int(number), 1), len(parts)) - 1] if number.isdecimal() and len(number) < 9 else [0]
    texts = [f"[{name}, part {index + 1} of {len(parts)}]\n{parts[index].strip()}" for index in chosen]
    return ToolResult("\n\n".join(texts), tr_n("{n} part", "{n} parts", len(chosen)))


def _files(conversation: Conversation) -> dict[str, Attachment]:
    """Return the chat's files with text, by their names; of those with the same name the latest."""
    attached = [file for message in conversation.messages for file in message.attachments]
    return {file.name: file for file in attached if file.text and not file.from_collection}


def passages_result(answer: Answer | None) -> ToolResult:
    """Return what was found in collections, as the model reads it everywhere."""
    if answer is None or answer.problem:
        return _failed("The documents could not be searched.")
    if not answer.files:
        return ToolResult("Nothing was found. Other words may help.", tr_n("{n} passage", "{n} passages", 0))
    found, count = attachments_of(answer, ()), sum(len(file.passages) for file in answer.files)
    return ToolResult(with_attachments(found, ""), tr_n("{n} passage", "{n} passages", count), found=found)


def _messages(hits: Sequence[Hit]) -> ToolResult:
    if not hits:
        return ToolResult("Nothing was found. Other words may help.", tr_n("{n} message", "{n} messages", 0))
    texts = [f"[{datetime.fromtimestamp(hit.created_at):%Y-%m-%d}, “{hit.title}”]\n{hit.snippet}" for hit in hits]
    return ToolResult("\n\n".join(texts), tr_n("{n} message", "{n} messages", len(hits)))


def _page(page: Attachment) -> ToolResult:
    return ToolResult(f"[{page.name}, {page.address}]\n{page.text}", page.name)


def _found_pages(page: Attachment) -> ToolResult:
    """Return what a search server found: as SearXNG writes it in JSON, else the text of the page."""
    try:
        results = json.loads(page.text)["results"]
        texts = [f"{each['title']}\n{each['url']}\n{each.get('content') or ''}" for each in results[:MOST_PAGES]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ToolResult(page.text, page.name)
    return ToolResult("\n\n".join(texts) or "Nothing was found.", tr_n("{n} page", "{n} pages", len(texts)))


def _failed(text: str) -> ToolResult:
    return ToolResult(text, failed=True)
