"""Tests that the hub's answers are checked, and that nothing connects if forbidden, or to a forbidden address."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from urllib.parse import parse_qs

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.failures import Failure
from models.hub import Hub, is_safe_path
from models.network import Network, offline_reason
from tests.models.hub_server import COMMIT, Handler, HubServer

DIGEST = "0" * 64


def test_searching(server, hub):
    entries = [
        {
            "id": "a/b", "downloads": 7, "tags": ["gguf", "license:mit"], "gated": False,
            "gguf": {"total": 135, "architecture": "llama", "context_length": 8192},
        },
        {"id": "../../x"}, {"id": 3}, "x", {}, {"id": "c/d", "downloads": -1, "tags": 4, "gguf": [], "gated": "auto"},
    ]  # fmt: skip
    server.answers["/api/models"] = json.dumps(entries).encode()
    first, second = hub.search(" small  bird ")
    assert (first.repo, first.downloads, first.licence, first.parameters) == ("a/b", 7, "mit", 135)
    assert (first.architecture, first.n_ctx_train, first.gated) == ("llama", 8192, False)
    assert (second.repo, second.downloads, second.licence, second.gated) == ("c/d", 0, "", True)
    query = parse_qs(server.requests[0][0].partition("?")[2])
    assert query == {
        "search": ["small bird"], "filter": ["gguf"], "sort": ["downloads"], "direction": ["-1"], "limit": ["30"],
        "expand[]": ["downloads", "tags", "gated", "gguf"],
    }  # fmt: skip
    assert [result.repo for result in hub.search("small bird", 1)] == ["a/b"]
    assert "limit=1&" in server.requests[1][0]
    hub.search("word " * 100)
    assert len(parse_qs(server.requests[2][0].partition("?")[2])["search"][0]) == 200


def page(server: HubServer, number: int, following: str = "") -> None:
    """Have the server list the file NUMBER.gguf at /api/models/pageNUMBER, with a link to the page that follows."""
    name, file = f"page{number}", {"type": "file", "path": f"{number}.gguf", "lfs": {"oid": DIGEST, "size": 5}}
    server.redirects[f"/api/models/{name}"] = f"/cdn/{name}"
    server.add(name, json.dumps([file]).encode())
    sent = server.fault

    def answer(handler: Handler) -> bool:
        if handler.path != f"/cdn/{name}":
            return sent(handler)
        handler.answer(200, handler.content, Link=f'<{following}>; rel="next"')
        return True

    server.fault = answer if following else sent


def test_a_list_of_files_goes_on_over_pages_but_not_without_end_nor_elsewhere(server, hub):
    server.redirects[f"/api/models/a/b/tree/{COMMIT}"] = "/api/models/page0"
    for number in range(12):
        page(server, number, f"/api/models/page{number + 1}")
    assert sorted(model.name for model in hub.models("a/b")) == sorted(f"{number}.gguf" for number in range(10))
    page(server, 2, "https://elsewhere.test/api/models/page3")
    assert [model.name for model in hub.models("a/b")] == ["0.gguf", "1.gguf", "2.gguf"]
    page(server, 1, "/not-the-api")
    assert [model.name for model in hub.models("a/b")] == ["0.gguf", "1.gguf"]


def test_an_answer_without_end_is_not_read_to_its_end(server, hub, monkeypatch):
    monkeypatch.setattr("models.hub.MAX_ANSWER", 100)
    server.answers["/api/models"] = b"[]".ljust(100)
    assert hub.search("x") == ()
    server.answers["/api/models"] = b"[]".ljust(101)
    with pytest.raises(Failure, match="does not end"):
        hub.search("x")


def test_a_version_that_is_no_digest_is_not_asked_for(server, hub):
    server.add("x.gguf", b"1")
    listed = json.dumps(server.tree()).encode()
    for version in ("../../x", "ABCDEF0", "abc", 7, None):
        server.answers["/api/models/a/b"] = json.dumps({"sha": version}).encode()
        server.answers["/api/models/a/b/tree/main"] = listed
        assert hub.model("a/b").files[0].commit == "main"
    assert hub.licence("a/b") == ""


def test_the_address_of_a_file_names_its_version_and_is_escaped(server, hub, monkeypatch):
    server.add("deep/a bird#1.gguf", b"1")
    (file,) = hub.model("a/b", "Deep/A bird#1.gguf").files
    assert hub.address_of(file) == f"{server.address}/a/b/resolve/{COMMIT}/deep/a%20bird%231.gguf"
    monkeypatch.setenv("CHICKADEE_HUB", f"{server.address}/")
    assert Hub().address_of(file) == hub.address_of(file)
    monkeypatch.delenv("CHICKADEE_HUB")
    assert Hub().address == "https://huggingface.co"


def test_paths_have_a_length_that_every_system_allows():
    assert is_safe_path("a" * 195 + ".gguf")
    assert not is_safe_path("a" * 196 + ".gguf")
    assert not is_safe_path("ä" * 98 + ".gguf")  # 201 bytes
    assert is_safe_path("/".join(["a" * 199] * 5) + "a")
    assert not is_safe_path("/".join(["a" * 199] * 5) + "/a")
    assert not any(map(is_safe_path, ("a\u202eb.gguf", "a\x1fb", "a*b", "a?", 'a"b', "a<b", "a|b", "a.", " a", "a/")))


def test_nothing_is_searched_without_words(server, hub):
    with pytest.raises(Failure, match="Type what to search for"):
        hub.search("  ")
    assert server.requests == []


def test_the_best_choice_is_first_and_parts_are_one_model(server, hub):
    for name in ("x-f16.gguf", "x-Q4_K_M.gguf", "x-q8_0.gguf", "sub/big-00001-of-00002.gguf", "mmproj-x.gguf"):
        server.add(name, b"12")
    server.add("sub/big-00002-of-00002.gguf", b"345")
    server.add("torn-00002-of-00002.gguf", b"6")
    models = hub.models("a/b")
    assert [(model.name, model.quantisation, model.size) for model in models] == [
        ("x-Q4_K_M.gguf", "Q4_K_M", 2), ("x-q8_0.gguf", "Q8_0", 2), ("x-f16.gguf", "F16", 2),
        ("big-00001-of-00002.gguf", "", 5),
    ]  # fmt: skip
    assert models[0].files[0].commit == COMMIT
    assert hub.model("a/b").name == "x-Q4_K_M.gguf"
    assert hub.model("a/b", "q8_0").name == hub.model("a/b", "x-q8_0.gguf").name == "x-q8_0.gguf"
    with pytest.raises(Failure, match=r"a/b has no file y\.gguf\. It has x-Q4_K_M\.gguf, x-q8_0\.gguf"):
        hub.model("a/b", "y.gguf")
    assert hub.licence("a/b") == "apache-2.0"


def test_a_model_brings_its_projector(server, hub):
    names = (
        "Bird-VL-4B-Q4_K_M.gguf", "Bird-VL-4B-F16.gguf", "Fish-VL-4B-Q4_K_M.gguf", "deep/Stone-1B-Q8_0.gguf",
        "mmproj-Bird-VL-4B-F16.gguf", "mmproj-Bird-VL-4B-Q8_0.gguf", "mmproj-Fish-VL-4B-F16.gguf",
    )  # fmt: skip
    for name in names:
        server.add(name, name.encode())
    found = {model.name: model for model in hub.models("a/b")}
    chosen = {name: model.projector.name if model.projector else "" for name, model in found.items()}
    assert chosen == {
        "Bird-VL-4B-Q4_K_M.gguf": "mmproj-Bird-VL-4B-Q8_0.gguf",
        "Bird-VL-4B-F16.gguf": "mmproj-Bird-VL-4B-Q8_0.gguf",
        "Fish-VL-4B-Q4_K_M.gguf": "mmproj-Fish-VL-4B-F16.gguf",
        "Stone-1B-Q8_0.gguf": "",
    }
    bird = found["Bird-VL-4B-Q4_K_M.gguf"]
    assert [file.name for file in bird.all_files] == [bird.name, "mmproj-Bird-VL-4B-Q8_0.gguf"]
    assert bird.size == len(bird.name)  # without its projector


@pytest.mark.parametrize(
    "published",
    [
        {"oid": "1" * 63}, {"oid": None}, {"size": -1}, {"size": "5"}, {"size": True}, {"size": 1 << 70},
        {"oid": "../" + DIGEST},
    ],
)  # fmt: skip
def test_files_that_could_not_be_checked_are_left_out(published, server, hub):
    server.add("x.gguf", b"1", **published)
    with pytest.raises(Failure, match="contains no GGUF model"):
        hub.models("a/b")


@pytest.mark.parametrize(
    "path", ["../x.gguf", "/etc/x.gguf", "a/../x.gguf", "a\\x.gguf", "C:x.gguf", "a//x.gguf", ". /x"]
)
def test_paths_that_lead_elsewhere_are_left_out(path, server, hub):
    server.add(path, b"1")
    assert not is_safe_path(path)
    with pytest.raises(Failure, match="contains no GGUF model"):
        hub.models("a/b")


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"{", b"[" * 100_000, b'"x"', b"null", b"[null]", b"{}", b'[{"id": []}]']
)
def test_senseless_answers_are_sentences_or_nothing(answer, server, hub):
    server.answers["/api/models"] = server.answers[f"/api/models/a/b/tree/{COMMIT}"] = answer
    with contextlib.suppress(Failure):
        assert hub.search("x") == ()
    with pytest.raises(Failure, match=r"contains no GGUF model|does not understand"):
        hub.models("a/b")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("file") | st.just("a/b.gguf"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "type", "path", "lfs", "oid", "size", "tags", "gguf", "sha"]), inner)
    ),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
def test_any_json_is_an_answer_or_a_sentence(value, server, hub):
    for path in ("/api/models", "/api/models/a/b", f"/api/models/a/b/tree/{COMMIT}", "/api/models/a/b/tree/main"):
        server.answers[path] = json.dumps(value).encode()
    assert all(result.repo for result in hub.search("x"))
    with pytest.raises(Failure):
        hub.models("a/b")


@pytest.mark.parametrize("repo", ["", "x", "a/b/c", "../b", "a/..", "a b/c", "a/b?x", "http://a/b", "ä/b", "a/b\n"])
def test_what_is_no_repository(repo, server, hub):
    with pytest.raises(Failure, match="is not a model on Hugging Face"):
        hub.models(repo)
    assert server.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "https://user@example.org/", "https://", "x",
        "https://[", "http://localhost.example.org/", "https://example.org:0/",
    ],
)  # fmt: skip
def test_addresses_that_are_not_connected_to(url):
    with pytest.raises(Failure, match="no safe connection"), Network().get(url):
        pytest.fail("connected")


def test_redirects_to_elsewhere_are_refused(server, hub):
    server.add("x.gguf", b"1")
    server.fault = lambda handler: handler.answer(302, b"", Location="http://example.org/") is None
    with pytest.raises(Failure, match="no safe connection"), hub.network.get(f"{server.address}/cdn/x.gguf"):
        pytest.fail("connected")
    server.fault = lambda handler: handler.answer(302, b"", Location="/cdn/x.gguf") is None
    with pytest.raises(Failure, match="without end"), hub.network.get(f"{server.address}/cdn/x.gguf"):
        pytest.fail("connected")


def test_no_server_is_a_sentence(server, hub):
    server.close()
    with pytest.raises(Failure, match="Check that this computer is online") as caught:
        hub.search("x")
    assert caught.value.code == "no_connection"


def send(*lines: bytes) -> Callable[[Handler], bool]:
    """Return a fault that sends these lines in place of an answer, and closes the connection."""

    def answer(handler: Handler) -> bool:
        handler.wfile.write(b"\r\n".join((*lines, b"", b"")))
        handler.close_connection = True
        return True

    return answer


@pytest.mark.parametrize(
    ("lines", "id"),
    [
        ((b"\0\1\2",), "refused.not_understood"),
        ((b"HTTP/1.1 200 OK", *[b"A: b"] * 200), "refused.not_understood"),
        ((b"HTTP/1.1 200 OK", b"Content-Length: 3", b"Content-Length: 5"), "refused.not_understood"),
        ((b"HTTP/1.1 302 Found", b"Location: http://[x"), "refused.not_understood"),
        ((b"HTTP/1.1 302 Found", b"Location: https://a..\xff"), "refused.not_understood"),
        ((b"HTTP/1.1 302 Found", b"Location: https://" + b"a" * 70), "refused.not_understood"),
        ((b"HTTP/1.1 200 OK", b"Content-Encoding: gzip", b"", b"junk"), "refused.not_understood"),
        ((b"HTTP/1.1 200 OK", b'Link: <http://[x>; rel="next"', b"", b"[]"), "refused.not_understood"),
        ((b"HTTP/1.1 200 OK", b"Content-Length: 9", b"", b"[]"), "no_connection.closed"),
        ((b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", b"", b"zz"), "no_connection.closed"),
        ((), "refused.not_understood"),
    ],
)
def test_answers_that_break_the_protocol_are_told_from_a_missing_connection(lines, id, server, hub):
    server.redirects["/api/models"] = "/cdn/x"
    server.add("x", b"")
    server.fault = send(*lines)
    with pytest.raises(Failure) as caught:
        hub.search("x")
    assert caught.value.sentence.id == id


@pytest.mark.parametrize("url", ["https://hub.invalid/x", "http://localhost:9/x"])
def test_a_proxy_without_an_answer_is_named_without_its_password(url, monkeypatch):
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://me:secret@127.0.0.1:9")
    for variable in ("no_proxy", "NO_PROXY", "CHICKADEE_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    with (
        pytest.raises(Failure, match=r"The proxy 127\.0\.0\.1 does not connect to (hub|localhost)") as caught,
        Network().get(url),
    ):
        pytest.fail("connected")
    assert caught.value.code == "no_connection"
    assert "secret" not in str(caught.value) + caught.value.detail


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_behind_a_redirect_is_not_about_an_account(status, server, hub):
    address = server.address.replace("127.0.0.1", "localhost")
    server.redirects["/gone"] = f"{address}/cdn/x.gguf"
    server.add("x.gguf", b"1")
    server.fault = lambda handler: handler.answer(status, b"") is None
    with (
        pytest.raises(Failure, match=rf"^127\.0\.0\.1 leads to localhost, which refuses the file \(error {status}\)"),
        hub.network.get(f"{server.address}/gone"),
    ):
        pytest.fail("connected")
    with pytest.raises(Failure, match="requires an account"), hub.network.get(f"{server.address}/cdn/x.gguf"):
        pytest.fail("connected")


@pytest.mark.parametrize(
    ("value", "off"), [("1", True), ("yes", True), ("0", False), ("", False), ("No", False), ("false", False)]
)
def test_the_variable_forbids(value, off, server, hub, monkeypatch):
    server.answers["/api/models"] = b"[]"
    monkeypatch.setenv("CHICKADEE_OFFLINE", value)
    if off:
        with pytest.raises(Failure, match="CHICKADEE_OFFLINE is set"):
            hub.search("x")
    else:
        assert hub.search("x") == ()
    assert len(server.requests) == (0 if off else 1)


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("", False), ("network = true", False), ("network = false", True), ("[models]\nnetwork = false", True),
        ("\ufeffnetwork = true", False),
        ('[models]\nnetwork = "allowed"', False), ('[models]\nnetwork = "forbidden"', True), ("network = [", True),
        ("[network]\nx = 1", True), ("models = 3", False), ("network = 0", True),
    ],
)  # fmt: skip
def test_the_settings_forbid(text, off, server, hub, own_data, monkeypatch):
    own_data.mkdir()
    (own_data / "settings.toml").write_text(text, encoding="utf-8")
    server.answers["/api/models"] = b"[]"
    assert bool(offline_reason()) == off
    if off:
        with pytest.raises(Failure, match=r"settings\.toml"):
            hub.search("x")
    else:
        assert hub.search("x") == ()
    assert len(server.requests) == (0 if off else 1)
