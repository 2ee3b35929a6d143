"""Web pages that the user asks for: which addresses are asked, and hostile servers, which get a sentence."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.failures import Failure
from engine.protocol.events import Event, Failed, PageRead
from engine.protocol.lines import decode_event, encode
from engine.protocol.requests import Cancel, ReadPage
from engine.remote import page
from engine.remote.engine import RemoteEngine
from engine.remote.http import Patience
from engine.remote.page import page_address, unpacked
from engine.stop import Stopped
from models.servers import is_public
from tests.engine.remote.page_server import PAGE, PageServer, page_server


@pytest.fixture(scope="module")
def running() -> Iterator[PageServer]:
    with page_server() as server:
        yield server


@pytest.fixture
def server(running: PageServer) -> PageServer:
    running.paths.clear()
    running.gone.clear()
    return running


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def fetched(address: str) -> PageRead:
    return RemoteEngine().read_page(ReadPage(1, address))


def refusal(address: str) -> str:
    with pytest.raises(Failure) as caught:
        fetched(address)
    assert "{" not in str(caught.value.sentence)
    return caught.value.sentence.id


def test_a_page_comes_with_its_address_and_kind(server: PageServer) -> None:
    read = fetched(f"{server.url}/page#part")
    assert (read.url, read.kind, read.charset) == (f"{server.url}/page", "text/html", "utf-8")
    assert read.data == PAGE.encode()
    assert server.sent["User-Agent"] == "chickadee"
    assert not {"Cookie", "Referer", "Authorization", "Accept-Language"} & server.sent.keys()


@pytest.mark.parametrize("path", ["/gzip", "/deflate"])
def test_packed_pages_are_unpacked(server: PageServer, path: str) -> None:
    assert fetched(server.url + path).data == PAGE.encode()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/bomb", "refused.page_large"),
        ("/endless", "refused.page_large"),
        ("/line", "refused.page_large"),
        ("/large", "refused.page_large"),
        ("/half-gzip", "no_connection.server_cut"),
        ("/no-gzip", "refused.page_nonsense"),
        ("/brotli", "refused.page_packed"),
        ("/cut", "no_connection.server_cut"),
        ("/garbage", "refused.page_nonsense"),
        ("/headers", "refused.page_nonsense"),
        ("/video", "refused.page_kind"),
        ("/circle", "refused.redirects"),
        ("/status/404", "not_found.page"),
        ("/status/401", "refused.page_account"),
        ("/status/429", "no_connection.server_busy"),
        ("/status/503", "no_connection.server_problem"),
        ("/status/418", "refused.status"),
    ],
)
def test_hostile_answers_end_as_a_sentence(server: PageServer, path: str, sentence: str) -> None:
    assert refusal(server.url + path) == sentence


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("file:///etc/passwd", "refused.redirect"),
        ("javascript:alert(1)", "refused.redirect"),
        ("data:text/html,x", "refused.redirect"),
        ("ftp://example.org/", "refused.redirect"),
        ("http://user:secret@example.org/", "refused.redirect"),
        ("http://169.254.169.254/latest/meta-data/", "refused.page_private"),
        ("http://[::1]:{port}/page", "refused.page_private"),
        ("http://localhost:{port}/page", "refused.page_private"),
        ("http://127.1:{port}/page", "refused.redirect"),
        ("https://2130706433/page", "refused.page_private"),
        ("http://[", "refused.redirect"),
    ],
)
def test_redirects_lead_to_public_pages_only(server: PageServer, target: str, sentence: str) -> None:
    target = target.format(port=server.server_address[1])
    assert refusal(f"{server.url}/to?{quote(target, safe='')}") == sentence
    assert server.paths == [f"/to?{quote(target, safe='')}"]  # nothing was asked of the target


def test_a_redirect_within_the_given_host_is_followed(server: PageServer) -> None:
    assert fetched(f"{server.url}/to?/page").url == f"{server.url}/page"


def test_a_name_that_leads_into_the_local_network_is_not_asked(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public name may have a private number: the open connection tells, before anything is sent."""
    real, port = socket.getaddrinfo, server.server_address[1]

    def lookup(host: bytes, *rest: object, **more: object) -> object:
        return real("127.0.0.1" if host == b"rebinding.example" else host, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr(page, "page_address", lambda address: address)  # else it would become https
    target = f"http://rebinding.example:{port}/page"
    assert refusal(f"{server.url}/to?{quote(target, safe='')}") == "refused.page_private"
    assert len(server.paths) == 1
    assert fetched(target).data == PAGE.encode()  # the same name is the user's own wish here


def test_a_server_without_a_known_certificate_is_refused(tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
         "-keyout", key, "-out", certificate, "-days", "2"],
        check=True, capture_output=True,
    )  # fmt: skip
    with page_server() as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        assert refusal(f"https://localhost:{server.server_address[1]}/page") == "refused.server_certificate"
        assert server.paths == []


