"""The built-in tools in the window: files and other chats are read, and nothing connects without leave."""

from __future__ import annotations

from collections.abc import Mapping

from pytestqt.qtbot import QtBot

from app.attachments.attachment import Attachment, parts_of
from app.control.own_tools import _found_pages, file_parts
from app.store.chat import Chat, ChatMessage
from app.tools.choices import Choices
from app.tools.own import BUILT_IN
from app.tools.tool import ToolResult
from app.wiring import Chickadee

BIRDS = ("owls", "wrens", "larks", "crows", "swans", "gulls", "finches", "robins")


def call(chickadee: Chickadee, qtbot: QtBot, name: str, arguments: Mapping[str, str]) -> ToolResult:
    """Return the result of a call in the open chat."""
    source = next(each for each in chickadee.chats.desk.sources if each.id == BUILT_IN)
    results: list[ToolResult] = []
    source.call(name, arguments, chickadee.open_chats.current.chat.id, results.append)
    assert not results
    qtbot.waitUntil(lambda: bool(results))
    return results[0]


def test_other_chats_are_searched_but_not_this_one(chickadee: Chickadee, qtbot: QtBot) -> None:
    store = chickadee.open_chats.store
    store.save(Chat("Bread", "bread"), [ChatMessage("bread", None, "user", "The bread needs 330 g of water.")])
    found = call(chickadee, qtbot, "search_chats", {"query": "bread flour water"})  # not all words are there
    assert "330 g of water" in found.text
    assert "“Bread”" in found.text
    assert found.summary == "1 message"
    assert call(chickadee, qtbot, "search_chats", {"query": "zebra"}).summary == "0 messages"
    chickadee.open_chats._closed["bread"] = Chat("Bread", "bread")
    chickadee.open_chats.open("bread")
    assert call(chickadee, qtbot, "search_chats", {"query": "bread"}).summary == "0 messages"


def test_files_of_the_chat_are_read_in_parts(chickadee: Chickadee, qtbot: QtBot) -> None:
    text = "\n\n".join(f"Paragraph {n} is about {word}. " * 60 for n, word in enumerate(BIRDS))
    file = Attachment("birds.txt", "text", len(text), text, parts_of(text))
    chickadee.open_chats.current.send("?", (file,))
    assert "about wrens" in call(chickadee, qtbot, "read_file", {"name": "BIRDS", "query": "wrens"}).text
    last = call(chickadee, qtbot, "read_file", {"name": "birds.txt", "part": "999"})
    assert f"part {len(file.parts)} of {len(file.parts)}" in last.text
    missing = call(chickadee, qtbot, "read_file", {"name": "fish"})
    assert missing.failed
    assert "birds.txt" in missing.text
    assert file_parts({}, {"name": ""}).failed


def test_documents_are_searched_only_in_collections_that_are_on(chickadee: Chickadee, qtbot: QtBot) -> None:
    assert call(chickadee, qtbot, "search_documents", {"query": "x"}).failed
    names = [info.name for info in chickadee.chats.desk.sources[0].tools()]
    assert "search_documents" not in names  # there is no collection


def test_nothing_connects_while_connections_are_forbidden(chickadee: Chickadee, qtbot: QtBot) -> None:
    desk = chickadee.chats.desk
    desk.choose(chickadee.open_chats.current, Choices((BUILT_IN,)))
    names = {info.name for info in desk.used_by(chickadee.open_chats.current)}
    assert "read_web_page" in names
    assert "search_web" not in names  # no address was entered
    chickadee.settings.change({"tools.search": "https://searx.example.org", "models.network": "forbidden"})
    names = {info.name for info in desk.used_by(chickadee.open_chats.current)}
    assert not names & {"read_web_page", "search_web"}
    refused = call(chickadee, qtbot, "read_web_page", {"address": "example.org"})
    assert refused == ToolResult("The user has forbidden connections.", failed=True)
    assert call(chickadee, qtbot, "search_web", {"query": "x"}).failed


def test_what_a_search_server_found_is_read_from_its_json() -> None:
    answer = '{"results": [{"title": "Wrens", "url": "https://a.example", "content": "Small."}, {"url": 1}]}'
    assert _found_pages(_page(answer)).text == answer  # one result is damaged: the text as it is
    good = '{"results": [{"title": "Wrens", "url": "https://a.example", "content": null}]}'
    assert _found_pages(_page(good)) == ToolResult("Wrens\nhttps://a.example\n", "1 page")
    assert _found_pages(_page('{"results": []}')).text == "Nothing was found."
    assert _found_pages(_page("A page.")).text == "A page."


def _page(text: str) -> Attachment:
    return Attachment("page", "web", len(text), text)
