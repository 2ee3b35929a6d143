"""The local API as programs use it: a real server with the default model, started once."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.failures import Failure
from engine.api.security import is_loopback, without_port

KEY = "a-key"
CHAT = {"messages": [{"role": "user", "content": "Name a bird."}], "max_tokens": 6, "temperature": 0}


NESTED: dict[str, Any] = {}
for _ in range(300):
    NESTED = {"properties": {"a": NESTED}}


def tool(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "look", "parameters": parameters}}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving(tmp_path_factory.mktemp("cache")) as number:
        yield number


@contextmanager
def serving(cache: Path, *options: str) -> Iterator[int]:
    """Start the API with a key and give its port."""
    environment = {**os.environ, "CHICKADEE_CACHE_DIR": str(cache), "CHICKADEE_API_KEY": KEY}
    command = [sys.executable, "-m", "engine", "api", "--port", "0", "--threads", "1", "--ctx", "1024", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout
        assert server.stderr
        threading.Thread(target=server.stderr.read, daemon=True).start()
        line = server.stdout.readline()
        port = re.search(r":(\d+)\.", line)
        assert port, line
        yield int(port[1])
        server.terminate()
        server.wait(30)


def send(port: int, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
        content = body if body is None or isinstance(body, bytes) else json.dumps(body)
        usual = {"Authorization": f"Bearer {KEY}"}
        connection.request("GET" if body is None else "POST", path, content, usual | (headers or {}))
        response = connection.getresponse()
        return response.status, response.read().decode()


def post(port: int, path: str, body: Any) -> Any:
    status, text = send(port, path, body)
    assert status == 200, text
    return json.loads(text)


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(each) for each in lines if each != "[DONE]"]


def test_a_streamed_chat_says_the_same_as_a_whole_one(port: int) -> None:
    whole = post(port, "/v1/chat/completions", CHAT)
    text = whole["choices"][0]["message"]["content"]
    assert text
    assert whole["usage"]["completion_tokens"] == whole["timings"]["predicted_n"] == 6
    assert whole["choices"][0]["finish_reason"] == "length"
    status, stream = send(
        port, "/v1/chat/completions", CHAT | {"stream": True, "stream_options": {"include_usage": True}}
    )
    assert status == 200
    assert stream.endswith("data: [DONE]\n\n")
    *chunks, last = events(stream)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks) == text
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], whole["usage"]["total_tokens"])
    assert post(port, "/v1/chat/completions", CHAT | {"max_tokens": 6.0})["usage"]["completion_tokens"] == 6
    parts = [{"role": "user", "content": [{"type": "text", "text": "Name a bird."}]}]
    assert post(port, "/v1/chat/completions", CHAT | {"messages": parts})["choices"][0]["message"]["content"] == text


def test_the_other_forms_say_it_too(port: int) -> None:
    text = post(port, "/v1/chat/completions", CHAT)["choices"][0]["message"]["content"]
    response = post(port, "/v1/responses", {"input": "Name a bird.", "max_output_tokens": 6, "temperature": 0})
    assert response["output"][0]["content"][0]["text"] == text
    assert response["status"] == "incomplete"
    message = post(port, "/v1/messages", CHAT)
    assert message["content"] == [{"type": "text", "text": text}]
    assert message["stop_reason"] == "max_tokens"
    _, stream = send(port, "/v1/messages", CHAT | {"stream": True})
    kinds = [event["type"] for event in events(stream)]
    assert (kinds[0], kinds[1], kinds[-3:]) == (
        "message_start", "content_block_start", ["content_block_stop", "message_delta", "message_stop"]
    )  # fmt: skip
    assert "".join(event["delta"].get("text", "") for event in events(stream) if "delta" in event) == text
    _, stream = send(
        port, "/v1/responses", {"input": "Name a bird.", "max_output_tokens": 6, "temperature": 0, "stream": True}
    )
    numbers = [event["sequence_number"] for event in events(stream)]
    assert numbers == list(range(len(numbers)))
    assert events(stream)[-1]["response"]["output"][0]["content"][0]["text"] == text
    counted = post(port, "/v1/messages/count_tokens", {"messages": CHAT["messages"]})
    assert counted["input_tokens"] == message["usage"]["input_tokens"] + message["usage"]["cache_read_input_tokens"]


WEATHER = {
    "type": "function", "name": "weather", "description": "Weather of a city.", "strict": True,
    "parameters": {
        "type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"],
        "additionalProperties": False,
    },
}  # fmt: skip
YES = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"], "additionalProperties": False}


def respond(port: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return a response, after the streamed one was found to say the same."""
    body = {"max_output_tokens": 60, "temperature": 0, "store": False} | body
    whole: dict[str, Any] = post(port, "/v1/responses", body)
    status, stream = send(port, "/v1/responses", body | {"stream": True})
    assert status == 200
    streamed = events(stream)[-1]["response"]
    assert events(stream)[-1]["type"] == f"response.{whole['status']}"
    for name in ("output", "tools", "tool_choice", "text", "status"):
        assert without_ids(streamed[name]) == without_ids(whole[name])
    return whole


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_ids(each) for name, each in value.items() if name not in ("id", "call_id")}
    return list(map(without_ids, value)) if isinstance(value, list) else value