def test_a_page_that_drips_ends_with_the_time(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_SECONDS", 0.3)
    assert refusal(f"{server.url}/drip") == "no_connection.page_slow"
    assert server.gone.wait(30)


def test_a_silent_server_ends_with_patience(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PATIENCE", Patience(first=0.2))
    assert refusal(f"{server.url}/silent") == "no_connection.server_silent"


def test_nothing_listens(server: PageServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but it does not listen
        assert refusal(f"http://127.0.0.1:{taken.getsockname()[1]}/") == "no_connection.server_refused"


def test_a_stop_ends_it_at_once(server: PageServer) -> None:
    engine = RemoteEngine()
    threading.Timer(0.2, engine.stop.set).start()
    with pytest.raises(Stopped):
        engine.read_page(ReadPage(1, f"{server.url}/silent"))
    assert server.gone.wait(30)


def test_the_process_fetches_and_cancels(server: PageServer) -> None:
    command = [sys.executable, "-m", "engine", "remote"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin
    assert process.stdout
    with process:
        for request in (ReadPage(1, f"{server.url}/page"), ReadPage(2, f"{server.url}/silent")):
            process.stdin.write(encode(request))
        process.stdin.flush()
        first = decode_event(process.stdout.readline())
        assert isinstance(first, PageRead)
        process.stdin.write(encode(Cancel(3, 2)))
        process.stdin.flush()
        rest: list[Event] = [decode_event(process.stdout.readline()) for _ in range(2)]
        assert any(isinstance(event, Failed) and event.id == 2 and event.code == "cancelled" for event in rest)
        process.stdin.close()


def test_connections_that_are_turned_off_are_not_made(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHICKADEE_OFFLINE", "1")
    command = [sys.executable, "-m", "engine", "remote"]
    asked = encode(ReadPage(1, f"{server.url}/page"))
    ended = subprocess.run(command, input=asked, capture_output=True, check=False, timeout=120)
    event = decode_event(ended.stdout.splitlines()[0])
    assert isinstance(event, Failed)
    assert event.sentence.id == "offline.variable"
    assert server.paths == []


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("http://example.org", "https://example.org"),
        ("HTTP://Example.org:80/a#b", "https://example.org/a"),
        ("https://example.org:443/?q=a%20b", "https://example.org/?q=a%20b"),
        ("http://nas.local:5000/x", "http://nas.local:5000/x"),
        ("http://192.168.1.7/x", "http://192.168.1.7/x"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("https://zh.wikipedia.org/wiki/山雀?词=1", "https://zh.wikipedia.org/wiki/%E5%B1%B1%E9%9B%80?%E8%AF%8D=1"),
        ("https://例子.测试/", "https://xn--fsqu00a.xn--0zwm56d/"),
    ],
)
def test_addresses_are_asked_safely(given: str, asked: str) -> None:
    assert page_address(given) == asked


@pytest.mark.parametrize(
    "given",
    [
        "", "example.org", "file:///etc/passwd", "https://", "https://user@example.org/", "https://a b.org/",
        "https://example.org:0/", "https://example.org:99999/", "https://[/", "https://a.org/\r\nX: y",
        "https://" + "a" * 80 + ".org/", "https://example.org/" + "a" * 3_000, "http://example.org:8080/",
    ],
)  # fmt: skip
def test_other_addresses_are_refused(given: str) -> None:
    with pytest.raises(Failure):
        page_address(given)


@example("´", "")
@example("猫 ?q=´#x", "example.org/")
@given(st.text(max_size=200), st.sampled_from(("", "", "example.org/", "例.org/?")))
def test_any_text_is_an_address_or_refused(text: str, beginning: str) -> None:
    try:
        found = page_address(f"https://{beginning}{text}")
    except Failure as failure:
        assert failure.sentence.id in ("refused.page_address", "refused.not_https")
        return
    assert found.isascii()
    assert page_address(found) == found


@given(st.lists(st.binary(max_size=400), max_size=5))
def test_any_bytes_are_unpacked_or_refused(chunks: list[bytes]) -> None:
    with pytest.raises(Failure):
        unpacked(chunks, "https://example.org/")


@pytest.mark.parametrize(
    ("number", "public"),
    [
        ("93.184.215.14", True), ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("10.0.0.1", False), ("127.0.0.1", False), ("169.254.169.254", False), ("0.0.0.0", False),
        ("100.64.0.1", False), ("224.0.0.1", False), ("255.255.255.255", False), ("::1", False),
        ("fe80::1%eth0", False), ("fc00::1", False), ("::ffff:10.0.0.1", False), ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("2001:0:4136:e378:8000:63bf:f5ff:fffe", False), ("64:ff9b::5db8:d70e", True),
    ],
)  # fmt: skip
def test_which_numbers_are_public(number: str, public: bool) -> None:
    ipaddress.ip_address(number.partition("%")[0])
    assert is_public(number) == public
