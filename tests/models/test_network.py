"""What a request for a model sends and where it may be led: read by a real server, over http and https."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
from pathlib import Path

import pytest

from common.failures import Failure
from models import network
from models.network import Network
from tests.models.hub_server import Handler, HubServer


def with_certificate(server: HubServer, folder: Path) -> Path:
    """Have the server speak https from now on; return the certificate that its clients must trust."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hub")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path, key_path = folder / "certificate.pem", folder / "key.pem"
    path.write_bytes(certificate.public_bytes(pem))
    private = serialization.PrivateFormat.TraditionalOpenSSL
    key_path.write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key_path)
    server.speak_tls(context)
    return path


def headers_sent(server: HubServer, headers: dict[str, str] | None = None) -> dict[str, str]:
    server.add("x", b"content")
    sent: dict[str, str] = {}

    def look(handler: Handler) -> bool:
        sent.update(handler.headers)
        return False

    server.fault = look
    with Network().get(f"{server.address}/cdn/x", headers) as response:
        assert response.raw.read() == b"content"
    return sent


def test_no_password_of_the_user_is_sent(server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\ndefault login a password b\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    assert set(headers_sent(server)) == {"Host", "User-Agent", "Accept-Encoding", "Accept", "Connection"}


def test_a_server_is_asked_not_to_compress_and_does_not_learn_of_the_computer(server: HubServer) -> None:
    sent = headers_sent(server, {"X-More": "this"})
    assert (sent["Accept-Encoding"], sent["User-Agent"], sent["X-More"]) == ("identity", "chickadee", "this")


def test_a_safe_connection_never_leads_to_an_unsafe_one(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = HubServer()
    try:
        plain.add("x", b"content")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(with_certificate(server, tmp_path)))
        server.add("x", b"content")
        server.redirects = {"/here": "/cdn/x", "/unsafe": f"{plain.address}/cdn/x"}
        with Network().get(f"{server.address}/here") as response:
            assert response.raw.read() == b"content"
        with pytest.raises(Failure) as refused, Network().get(f"{server.address}/unsafe"):
            raise AssertionError("the response of another server")
        assert refused.value.sentence.id == "refused.redirect"
        assert plain.requests == []
    finally:
        plain.close()


def test_a_circle_of_redirects_ends(server: HubServer) -> None:
    server.redirects = {"/a": "/b", "/b": "/a"}
    with pytest.raises(Failure) as refused, Network().get(f"{server.address}/a"):
        raise AssertionError("a response")
    assert refused.value.sentence.id == "refused.redirects"
    assert len(server.requests) == 8


def failure_of(url: str, same_host: bool = False) -> Failure:
    with pytest.raises(Failure) as refused, Network().get(url, same_host=same_host):
        raise AssertionError("a response")
    return refused.value


def test_a_redirect_stays_on_its_server_where_that_is_asked_for(server: HubServer) -> None:
    """The catalogue's signature is that of the server which the user sees; files come from other servers too."""
    other = HubServer()
    try:
        other.add("x", b"content")
        server.add("y", b"here")
        server.redirects = {"/away": f"{other.address}/cdn/x", "/here": "/cdn/y"}
        with Network().get(f"{server.address}/here", same_host=True) as response:
            assert response.raw.read() == b"here"
        assert failure_of(f"{server.address}/away", same_host=True).sentence.id == "refused.redirect"
        assert other.requests == []
        with Network().get(f"{server.address}/away") as response:
            assert response.raw.read() == b"content"
    finally:
        other.close()


def test_a_server_that_falls_silent_is_not_waited_for(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "READ_SECONDS", 0.2)
    server.add("x", b"content")
    ended = threading.Event()
    server.fault = lambda _: ended.wait(60)
    try:
        assert failure_of(f"{server.address}/cdn/x").sentence.id == "no_connection.no_answer"
    finally:
        ended.set()


def test_a_certificate_that_nobody_vouches_for_is_refused(server: HubServer, tmp_path: Path) -> None:
    with_certificate(server, tmp_path)
    assert failure_of(f"{server.address}/cdn/x").sentence.id == "refused.certificate"
    assert server.requests == []


def test_each_status_has_its_sentence_and_what_may_help_later_is_a_missing_connection(server: HubServer) -> None:
    expected = {
        401: "refused.account", 403: "refused.account", 404: "not_found.status", 410: "not_found.status",
        429: "no_connection.too_many", 500: "no_connection.status", 503: "no_connection.status",
        402: "refused.status", 418: "refused.status", 499: "refused.status",
    }  # fmt: skip
    server.add("x", b"content")
    for status, sentence in expected.items():
        server.fault = lambda handler, status=status: handler.answer(status, b"") is None  # type: ignore[misc]
        failure = failure_of(f"{server.address}/cdn/x")
        assert (failure.sentence.id, failure.sentence.values["host"]) == (sentence, "127.0.0.1")
        assert failure.sentence.values.get("status", status) == status


@pytest.mark.no_assertion("`check` raises for an address that it refuses")
def test_only_this_computer_is_reached_without_encryption() -> None:
    for url in ("https://example.org/x", "http://localhost:80/x", "http://127.0.0.1/x", "http://[::1]:9/x"):
        Network().check(url)
