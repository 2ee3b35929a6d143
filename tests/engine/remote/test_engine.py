"""The remote engine against a server that obeys: honest, broken and hostile ones."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import (
    WRITTEN,
    Counted,
    Event,
    Finished,
    ModelsListed,
    ToolCallArguments,
    ToolCallStarted,
    Welcome,
)
from engine.protocol.lines import decode_event, encode
from engine.protocol.requests import (
    Constraint,
    Count,
    Generate,
    Hello,
    ListModels,
    Load,
    Message,
    Prepare,
    Request,
    Sampling,
    Server,
    ThinkingOptions,
    Tool,
    ToolCall,
)
from engine.remote import http
from engine.remote.answer import RemoteAnswer
from engine.remote.body import without_refused
from engine.remote.engine import RemoteEngine
from engine.remote.http import Patience, Response
from engine.remote.probe import probe
from engine.stop import StopFlag, Stopped
from engine.tokenization.turns import ChatTooLong
from models.servers import RemoteModel
from tests.engine.remote.fake_server import MODEL, PAUSE, FakeServer, fake_server

LLAMA = {"id": "/models/Qwen3-4B-Q4_K_M.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


def loaded(server: FakeServer, key: str = "", **options: Any) -> RemoteEngine:
    engine = RemoteEngine(**options)
    engine.load(Load(0, str(server.models[0]["id"]), server=Server(server.url, key)))
    return engine


def asked(*texts: str, **fields: Any) -> Generate:
    roles = ("user", "assistant")
    return Generate(1, tuple(Message(roles[at % 2], text) for at, text in enumerate(texts)), **fields)  # type: ignore[arg-type]


def answer(engine: RemoteEngine, text: str, **fields: Any) -> tuple[str, Finished]:
    events = list(engine.generate(asked(text, **fields)))
    assert isinstance(events[-1], Finished)
    return written(events), events[-1]


def written(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, WRITTEN))


def partial_of(engine: RemoteEngine, text: str) -> tuple[str, str]:
    events: list[Event] = []
    with pytest.raises(Failure) as caught:
        events.extend(engine.generate(asked(text)))  # `extend` keeps what came before the failure
    return written(events), caught.value.sentence.id


def test_an_answer_comes_with_the_servers_own_numbers(server: FakeServer) -> None:
    text, end = answer(loaded(server), "hello there")
    assert text == "hello there "
    numbers = end.statistics
    assert (numbers.prompt_tokens, numbers.reused_tokens, numbers.decode_tokens, numbers.n_ctx) == (21, 8, 5, 4096)
    assert numbers.stop_reason == "end"


def test_the_model_names_its_host_wherever_it_is_named(server: FakeServer) -> None:
    engine = RemoteEngine()
    info = engine.load(Load(3, "echo", server=Server(server.url))).model
    host = f"127.0.0.1:{server.server_address[1]}"
    assert (info.host, info.name, info.software, info.n_ctx) == (host, f"echo · {host}", "vLLM", 4096)
    assert info.path == str(RemoteModel(server.url, "echo").path)


def test_llama_cpp_tells_its_context_version_and_template() -> None:
    with fake_server(LLAMA, software="llama.cpp") as server:
        engine = RemoteEngine()
        info = engine.load(Load(3, str(LLAMA["id"]), server=Server(server.url))).model
    assert (info.n_ctx, info.software) == (4096, "llama.cpp b7000-abc")
    assert info.thinking.switch
    assert info.name.startswith("Qwen3 4B Q4_K_M · 127.0.0.1:")


@pytest.mark.parametrize(
    ("name", "switch", "efforts"),
    [
        ("Qwen/Qwen3-32B-AWQ", True, False),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", False, False),
        ("Qwen/Qwen3-Coder-30B", False, False),
        ("openai/gpt-oss-120b", False, True),
        ("meta-llama/Llama-3.3-70B-Instruct", False, False),
    ],
)
def test_a_choice_about_thinking_is_offered_where_the_server_passes_it_on(
    name: str, switch: bool, efforts: bool
) -> None:
    with fake_server({**MODEL, "id": name}) as server:
        controls = RemoteEngine().load(Load(3, name, server=Server(server.url))).model.thinking
    assert (controls.switch, bool(controls.efforts)) == (switch, efforts)


def test_an_address_without_v1_is_found_too(server: FakeServer) -> None:
    listed = RemoteEngine().list_models(ListModels(1, Server(server.url.removesuffix("/v1").removeprefix("http://"))))
    assert isinstance(listed, ModelsListed)
    assert listed.url == server.url
    assert [model.name for model in listed.models] == ["echo"]


@pytest.mark.parametrize("word", ["ponder", "tags"])
def test_thoughts_have_one_form_however_a_server_sends_them(server: FakeServer, word: str) -> None:
    events = list(loaded(server).generate(asked(word)))
    assert written(events) == f"<think>\nLet me think.\n</think>\n\n{word} "
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("ThinkingStarted") < kinds.index("Thinking") < kinds.index("ThinkingEnded") < kinds.index("Text")


def test_a_server_that_does_not_stream_is_understood(server: FakeServer) -> None:
    assert answer(loaded(server), "plain")[0] == "All at once."


def test_a_redirect_within_the_server_is_followed(server: FakeServer) -> None:
    assert answer(loaded(server), "moved on")[0] == "moved on "
    assert server.paths[-2:] == ["/v1/chat/completions", "/moved/chat/completions"]


@pytest.mark.parametrize(
    ("word", "failure", "arrived"),
    [
        ("file", "refused.server_redirect", ""),
        ("link-local", "refused.server_redirect", ""),
        ("elsewhere", "refused.server_redirect", ""),
        ("circle", "refused.redirects", ""),
        ("half", "no_connection.server_cut", "Only the beginning"),
        ("broke", "no_connection.server_broke", "Only the beginning"),
        ("garbage", "refused.server_nonsense", ""),
        ("page", "refused.server_nonsense", ""),
        ("line", "refused.server_too_much", ""),
        ("filter", "refused.server_filter", "filter "),
        ("packed", "refused.server_nonsense", ""),
        ("retry ²", "no_connection.server_busy", ""),
        (f"retry {'9' * 5000}", "no_connection.server_busy", ""),
        ("location http://[x", "refused.server_redirect", ""),
        ("abort", "no_connection.server_broke", "abort "),
        ("status 401", "refused.server_needs_key", ""),
        ("status 404", "not_found.server_model", ""),
        ("status 429", "no_connection.server_busy_until", ""),
        ("status 503", "no_connection.server_problem", ""),
        ("status 418", "refused.server_request", ""),
    ],
)
def test_a_failing_or_hostile_server_ends_in_a_sentence_and_what_arrived_is_kept(
    server: FakeServer, word: str, failure: str, arrived: str
) -> None:
    assert partial_of(loaded(server), word) == (arrived, failure)


def test_a_redirect_to_another_name_at_the_same_port_is_refused(server: FakeServer) -> None:
    elsewhere = f"http://localhost:{server.server_address[1]}/moved/chat/completions"
    assert partial_of(loaded(server), f"location {elsewhere}") == ("", "refused.server_redirect")
    assert server.paths[-1] == "/v1/chat/completions"


def test_an_answer_without_end_is_ended(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.remote.answer.MOST_TEXT", 200_000)
    text, failure = partial_of(loaded(server), "endless")
    assert failure == "refused.server_too_much"
    assert 0 < len(text) <= 200_000
    assert server.gone.wait(10)


@pytest.mark.parametrize("word", ["slow", "silent"])
def test_a_stop_ends_the_answer_and_the_servers_work(server: FakeServer, word: str) -> None:
    engine = loaded(server)
    threading.Timer(0.2, engine.stop.set).start()
    events = list(engine.generate(asked(word)))
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.stop_reason == "cancelled"
    assert server.gone.wait(10), "the server would go on computing"


def test_what_follows_an_answer_is_not_waited_for_without_end(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.remote.answer.NUMBERS_SECONDS", 0.3)
    text, end = answer(loaded(server), "drip")
    assert (text, end.statistics.stop_reason) == ("drip ", "end")


def test_a_stop_behind_the_end_of_an_answer_leaves_it_whole(server: FakeServer) -> None:
    probed = probe(Server(server.url), lambda: False)
    whole = RemoteAnswer(asked("mute"), probed, "echo", 0, StopFlag(), Patience())
    whole._stop = SimpleNamespace(is_set=lambda: bool(whole._reader.finish))  # type: ignore[assignment]
    *_, end = whole.events()
    assert isinstance(end, Finished)
    assert end.statistics.stop_reason == "end"


def test_the_first_token_counts_from_its_arrival_also_while_it_is_held_back(server: FakeServer) -> None:
    text, end = answer(loaded(server), "held")
    assert text == "<the birdheld "
    assert end.statistics.prompt_seconds >= PAUSE
    assert end.statistics.decode_seconds >= PAUSE / 2  # a busy computer hears the first token late


@pytest.fixture
def full() -> Iterator[int]:
    """Yield the port of a socket whose queue is full: another connection to it is neither made nor refused."""
    with socket.socket() as listening, ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(3):
            queued = waiting.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(listening.getsockname())
        yield int(listening.getsockname()[1])


def half_open(port: int) -> list[object]:
    connections = psutil.Process().net_connections("tcp")
    return [c for c in connections if c.status == "SYN_SENT" and c.raddr and c.raddr.port == port]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count their queue otherwise")
def test_a_stop_ends_connecting_at_once(full: int) -> None:
    before, engine = len(half_open(full)), RemoteEngine()
    seen: list[int] = []

    def stop() -> None:
        seen.append(len(half_open(full)))
        engine.stop.set()

    threading.Timer(0.3, stop).start()
    with pytest.raises(Stopped):
        engine.list_models(ListModels(1, Server(f"http://127.0.0.1:{full}/v1")))
    assert (seen, len(half_open(full))) == ([before + 1], before)


def test_a_stop_ends_the_handshake_of_a_safe_connection_at_once() -> None:
    """The server takes the connection and never says a word of the handshake."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        request = http.Request(f"https://127.0.0.1:{port(listening)}/v1", patience=Patience(connect=3600))
        threading.Timer(0.3, stop.set).start()
        with pytest.raises(Stopped):
            Response(request, stop.is_set)
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(30)
            while connection.recv(1 << 16):
                pass