def test_a_response_may_call_tools_in_two_turns(port: int) -> None:
    """The request's tools are part of the response, as OpenAI's API has it."""
    asked: list[Any] = [{"role": "user", "content": "What is the weather in Paris?"}]
    tools = [WEATHER, {"type": "web_search"}, {"type": "function", "name": "wait", "parameters": None}]
    choice = {"type": "function", "name": "weather"}
    with_tools = {"tools": tools, "parallel_tool_calls": False}
    first = respond(port, with_tools | {"input": asked, "tool_choice": choice})
    [call] = first["output"]
    assert json.loads(call["arguments"])["city"] in ("Paris", "Rome")
    assert first["tools"][:2] == tools[:2]
    assert first["tool_choice"] == choice
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "Rain"}
    second = respond(port, with_tools | {"input": [*asked, call, result], "tool_choice": "none"})
    assert second["output"][0]["content"][0]["text"]
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [choice]}
    third = respond(port, with_tools | {"input": asked, "tool_choice": allowed})
    assert [item["name"] for item in third["output"]] == ["weather"]


def test_a_response_may_have_a_schema(port: int) -> None:
    form = {"type": "json_schema", "name": "answer", "strict": True, "schema": YES}
    answer = respond(port, {"input": "Is a bird an animal?", "text": {"format": form, "verbosity": "low"}})
    assert isinstance(json.loads(answer["output"][0]["content"][0]["text"])["yes"], bool)
    assert answer["text"]["format"] == form


def test_a_coding_agents_request_is_answered(port: int) -> None:
    """Codex sends instructions, messages in parts, its earlier thoughts and calls, and tools that are no functions."""
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the files."}]}
    thought: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": "abc"}
    call = {"type": "function_call", "id": None, "call_id": "c1", "name": "shell", "arguments": '{"command": ["ls"]}'}
    result = {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "a.py"}]}
    shell = {
        "type": "function", "name": "shell", "strict": False, "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}},
    }  # fmt: skip
    patch = {"type": "custom", "name": "apply_patch", "description": "Edit.", "format": {"type": "grammar"}}
    answer = respond(
        port,
        {
            "model": "any", "instructions": "You are an agent.", "input": [said, thought, call, result],
            "tools": [shell, patch, {"type": "web_search", "external_web_access": False}], "tool_choice": "auto",
            "parallel_tool_calls": False, "reasoning": {"effort": "medium", "summary": "auto"}, "store": False,
            "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k", "text": {"verbosity": "medium"},
            "max_output_tokens": 8,
        },
    )  # fmt: skip
    assert answer["output"]
    assert [tool["type"] for tool in answer["tools"]] == ["function", "custom", "web_search"]


def test_items_that_are_only_named_are_refused_with_the_remedy(port: int) -> None:
    status, text = send(port, "/v1/responses", {"input": [{"type": "item_reference", "id": "msg_1"}]})
    assert (status, "“store”: false" in json.loads(text)["error"]["message"]) == (400, True), text


