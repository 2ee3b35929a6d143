"""What is found out about a server from its list of models, and what is said of servers that have none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from common.failures import Failure
from engine.protocol.events import ThinkingControls
from engine.protocol.requests import Server
from engine.remote.probe import Probed, probe
from tests.engine.remote.fake_server import FakeServer, fake_server

ECHO = {"id": "echo"}


def probed(server: FakeServer, key: str = "") -> Probed:
    return probe(Server(server.url, key), lambda: False)


def refused(server: FakeServer, key: str = "") -> Failure:
    with pytest.raises(Failure) as caught:
        probed(server, key)
    return caught.value


@pytest.mark.parametrize(
    ("header", "entry", "pages", "software"),
    [
        ("uvicorn", {"owned_by": "vllm"}, {"/version": {"version": "0.9.1"}}, "vLLM 0.9.1"),
        ("uvicorn", {"owned_by": "VLLM"}, {"/version": {"version": 9}}, "vLLM"),
        ("uvicorn", {"owned_by": "vllm"}, {"/version": ["0.9.1"]}, "vLLM"),
        ("uvicorn", {"owned_by": "sglang"}, {}, "SGLang"),
        ("Ollama", {}, {"/api/version": {"version": "0.5.7"}}, "Ollama 0.5.7"),
        ("", {"owned_by": "library"}, {}, "Ollama"),
        ("LiteLLM Proxy", {"owned_by": "vllm"}, {}, "LiteLLM"),
        ("uvicorn", {"owned_by": "chickadee"}, {}, "Chickadee"),
        ("llama.cpp", {}, {"/props": {}}, "llama.cpp"),
        ("", {"owned_by": "llamacpp"}, {"/props": {"build_info": "b" * 90}}, f"llama.cpp {'b' * 14}…{'b' * 15}"),
        ("nginx", {"owned_by": ["vllm"]}, {}, ""),
    ],
)
def test_a_server_is_recognised(header: str, entry: dict[str, Any], pages: dict[str, Any], software: str) -> None:
    with fake_server({**ECHO, **entry}, software=header) as server:
        server.pages = {path: (200, json.dumps(value).encode()) for path, value in pages.items()}
        assert probed(server).software == software


@pytest.mark.parametrize(
    ("entry", "n_ctx"),
    [
        *(({field: 4096}, 4096) for field in ("max_model_len", "context_length", "max_context_length")),
        *(({field: 4096}, 4096) for field in ("context_window", "max_input_tokens")),
        ({"meta": {"n_ctx_train": 32768, "n_ctx": 8192}}, 8192),
        ({"meta": {"n_ctx_train": 32768}}, 32768),
        ({"context_length": True, "meta": {"n_ctx": "9", "n_ctx_train": 7}}, 7),
        ({"context_length": (1 << 31) - 1}, (1 << 31) - 1),
        ({"context_length": 1 << 31}, 0),
        ({"context_length": 0, "max_model_len": -1, "meta": 5}, 0),
    ],
)
def test_the_context_is_read_whatever_the_server_calls_it(entry: dict[str, Any], n_ctx: int) -> None:
    with fake_server({**ECHO, **entry}) as server:
        assert [model.n_ctx for model in probed(server).models] == [n_ctx]


def test_the_context_that_llama_cpp_was_started_with_is_that_of_its_only_model() -> None:
    entry, other = {**ECHO, "meta": {"n_ctx": 512}}, {"id": "other", "meta": {"n_ctx": 512}}
    for n_ctx, expected in ((1024, 1024), (0, 512), (True, 512), (1 << 31, 512), (None, 512)):
        with fake_server(entry, software="llama.cpp") as server:
            server.pages["/props"] = 200, json.dumps({"default_generation_settings": {"n_ctx": n_ctx}}).encode()
            assert [model.n_ctx for model in probed(server).models] == [expected]
    with fake_server(entry, other, software="llama.cpp") as server:
        assert [model.n_ctx for model in probed(server).models] == [512, 512]


def test_a_template_tells_what_may_be_chosen_about_thinking() -> None:
    efforts = ThinkingControls(efforts=("low", "medium", "high"), default_effort="medium")
    switch = ThinkingControls(switch=True, default=True)
    for template, controls in (("{{ reasoning_effort }}", efforts), ("{% if ENABLE_THINKING %}", switch)):
        with fake_server({"id": "gpt-oss"}, software="llama.cpp") as server:
            server.pages["/props"] = 200, json.dumps({"chat_template": template}).encode()
            assert probed(server).thinking_of("gpt-oss") == controls
    with fake_server(ECHO) as server:  # its template is not known, and it would ignore a switch
        assert probed(server).thinking_of("Qwen3-4B") == ThinkingControls()
        assert probed(server).thinking_of("GPT-OSS-20b") == efforts


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        ({"data": [ECHO, {"id": "bird"}]}, ["echo", "bird"]),
        ({"models": [{"name": "bird"}]}, ["bird"]),
        ([ECHO, ECHO], ["echo"]),
        ({"data": None}, []),
        ([{"id": "a", "type": "embeddings"}, {"id": "b", "object": "Rerank"}, {"id": "c", "type": 5}], ["c"]),
        ([{"id": ""}, {"id": 7}, {}, {"id": "a\u202eb"}, {"id": "n" * 301}, {"id": "n" * 300}], ["n" * 300]),
        ([{"id": f"m{n}"} for n in range(2001)], [f"m{n}" for n in range(2000)]),
    ],
)
def test_a_list_of_models_has_one_of_three_forms(listed: Any, names: list[str]) -> None:
    with fake_server() as server:
        server.pages["/v1/models"] = 200, json.dumps(listed).encode()
        assert [model.name for model in probed(server).models] == names


def test_a_model_is_chosen_by_its_name_or_because_it_is_the_only_one() -> None:
    with fake_server({"id": "a"}, {"id": "b"}) as server:
        two = probed(server)
    with fake_server({"id": "a"}) as server:
        one = probed(server)
        server.pages["/v1/models"] = 200, b"[]"
        none = probed(server)
    assert (two.model("b").name, one.model("").name, one.model("a").name) == ("b", "a", "a")
    expected = (
        (two, "", "not_found.server_which"), (two, "c", "not_found.server_model"), (one, "b", "not_found.server_model"),
        (none, "", "not_found.server_no_models"), (none, "a", "not_found.server_no_models"),
    )  # fmt: skip
    for server_models, name, sentence in expected:
        with pytest.raises(Failure) as caught:
            server_models.model(name)
        assert caught.value.sentence.id == sentence
    with pytest.raises(Failure, match="a, b"):
        two.model("")


@pytest.mark.parametrize(
    ("status", "body", "key", "sentence"),
    [
        (200, b"{}", "", "refused.server_nonsense"),
        (200, b"[5]", "", "refused.server_nonsense"),
        (200, b'"x"', "", "refused.server_nonsense"),
        (200, b"<html>", "", "refused.server_nonsense"),
        (401, b"", "", "refused.server_needs_key"),
        (403, b"", "", "refused.server_needs_key"),
        (401, b"", "sesame", "refused.server_key"),
        (404, b"", "", "not_found.server_api"),
        (429, b"", "", "no_connection.server_busy_until"),
        (500, b"", "", "no_connection.server_problem"),
        (503, b'{"error": {"message": "Loading model"}}', "", "no_connection.server_loading"),
        (503, b"", "", "no_connection.server_problem"),
        (500, b'"loading"', "", "no_connection.server_problem"),
        (418, b"", "", "refused.status"),
        (418, b"tea", "", "refused.server_request"),
    ],
)
def test_a_server_without_a_list_is_told_by_what_it_answers(status: int, body: bytes, key: str, sentence: str) -> None:
    with fake_server() as server:
        server.pages["/v1/models"] = status, body
        assert refused(server, key).sentence.id == sentence
        assert server.paths == ["/v1/models"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "No  tea\\n today."}}', "No tea today"),
        (b'{"error": "No tea."}', "No tea"),
        (b'{"message": "No tea"}', "No tea"),
        (b'{"detail": "No tea"}', "No tea"),
        (b'{"detail": [{"loc": 1}]}', '[{"loc":1}]'),
        (b"No tea for sesame.", "No tea for …"),
        (b"x" * 300, "x" * 300),
        (b"x" * 301, "x" * 299 + "…"),
    ],
)
def test_a_refusal_is_told_in_the_servers_words_without_the_key(body: bytes, words: str) -> None:
    with fake_server() as server:
        server.pages["/v1/models"] = 418, body
        assert refused(server, "sesame").sentence.values["reason"] == words
        server.pages["/v1/models"] = 418, b"<!DOCTYPE HTML>No tea"
        assert refused(server).sentence.id == "refused.status"


def test_the_address_below_v1_is_asked_only_if_there_is_no_list_at_the_given_one() -> None:
    with fake_server(ECHO) as server:
        above = server.url.removesuffix("/v1")
        assert probe(Server(above, ""), lambda: False).server.url == server.url
        server.paths.clear()
        server.pages["/models"] = 500, b""
        with pytest.raises(Failure, match="has a problem"):
            probe(Server(above, ""), lambda: False)
        assert server.paths == ["/models"]
        server.pages = {"/models": (200, b"<html>"), "/v1/models": (404, b"")}
        with pytest.raises(Failure) as caught:
            probe(Server(above, ""), lambda: False)
        assert caught.value.sentence.id == "refused.server_nonsense"
