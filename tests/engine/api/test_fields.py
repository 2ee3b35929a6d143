"""Fields that several forms of requests share."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from starlette.requests import Request
from starlette.types import Message

from engine.api import chat, messages, responses
from engine.api.respond import read_body
from engine.protocol.requests import Generate, InvalidValue

QUESTION = {"role": "user", "content": "Hello"}
FORMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "chat": (chat.ChatRequest, chat.ChatForm, {"messages": [QUESTION]}),
    "messages": (messages.MessagesRequest, messages.MessagesForm, {"messages": [QUESTION], "max_tokens": 1}),
    "responses": (responses.ResponsesRequest, responses.ResponsesForm, {"input": "Hello"}),
}


def request_of(form: str, usual: bool, **fields: Any) -> Generate:
    """Return the engine's request; `usual`: whether chats are kept on disk unless a request says otherwise."""
    schema, kind, body = FORMS[form]
    read = msgspec.json.decode(json.dumps(body | fields), type=schema)
    [request] = kind(read, "", usual).requests_of(Generate(0, ()))
    assert isinstance(request, Generate)
    return request


def chat_id(form: str, usual: bool, **fields: Any) -> str:
    """Return the id under which the engine may keep the chat of a request on disk."""
    return request_of(form, usual, **fields).chat


@pytest.mark.parametrize("form", FORMS)
def test_a_chat_is_kept_on_disk_only_if_the_request_or_the_user_says_so(form: str) -> None:
    kept = chat_id(form, usual=True)
    assert kept.startswith("api-")
    assert chat_id(form, usual=False) == chat_id(form, usual=False, store=None) == ""
    assert chat_id(form, usual=False, store=True) == chat_id(form, usual=True, store=None) == kept
    assert chat_id(form, usual=True, store=False) == ""


@pytest.mark.parametrize("form", FORMS)
def test_a_chat_is_found_by_how_it_begins(form: str) -> None:
    name = "input" if form == "responses" else "messages"
    longer = [QUESTION, {"role": "assistant", "content": "Hi!"}, {"role": "user", "content": "How are you?"}]
    assert chat_id(form, True, **{name: longer}) == chat_id(form, True)
    assert chat_id(form, True, **{name: [longer[2]]}) != chat_id(form, True)


@pytest.mark.parametrize("form", FORMS)
def test_two_tools_of_one_name_are_refused_with_a_sentence(form: str) -> None:
    tool = {
        "chat": {"type": "function", "function": {"name": "look"}},
        "messages": {"name": "look", "input_schema": {}},
        "responses": {"type": "function", "name": "look"},
    }[form]
    with pytest.raises(InvalidValue, match="a name of its own"):
        request_of(form, False, tools=[tool, tool])


def test_numbers_and_words_are_read_as_they_are_meant() -> None:
    """2.0 is a whole number, and a text stays a text, whatever it says."""
    body = {"messages": [{"role": "user", "content": word} for word in ("null", "true", "12")], "stop": "null"}

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps(body | {"max_tokens": 2.0}).encode()}

    read = asyncio.run(read_body(Request({"type": "http"}, receive), chat.ChatRequest))
    assert [message.content for message in read.messages] == ["null", "true", "12"]
    assert (read.stop, read.max_tokens) == ("null", 2)