def test_completions_continue_texts_and_tokens(port: int) -> None:
    body = {"prompt": "Once upon a", "max_tokens": 4, "temperature": 0, "logprobs": 2}
    choice = post(port, "/v1/completions", body)["choices"][0]
    assert choice["text"].startswith(" time")
    assert len(choice["logprobs"]["tokens"]) == 4
    tokens = post(port, "/tokenize", {"content": "Once upon a"})["tokens"]
    assert post(port, "/detokenize", {"tokens": tokens})["content"] == "Once upon a"
    two = post(port, "/v1/completions", {"prompt": [tokens, "One, two, three,"], "max_tokens": 4, "temperature": 0})
    assert [each["index"] for each in two["choices"]] == [0, 1]
    assert two["choices"][0]["text"] == choice["text"]


def test_a_prompt_is_only_read_if_no_token_is_wanted(port: int) -> None:
    chat = post(port, "/v1/chat/completions", CHAT | {"max_tokens": 0})
    assert (chat["choices"][0]["message"]["content"], chat["choices"][0]["finish_reason"]) == ("", "length")
    assert post(port, "/v1/chat/completions", CHAT)["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    whole = post(port, "/completion", {"prompt": "Once upon a", "n_predict": 0})
    assert (whole["content"], whole["tokens_predicted"], whole["stop_type"]) == ("", 0, "limit")
    assert events(send(port, "/v1/messages", CHAT | {"max_tokens": 0, "stream": True})[1])[-1]["type"] == "message_stop"
    assert post(port, "/v1/responses", {"input": "Hi", "max_output_tokens": 0})["status"] == "incomplete"


def test_an_echoed_prompt_is_scored_as_if_the_model_had_written_it(port: int) -> None:
    body = {"prompt": "Once upon a time, there", "max_tokens": 70, "temperature": 0, "logprobs": 2, "echo": True}
    written = post(port, "/v1/completions", body)["choices"][0]
    scores, tokens = written["logprobs"], written["logprobs"]["tokens"]
    assert "".join(tokens) == written["text"]
    assert written["text"].startswith(body["prompt"])
    assert scores["token_logprobs"][0] is scores["top_logprobs"][0] is None
    for text, offset in zip(tokens, scores["text_offset"], strict=True):
        assert written["text"].startswith(text, offset)
    ids = post(port, "/tokenize", {"content": written["text"]})["tokens"]
    for prompt in (written["text"], ids):  # longer than a pass with a row of logits for each token
        again = post(port, "/v1/completions", body | {"prompt": prompt, "max_tokens": 0})["choices"][0]
        assert again["text"] == written["text"]
        # A model may write in two tokens what is read as one, "\n\n" for example: compare up to there.
        pairs = zip(again["logprobs"]["tokens"], tokens, strict=False)
        shared = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        assert shared > 65
        read, said = again["logprobs"]["token_logprobs"], scores["token_logprobs"]
        assert read[1:shared] == pytest.approx(said[1:shared], abs=0.15)
    *pieces, _last = events(send(port, "/v1/completions", body | {"max_tokens": 4, "stream": True})[1])
    choices = [piece["choices"][0] for piece in pieces]
    streamed = "".join(choice["text"] for choice in choices)
    assert written["text"].startswith(streamed)
    offsets = [offset for choice in choices if choice["logprobs"] for offset in choice["logprobs"]["text_offset"]]
    assert offsets == scores["text_offset"][: len(offsets)]
    assert len(offsets) > 4


def test_the_middle_of_a_text_is_refused_by_a_model_that_was_not_trained_for_it(port: int) -> None:
    for path, body in (
        ("/infill", {"input_prefix": "a = ", "input_suffix": "\n"}),
        ("/v1/completions", {"prompt": "a = ", "suffix": "\n"}),
    ):
        status, text = send(port, path, body)
        assert (status, "Qwen2.5-Coder" in json.loads(text)["error"]["message"]) == (400, True), text


def test_clients_of_llama_server_are_understood(port: int) -> None:
    body = {"prompt": "Once upon a", "n_predict": 4, "temperature": 0, "n_probs": 2, "return_tokens": True}
    whole = post(port, "/completion", body)
    assert whole["content"].startswith(" time")
    assert (whole["stop_type"], whole["tokens_predicted"], len(whole["tokens"])) == ("limit", 4, 4)
    assert [len(each["top_logprobs"]) for each in whole["completion_probabilities"]] == [2] * 4
    *pieces, last = events(send(port, "/completion", body | {"stream": True})[1])
    assert "".join(piece["content"] for piece in pieces) == whole["content"]
    assert [token for piece in pieces for token in piece["tokens"]] == whole["tokens"]
    assert (last["stop"], last["content"]) == (True, "")
    one, two = post(port, "/completion", body | {"prompt": ["Once upon a", "One, two,"]})
    assert one["content"] == whole["content"] != two["content"]
    fields = ["content", "generation_settings/n_predict", "nothing/here"]
    assert list(post(port, "/completion", body | {"response_fields": fields})) == fields[:2]
    assert send(port, "/completion", body | {"n_probs": 99})[0] == 400
    props = json.loads(send(port, "/props")[1])
    assert props["default_generation_settings"]["n_ctx"] == 1024
    assert "/" not in props["model_path"]  # the folder may have the user's name in it
    assert post(port, "/chat/completions", CHAT)["choices"][0]["finish_reason"] == "length"


def test_the_server_describes_itself(port: int) -> None:
    models = json.loads(send(port, "/v1/models")[1])["data"]
    assert json.loads(send(port, f"/v1/models/{models[0]['id']}")[1]) == models[0]
    assert send(port, "/v1/models/none")[0] == 404
    assert json.loads(send(port, "/health", headers={"Authorization": ""})[1]) == {"status": "ok"}
    assert 'chickadee_requests_total{path="/v1/models",status="200"}' in send(port, "/metrics")[1]
    assert "/v1/chat/completions" in json.loads(send(port, "/openapi.json")[1])["paths"]


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"{", 400, "JSON"),
        (b"[]", 400, "object"),
        (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', 400, "JSON"),
        ({"messages": []}, 400, "no message"),
        ({"messages": [{"role": "user", "content": " "}]}, 400, "empty"),
        (CHAT | {"temperature": -1}, 400, "emperature"),
        (CHAT | {"n": 2}, 400, "n must be 1"),
        (CHAT | {"tool_choice": "required"}, 400, "tools"),
        (CHAT | {"tools": [{"function": {"name": "a"}}, {"function": {"name": "a"}}]}, 400, "Each tool"),
        (CHAT | {"max_tokens": 2.5}, 400, "max_tokens: Expected a whole number or null, got a number with a fraction."),
        ({"messages": [{"role": "user"}, {"content": "A"}]}, 400, "messages[1]: Object missing required field “role”."),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, 400, "Texts and pictures"),
        ({"messages": [{"role": "user", "content": "a " * 4000}]}, 400, "1,024"),
        (b'{"messages": [], "json_schema": {"const": "\xff"}}', 400, "in utf-8: byte 44 is not part of a character."),
        (b'{"messages": [], "json_schema": ' + b"[" * 9000 + b"]" * 9000 + b"}", 400, "lists and objects within each"),
        (CHAT | {"json_schema": {"type": "integer", "multipleOf": 9999991}}, 400, "multipleOf"),
        (CHAT | {"json_schema": {"const": -(2**63)}}, 400, "const"),
        (CHAT | {"grammar": "root ::= " + "(" * 90 + '"a"' + ")" * 90}, 400, "more than 24 groups"),
        (CHAT | {"tools": [tool(NESTED)]}, 400, "The parameters of the tool “look” cannot be used: it is nested"),
        (CHAT | {"tools": [tool({}), tool({})]}, 400, "a name of its own"),
    ],
)
def test_wrong_requests_get_an_error(port: int, body: Any, status: int, word: str) -> None:
    got, text = send(port, "/v1/chat/completions", body)
    assert (got, word in json.loads(text)["error"]["message"]) == (status, True), text


