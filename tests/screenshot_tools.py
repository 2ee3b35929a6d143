"""The chats with tools that the screenshots show: a question before a tool acts, and many calls in one answer."""

from __future__ import annotations

import json
from dataclasses import replace

from PySide6.QtWidgets import QWidget

from app.collections.attached import attachments_of
from app.collections.messages import Answer, FoundFile, FoundPassage
from app.state.answer_facts import sources_of
from app.store.calls import Call, encode_calls
from app.store.chat import Chat, ChatMessage
from app.tools.choices import Choices, choices_text
from app.tools.own import BUILT_IN
from app.wiring import Chickadee
from engine.protocol.events import Statistics

TOOLS = choices_text(Choices((f"{BUILT_IN}/calculate", f"{BUILT_IN}/read_web_page", f"{BUILT_IN}/date_and_time")))
TRAM = FoundPassage(120, 200, "The tram to the hotel is line 28. A ticket costs 3.10 euros.", "Lisbon")
SUMS = 20


def tool_question(chickadee: Chickadee, _ids: dict[str, str]) -> None:
    """Show two calls with an answer, then a call that waits for the user."""
    found = attachments_of(Answer(1, (FoundFile("trip.md", "text", 900, (TRAM,)),)), ())
    calls = [
        Call("1", "search_documents", '{"query": "tram ticket hotel"}', "Search", summary="1 passage", seconds=0.4),
        Call("2", "calculate", '{"expression": "7 * 3.10"}', "Calculator", summary="= 21.7", seconds=0.01),
    ]
    answer = "A ticket for line 28 costs 3.10 euros, so seven cost **21.70 euros**."
    show(chickadee, "What do seven tram tickets to our hotel cost?", calls, answer, sources_of(found))
    conversation = chickadee.open_chats.current
    conversation.send("Is the tile museum open on Mondays?")
    conversation.begin_answer("", offer=chickadee.chats.desk.offer(conversation))
    conversation.add_call("3", "read_web_page")
    conversation.add_arguments(0, json.dumps({"address": "https://www.tile-museum.example/opening-hours"}))
    conversation.finish_answer(Statistics(200, 0, 1.0, 20, 1.0, 20, "tool_calls", 220, 4096))


def many_calls(chickadee: Chickadee, _ids: dict[str, str]) -> None:
    """Show twenty calls in one answer, some with long arguments."""
    calls = [
        Call(f"{n}", "calculate", json.dumps({"expression": f"{n} * 1{'234567' * (n % 7)}"}), "Calculator",
             summary=f"= {n * int('1' + '234567' * (n % 7)):,}", seconds=0.01, failed=n == 13)
        for n in range(1, SUMS + 1)
    ]  # fmt: skip
    show(chickadee, "Compute these twenty products.", calls, "All but the thirteenth are computed.")


def show(chickadee: Chickadee, question: str, calls: list[Call], answer: str, sources: str = "") -> None:
    """Open a new chat with an answer behind calls, each with its result."""
    chat = Chat(title=question.rstrip("?."), tools=TOOLS)
    asked = ChatMessage(chat.id, None, "user", question, stop_reason="end")
    made = ChatMessage(chat.id, asked.id, "assistant", "", stop_reason="tool_calls", calls=encode_calls(calls))
    messages = [asked, made]
    for call in calls:
        above = messages[-1].id
        messages.append(ChatMessage(chat.id, above, "tool", "…", stop_reason="end", calls=encode_calls([call])))
    messages.append(ChatMessage(chat.id, messages[-1].id, "assistant", answer, stop_reason="end", sources=sources))
    chickadee.store.save(replace(chat, leaf_id=messages[-1].id), messages)
    chickadee.open_chats.reload()
    chickadee.chats.chat.open(chat.id)


def tool_server_dialog(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    """Show the dialog that adds a tool server, with a command that downloads it."""
    servers = chickadee.chats.tool_servers
    servers.open()
    assert servers.page
    servers.page.add_button.click()
    assert servers.dialog
    servers.dialog.where.setPlainText("uvx mcp-server-time")
    return servers.dialog


def tools_page(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    """Show the settings of tools."""
    chickadee.chats.tool_servers.open()
    return chickadee.settings_controller.dialog
