"""Forms of answers: a stream says the same as a whole answer, and what was read of a request is described."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from engine.api.app import ENDPOINTS
from engine.api.openapi import description
from engine.client import Heard
from engine.protocol.events import (
    Event,
    Finished,
    Logprobs,
    Text,
    Thinking,
    ThinkingEnded,
    ThinkingStarted,
    TokenLogprob,
    ToolCallArguments,
    ToolCallStarted,
)
from engine.protocol.requests import Generate
from engine.protocol.requests import Request as EngineRequest
from tests.engine.api.test_app import events, without_ids
from tests.engine.api.test_jobs import NUMBERS, ScriptedLink, asked

QUESTION = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
THOUGHT: list[Event] = [
    ThinkingStarted(0, "<think>"),
    Thinking(0, "\n Hm"),
    Thinking(0, ", well"),
    ThinkingEnded(0, "</think>"),
]
CALLS: list[Event] = [
    ToolCallStarted(0, 0, "c0", "look"), ToolCallArguments(0, 0, '{"a":'), ToolCallArguments(0, 0, " 1}"),
    ToolCallStarted(0, 1, "c1", "wait"), ToolCallArguments(0, 1, "{}"),
]  # fmt: skip
ANSWERS: dict[str, list[Event]] = {
    "text": [Text(0, "A"), Text(0, " bird.")],
    "thought": [*THOUGHT, Text(0, "\n\nA"), Text(0, " bird.")],
    "calls": [Text(0, "Let me"), Text(0, " look."), *CALLS],
    "thought and calls": [*THOUGHT, *CALLS],
    "nothing": [],
}


class WritingLink(ScriptedLink):
    """An engine that answers with the given events."""

    def __init__(self, written: list[Event]) -> None:
        super().__init__()
        self._written = written

    def submit(self, request: EngineRequest, heard: Heard) -> int:
        if isinstance(request, Generate):
            for event in (*self._written, Finished(0, NUMBERS, (1,))):
                heard(replace(event, id=1))
        return 1


def both(path: str, body: dict[str, Any], written: list[Event]) -> tuple[Any, list[Any]]:
    """Return the whole answer, and the events of the streamed one."""
    status, whole = asked(path, json.dumps(body).encode(), WritingLink(written))
    assert status == 200, whole
    status, stream = asked(path, json.dumps(body | {"stream": True}).encode(), WritingLink(written))
    assert status == 200, stream
    return json.loads(whole), events(stream)


def joined(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the message that the deltas of a streamed chat make."""
    message: dict[str, Any] = {}
    for piece in pieces:
        for name, value in piece["choices"][0]["delta"].items():
            if name == "tool_calls":
                [call] = value
                calls = message.setdefault(name, [])
                if "id" in call:
                    calls.append({"id": call["id"], "type": "function", "function": call["function"] | {}})
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
            else:
                message[name] = message.get(name, "") + value
    return message


@pytest.mark.parametrize("name", ANSWERS)
def test_a_chat_says_the_same_in_pieces(name: str) -> None:
    whole, pieces = both("/v1/chat/completions", QUESTION, ANSWERS[name])
    [choice] = whole["choices"]
    message = {part: value for part, value in choice["message"].items() if part != "refusal"}
    message["content"] = message["content"] or ""
    assert joined(pieces) == message
    assert pieces[-1]["choices"][0]["finish_reason"] == choice["finish_reason"]
    assert (choice["finish_reason"] == "tool_calls") == ("calls" in name)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_message_says_the_same_in_pieces(name: str) -> None:
    whole, pieces = both("/v1/messages", QUESTION, ANSWERS[name])
    blocks: list[dict[str, Any]] = []
    arguments: dict[int, str] = {}
    for piece in pieces:
        match piece["type"]:
            case "content_block_start":
                assert piece["index"] == len(blocks)
                blocks.append(piece["content_block"])
            case "content_block_delta":
                delta = {part: value for part, value in piece["delta"].items() if part != "type"}
                for part, value in delta.items():
                    if part == "partial_json":
                        arguments[piece["index"]] = arguments.get(piece["index"], "") + value
                    else:
                        blocks[piece["index"]][part] += value
    for index, text in arguments.items():
        blocks[index]["input"] = json.loads(text)
    assert blocks == whole["content"]
    assert pieces[-2]["delta"] == {part: whole[part] for part in ("stop_reason", "stop_sequence")}


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "nothing"])
def test_a_response_says_the_same_in_pieces(name: str) -> None:
    whole, pieces = both("/v1/responses", {"input": "Hi"}, ANSWERS[name])
    assert [piece["sequence_number"] for piece in pieces] == list(range(len(pieces)))
    assert without_ids(pieces[-1]["response"]["output"]) == without_ids(whole["output"])
    done = [piece["item"] for piece in pieces if piece["type"] == "response.output_item.done"]
    assert done == pieces[-1]["response"]["output"]
    for index, item in enumerate(done):
        grown = "".join(
            piece["delta"] for piece in pieces if piece["type"].endswith(".delta") and piece["output_index"] == index
        )
        assert grown == (item["arguments"] if "arguments" in item else item["content"][0]["text"])


@pytest.mark.parametrize(
    ("path", "piece_of"),
    [
        ("/v1/completions", lambda piece: piece["choices"][0]),
        ("/completion", lambda piece: piece),
    ],
)
def test_texts_are_told_with_each_probability_once(path: str, piece_of: Callable[[Any], Any]) -> None:
    first, second = (Logprobs(0, (TokenLogprob(token, text, (65,), -0.5),)) for token, text in ((1, "A"), (2, " b")))
    body = {"prompt": ["Hi", "Ho"], "logprobs": 1, "n_probs": 1}
    written: list[Event] = [
        first,
        Text(0, "A"),
        second,
        Text(0, " <think>b"),
        ThinkingStarted(0, "<think>"),
        Thinking(0, "c"),
    ]
    whole, pieces = both(path, body, written)
    whole = whole["choices"] if path == "/v1/completions" else whole
    told = [(piece_of(piece)["index"], piece_of(piece)) for piece in pieces]
    for index, answer in enumerate(whole):
        mine = [piece for number, piece in told if number == index]
        name = "text" if "text" in answer else "content"
        assert answer[name] == "".join(piece[name] for piece in mine) == "A <think>b<think>c"
        assert probabilities(answer) == [each for piece in mine for each in probabilities(piece)] != []


def probabilities(piece: dict[str, Any]) -> list[float]:
    if "completion_probabilities" in piece:
        return [each["logprob"] for each in piece["completion_probabilities"]]
    return piece["logprobs"]["token_logprobs"] if piece["logprobs"] else []


def test_each_endpoint_is_described_once() -> None:
    paths = description(ENDPOINTS)["paths"]
    assert len(paths) == len(ENDPOINTS)
    assert {path for path, methods in paths.items() if "text/event-stream" in json.dumps(methods)} == {
        "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/completion", "/infill"
    }  # fmt: skip
    assert not {other for endpoint in ENDPOINTS for other in endpoint.others} & paths.keys()
