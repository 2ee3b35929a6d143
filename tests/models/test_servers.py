"""Addresses of servers as users type them, keys, and the paths that stand for models on servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.failures import Failure
from models.servers import RemoteModel, base_url, checked_key, host_of, is_open, remote_model
from models.titles import title_of


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("http://gpu.lan:8000/v1", "http://gpu.lan:8000/v1"),
        (" http://GPU.lan:8000/v1/ ", "http://gpu.lan:8000/v1"),
        ("gpu.lan:8000", "http://gpu.lan:8000"),
        ("gpu:8000", "http://gpu:8000"),
        ("localhost:11434/v1", "http://localhost:11434/v1"),
        ("192.168.1.7:8080", "http://192.168.1.7:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("api.example.com/v1", "https://api.example.com/v1"),
        ("8.8.8.8", "https://8.8.8.8"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
    ],
)
def test_an_address_is_completed_as_its_network_suggests(typed: str, url: str) -> None:
    assert base_url(typed) == url
    assert base_url(url) == url


@pytest.mark.parametrize(
    "typed",
    ["", "/", "file:///etc/passwd", "ftp://gpu", "http://", "http://gpu:0", "http://gpu:99999", "http://a b", "a\nb",
     "javascript:alert(1)", "http://gpu/" + "x" * 600, "http://user:secret@gpu/v1", "http://gpu/v1?key=1", "http://[::1"],
)  # fmt: skip
def test_what_is_no_address_is_refused_and_a_password_is_not_repeated(typed: str) -> None:
    with pytest.raises(Failure) as caught:
        base_url(typed)
    assert caught.value.code == "bad_option"
    assert "secret" not in str(caught.value)


def test_a_key_is_one_word_that_a_header_can_carry() -> None:
    assert checked_key("  sk-1234\n") == "sk-1234"
    assert checked_key("") == ""
    for wrong in ("a b", "a\r\nX-Evil: 1", "ключ", "x" * 5000):
        with pytest.raises(Failure):
            checked_key(wrong)


@pytest.mark.parametrize(
    ("url", "host", "is_seen"),
    [
        ("http://gpu.lan:8000/v1", "gpu.lan:8000", True),
        ("https://api.example.com/v1", "api.example.com", False),
        ("https://api.example.com:443/v1", "api.example.com", False),
        ("http://localhost:8080", "localhost:8080", False),
        ("http://[::1]:8080", "[::1]:8080", False),
        ("http://127.0.0.1", "127.0.0.1", False),
    ],
)
def test_the_host_is_named_and_whether_others_can_read_along(url: str, host: str, is_seen: bool) -> None:
    assert host_of(url) == host
    assert is_open(url) == is_seen


@pytest.mark.parametrize("name", ["Qwen/Qwen3-32B", "/models/a b.gguf", "..", "ü & #?%2F", "server:x/y"])
def test_a_path_stands_for_a_model_and_survives_text(name: str) -> None:
    remote = RemoteModel("http://gpu.lan:8000/v1", name)
    assert remote_model(Path(str(remote.path))) == remote


@pytest.mark.parametrize("path", ["/home/me/a.gguf", "server:x", "a/server:x/y", "server:x/y/z.gguf", "."])
def test_a_file_is_no_model_on_a_server(path: str) -> None:
    assert remote_model(Path(path)) is None
    assert remote_model(None) is None


def test_a_title_says_where_answers_come_from() -> None:
    assert title_of(RemoteModel("http://gpu.lan:8000/v1", "Qwen/Qwen3-32B").path) == "Qwen/Qwen3-32B · gpu.lan:8000"
    file = RemoteModel("http://gpu.lan/v1", "/srv/Qwen3-4B-Q4_K_M.gguf")
    assert title_of(file.path) == "Qwen3 4B Q4_K_M · gpu.lan"