def test_a_stop_and_the_programs_end_wait_for_no_name(tmp_path: Path) -> None:
    """A name whose look-up never ends, which nothing can interrupt, holds up neither."""
    program = """
import socket, threading, time
from engine.protocol.requests import ListModels, Server
from engine.remote.engine import RemoteEngine
from engine.stop import Stopped
begun = threading.Event()
def lookup(*_arguments, **_named):
    begun.set()
    time.sleep(3600)
socket.getaddrinfo = lookup
engine = RemoteEngine()
threading.Thread(target=lambda: (begun.wait(), engine.stop.set())).start()
try:
    engine.list_models(ListModels(1, Server("https://gpu.example/v1")))
except Stopped:
    print("stopped")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=120)
    assert (ended.stdout.split(), ended.stderr, ended.returncode) == ([b"stopped"], b"", 0)


def test_a_connection_that_is_never_made_is_given_up(full: int) -> None:
    with pytest.raises(Failure) as caught:
        list(
            Response(http.Request(f"http://127.0.0.1:{full}/", patience=Patience(connect=0.2)), lambda: False).chunks()
        )
    assert caught.value.sentence.id == "no_connection.server_silent"


def test_a_password_in_netrc_is_not_sent(server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password sesame\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    answer(loaded(server), "hello")
    assert set(server.keys) == {""}


def test_a_server_that_says_nothing_is_given_up(server: FakeServer) -> None:
    engine = loaded(server, patience=Patience(first=0.2))
    assert partial_of(engine, "silent") == ("", "no_connection.server_silent")
    assert server.gone.wait(10)


def test_the_key_reaches_the_server_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with fake_server(key="sesame-1234") as server:
        engine = loaded(server, "sesame-1234")
        answer(engine, "hello")
        assert set(server.keys) == {"Bearer sesame-1234"}
        load = Load(0, "echo", server=Server(server.url, "wrong-5678"))
        with pytest.raises(Failure) as caught:
            RemoteEngine().load(load)
    assert caught.value.sentence.id == "refused.server_key"
    for text in (caplog.text, str(caught.value), caught.value.detail, repr(load)):
        assert "5678" not in text
        assert "1234" not in text


@pytest.mark.parametrize("key", ["a b", "naïve", "line\nbreak: x"])
def test_what_no_header_can_carry_is_refused_without_repeating_it(server: FakeServer, key: str) -> None:
    with pytest.raises(Failure) as caught:
        RemoteEngine().list_models(ListModels(1, Server(server.url, key)))
    assert caught.value.sentence.id == "bad_option.server_key"
    assert not caught.value.sentence.values


def test_connections_that_are_turned_off_stay_off(server: FakeServer) -> None:
    forbidden = Sentence.of("offline.variable", variable="CHICKADEE_OFFLINE")
    with pytest.raises(Failure, match="Connections are turned off"):
        RemoteEngine(forbidden).load(Load(0, "echo", server=Server(server.url)))
    assert server.paths == []


def test_a_model_that_is_gone_and_a_server_that_is_gone() -> None:
    with fake_server() as server:
        gone = Load(0, "other", server=Server(server.url))
        with pytest.raises(Failure, match="does not have other any more"):
            RemoteEngine().load(gone)
        engine = loaded(server)
    text, failure = partial_of(engine, "hello")
    assert (text, failure) == ("", "no_connection.server_refused")


def test_a_name_that_nobody_has_is_a_sentence() -> None:
    with pytest.raises(Failure) as caught:
        RemoteEngine().list_models(ListModels(1, Server("http://nowhere.invalid:9/v1")))
    assert caught.value.sentence.id == "no_connection.server_name"


def test_a_server_without_encryption_is_told_from_one_with_it(server: FakeServer) -> None:
    with pytest.raises(Failure) as caught:
        RemoteEngine().list_models(ListModels(1, Server(server.url.replace("http:", "https:"))))
    assert caught.value.sentence.id == "refused.server_no_tls"


def self_signed(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Make a certificate for localhost that nobody but a caller of this knows."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_safe_connection_needs_a_certificate_that_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, tls = self_signed(tmp_path)
    with fake_server(tls=tls) as server:
        url = f"https://localhost:{server.server_address[1]}/v1"
        with pytest.raises(Failure, match="is not safe: self-signed certificate") as caught:
            RemoteEngine().list_models(ListModels(1, Server(url)))
        assert caught.value.sentence.id == "refused.server_certificate"
        known = ssl.create_default_context(cafile=str(certificate))
        monkeypatch.setattr(http, "tls_context", lambda: known)
        engine = RemoteEngine()
        engine.load(Load(0, "echo", server=Server(url)))
        assert answer(engine, "hello")[0] == "hello "
        with pytest.raises(Failure, match="is not safe"):
            RemoteEngine().list_models(ListModels(1, Server(url.replace("localhost", "127.0.0.1"))))


def test_nothing_that_was_not_sent_by_the_user_leaves_the_computer(server: FakeServer) -> None:
    engine = loaded(server)
    before = len(server.paths)
    messages = (Message("user", "a draft with a file"),)
    assert [type(event).__name__ for event in engine.prepare(Prepare(1, messages))] == ["Prepared"]
    counted = engine.count(Count(2, ("four words of text", "四个汉字"), messages))
    assert isinstance(counted, Counted)
    assert counted.texts == (6, 4)
    assert len(server.paths) == before


def test_only_changed_options_are_sent_and_each_program_gets_its_own_names(server: FakeServer) -> None:
    engine = loaded(server)
    answer(engine, "hello")
    assert set(server.bodies[-1]) == {"model", "messages", "stream", "stream_options"}
    changed = Sampling(temperature=0.2, top_k=7, repeat_penalty=1.3, seed=4, frequency_penalty=0.5)
    answer(engine, "hello", sampling=changed, max_tokens=9, thinking=ThinkingOptions(mode="off"))
    body = server.bodies[-1]
    assert (body["temperature"], body["top_k"], body["seed"], body["max_tokens"]) == (0.2, 7, 4, 9)
    assert (body["repetition_penalty"], body["frequency_penalty"]) == (1.3, 0.5)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_an_unknown_server_gets_nothing_beyond_openais_form() -> None:
    with fake_server({"id": "big", "owned_by": "somebody"}) as server:
        answer(loaded(server), "hello", sampling=Sampling(top_k=7, min_p=0.2), thinking=ThinkingOptions(mode="on"))
    assert set(server.bodies[-1]) == {"model", "messages", "stream", "stream_options"}


def test_an_option_that_a_server_refuses_is_left_out(server: FakeServer) -> None:
    assert answer(loaded(server), "refuse seed", sampling=Sampling(seed=3))[0] == "refuse seed "
    assert ["seed" in body for body in server.bodies] == [True, False]


@pytest.mark.parametrize(
    ("reason", "parameter", "left_out"),
    [
        ("Unsupported parameter: 'stop' is not supported with this model.", "", ["stop"]),
        ("Argument not supported on this model: stop", "", ["stop"]),
        ("The parameter seed is unknown.", "", ["seed"]),
        ("[{'loc': ('body', 'top_p'), 'msg': 'Extra inputs are not permitted'}]", "", ["top_p"]),
        ("top_p must be above 0", "", ["top_p"]),
        ("Something is wrong here", "seed", ["seed"]),
        ("'stop' is fine, but not with this", "top_p", ["top_p"]),
        ("The server has stopped this request: messages[0] is empty", "", []),
        ("The server will stop now.", "", []),
        ("Nothing has been seeded: the option is missing", "", []),
        ("stop_token_ids and top_p_decay are unknown", "", []),
        ("'stop' cannot be in a message", "messages", []),
    ],
)
def test_only_an_option_that_a_server_names_is_left_out(reason: str, parameter: str, left_out: list[str]) -> None:
    body = {"model": "m", "messages": [], "stream": True, "stop": ["###"], "seed": 1, "top_p": 0.5}
    fewer = without_refused(body, reason, parameter)
    assert sorted(body.keys() - fewer.keys() if fewer else ()) == left_out


def test_an_answer_is_continued_as_the_server_does_it(server: FakeServer) -> None:
    text = "<think>\nhm\n</think>\n\nOnce upon"
    list(loaded(server).generate(asked("tell", text, continue_last=True)))
    body = server.bodies[-1]
    assert body["messages"][-1] == {"role": "assistant", "content": "Once upon"}
    assert body["continue_final_message"] is True
    with fake_server({"id": "big"}) as unknown:
        list(loaded(unknown).generate(asked("tell", text, continue_last=True)))
        assert [message["role"] for message in unknown.bodies[-1]["messages"]] == ["user", "assistant", "user"]


def test_a_chat_that_is_too_long_for_the_server_offers_to_leave_out_turns(server: FakeServer) -> None:
    engine = loaded(server)
    long = asked(*["word " * 600, "fine"] * 6, "toolong please")
    with pytest.raises(ChatTooLong) as caught:
        list(engine.generate(long))
    assert caught.value.remedies[0].turns > 0


def test_the_context_is_full_only_where_it_is(server: FakeServer) -> None:
    assert answer(loaded(server), "long")[1].statistics.stop_reason == "length"
    with fake_server({"id": "tiny", "max_model_len": 26}) as tiny:
        assert answer(loaded(tiny), "long")[1].statistics.stop_reason == "context"


def test_a_proxy_gets_what_is_for_others_and_nothing_for_this_computer(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_server() as proxy:
        monkeypatch.setattr(http, "getproxies", lambda: {"http": f"http://127.0.0.1:{proxy.server_address[1]}"})
        answer(loaded(server), "hello")
        assert proxy.paths == []
        with pytest.raises(Failure):
            RemoteEngine().list_models(ListModels(1, Server("http://gpu.invalid/v1")))
        assert proxy.paths == ["http://gpu.invalid/v1/models"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_without_an_answer_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "getproxies", lambda: {scheme: "http://me:secret@127.0.0.1:9"})
    with pytest.raises(Failure, match=r"The proxy 127\.0\.0\.1 does not connect to gpu\.invalid") as caught:
        RemoteEngine().list_models(ListModels(1, Server(f"{scheme}://gpu.invalid/v1")))
    assert "secret" not in str(caught.value) + caught.value.detail


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", None])
def test_a_proxy_that_makes_no_tunnel_is_named(said: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hangs up, refuses, or says nothing at all."""
    asked_for = []

    def refuse(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            asked_for.append(connection.recv(1 << 16))
            if said is None:
                connection.recv(1)
            else:
                connection.sendall(said)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setattr(http, "getproxies", lambda: {"https": f"http://me:pass%40word@127.0.0.1:{port(listening)}"})
        proxy = threading.Thread(target=refuse, args=(listening,))
        proxy.start()
        request = http.Request("https://gpu.invalid/v1/models", patience=Patience(connect=2))
        with pytest.raises(Failure, match=r"The proxy 127\.0\.0\.1 does not connect to gpu\.invalid"):
            Response(request, lambda: False)
        proxy.join()
    assert asked_for[0].startswith(b"CONNECT gpu.invalid:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"me:pass@word") in asked_for[0]


def port(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])


@pytest.mark.parametrize(
    "fields",
    [
        {"constraint": Constraint("json_object")},
        {"top_logprobs": 2},
        {"prompt": "Once"},
        {"sampling": Sampling(logit_bias=((1, 2.0),))},
    ],
)
def test_what_no_server_is_sent_is_refused_and_not_left_out(server: FakeServer, fields: dict[str, Any]) -> None:
    engine = loaded(server)
    with pytest.raises(Failure, match="A model on a server cannot do this"):
        list(engine.generate(asked("hello", **fields)))
    assert server.bodies == []


def test_the_process_speaks_the_protocol_and_reads_nothing_of_the_user(server: FakeServer) -> None:
    command = [sys.executable, "-m", "engine", "remote"]
    requests: list[Request] = [
        Hello(1), ListModels(2, Server(server.url)), Load(3, "echo", server=Server(server.url)), asked("hello"),
    ]  # fmt: skip
    lines = b"".join(encode(request) for request in requests)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    process.stdin.write(lines)
    process.stdin.flush()
    events: list[Event] = []
    while not events or not isinstance(events[-1], Finished):
        events.append(decode_event(process.stdout.readline()))
    process.communicate()
    assert process.returncode == 0
    kinds = [json.loads(encode(event))["type"] for event in events]
    assert kinds == ["welcome", "models_listed", "loaded", "prefill_progress", "text", "finished"]
    welcome = events[0]
    assert isinstance(welcome, Welcome)
    assert welcome.limits in (("files",), ())


def test_the_process_imports_nothing_that_computes_and_httpx_only_to_ask() -> None:
    """Both would cost each start a fifth of a second."""
    program = "import sys, engine.remote.process; print(*({'numpy', 'httpx', 'anyio'} & sys.modules.keys()))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=120)
    assert ended.stdout.split() == []


def test_tools_and_calls_are_passed_on(server: FakeServer) -> None:
    engine = loaded(server)
    schema = '{"type": "object", "properties": {"text": {"type": "string"}}}'
    call = ToolCall("id0", "look", '{"text": "a"}')
    chat = (Message("user", "?"), Message("assistant", "", (call,)), Message("tool", "call it", tool_call_id="id0"))
    events = list(engine.generate(Generate(1, chat, tools=(Tool("look", "Looks.", schema),), tool_choice="none")))
    body = server.bodies[-1]
    function = {"name": "look", "description": "Looks.", "parameters": json.loads(schema)}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == "none"
    assert body["messages"][1]["tool_calls"] == [
        {"id": "id0", "type": "function", "function": {"name": "look", "arguments": '{"text": "a"}'}}
    ]
    assert body["messages"][2] == {"role": "tool", "content": "call it", "tool_call_id": "id0"}
    started = [(each.index, each.call, each.name) for each in events if isinstance(each, ToolCallStarted)]
    assert started == [(0, "id0", "look"), (1, "id1", "look")]
    arguments = [each.text for each in events if isinstance(each, ToolCallArguments) and each.index == 1]
    assert "".join(arguments) == '{"text": "it"}'
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.stop_reason == "tool_calls"


def test_a_server_that_refuses_tools_is_not_asked_without_them(server: FakeServer) -> None:
    with pytest.raises(Failure) as caught:
        list(loaded(server).generate(asked("refuse tools", tools=(Tool("look"),))))
    assert caught.value.sentence.id == "refused.server_tools"
    assert len(server.bodies) == 1