@pytest.mark.parametrize("number", [2**31, 2**63, 2**70, -(2**63), -(2**70)])
@pytest.mark.parametrize(
    "field", ["max_tokens", "seed", "top_k", "repeat_last_n", "logprobs", "n", "temperature", "repeat_penalty"]
)
def test_numbers_larger_than_any_machine_word_are_taken_or_refused(port: int, field: str, number: int) -> None:
    status, text = send(port, "/v1/completions", {"prompt": "A", "max_tokens": 1, "stop": ["e", " "], field: number})
    assert status in (200, 400), text


def test_control_marks_in_messages_are_text(port: int) -> None:
    def count(words: str) -> int:
        body = {"messages": [{"role": "user", "content": words}]}
        return int(post(port, "/v1/messages/count_tokens", body)["input_tokens"])

    mark = "<|im_end|>"
    spelled = post(port, "/tokenize", {"content": mark, "parse_special": False})["tokens"]
    assert len(spelled) > 3
    assert count(f"a {mark} a") - count("a a") == len(spelled)


def test_who_may_ask(port: int) -> None:
    for headers, status in (
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "", "x-api-key": KEY}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"X-Long": "a" * 40_000}, 431),
    ):
        assert send(port, "/v1/models", headers=headers)[0] == status, headers
    assert send(port, "/v1/chat/completions", b"", {"Content-Length": str(1 << 30)})[0] == 413


def test_hosts_of_this_computer() -> None:
    for host in ("localhost", "localhost:80", "127.0.0.1:8765", "[::1]:1", "app.localhost"):
        assert is_loopback(without_port(host)), host
    for host in ("", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.1:80", "0.0.0.0"):
        assert not is_loopback(without_port(host)), host


def test_an_address_that_is_taken_is_told_in_the_systems_words() -> None:
    from engine.api.server import listen

    with listen("127.0.0.1", 0, "") as taken, pytest.raises(Failure, match=r"cannot listen at .*: .+\.") as failure:
        listen("127.0.0.1", taken.getsockname()[1], "")
    assert "nknown error" not in str(failure.value)


def test_a_system_without_socket_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.api.server import listen_unix

    monkeypatch.delattr(socket, "AF_UNIX", raising=False)
    with pytest.raises(Failure, match=r"api\.sock"):
        listen_unix(tmp_path / "api.sock")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no socket files")
def test_a_socket_file_is_private(tmp_path: Path) -> None:
    from engine.api.server import listen_unix

    path = tmp_path / "api.sock"
    for _ in range(2):  # the second time, the file of a server that has ended is there
        with listen_unix(path):
            assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="there are no socket files, and no signals that ask to end")
@pytest.mark.parametrize("hung", [False, True])
def test_a_signal_ends_the_engine_and_removes_the_socket_file(tmp_path: Path, hung: bool) -> None:
    """Also while the engine answers, and when it hangs."""
    path = tmp_path / "api.sock"
    environment = {**os.environ, "CHICKADEE_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "engine", "api", "--unix", str(path), "--threads", "1", "--ctx", "1024"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as server:
        assert server.stdout
        assert str(path) in server.stdout.readline()
        [engine] = psutil.Process(server.pid).children()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(path))
            body = json.dumps({"prompt": "One, two, three,", "stream": True, "temperature": 0}).encode()
            client.sendall(b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
            client.sendall(body)
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            if hung:
                engine.suspend()
            server.terminate()
            assert server.wait(60) == 0
    assert not engine.is_running()
    assert not path.exists()


def test_a_port_that_does_not_exist_is_told_with_one_full_stop() -> None:
    from engine.api.server import listen

    with pytest.raises(Failure, match=r"^A port is a number from 0 to 65535, not 70000\.$"):
        listen("127.0.0.1", 70_000, "")


def test_two_clients_without_ids_that_take_turns_read_only_what_is_new(port: int) -> None:
    starts = ("Birds: " + "tit, wren; " * 60, "Count: " + "1, 2; " * 60)
    chats = [[{"role": "user", "content": text}] for text in starts]
    known = [0, 0]
    for turn in range(3):
        for i, chat in enumerate(chats):
            body = {"messages": chat, "max_tokens": 4, "temperature": 0}
            answer = post(port, "/v1/chat/completions", body)
            usage = answer["usage"]
            if turn:
                assert usage["prompt_tokens_details"]["cached_tokens"] >= known[i] - 64 > 64
            known[i] = usage["prompt_tokens"]
            text = answer["choices"][0]["message"]["content"]
            chat += [{"role": "assistant", "content": text}, {"role": "user", "content": f"And number {turn}?"}]
