"""Models on servers: their addresses, and the form in which a chat remembers one.

Everything that keeps a model's file (recent models, the model of a chat) keeps such a model as a path that no file can
have, `server:<base URL>/<model>`, both parts quoted. So one field, one column and one list hold both kinds.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from common.failures import Failure

SCHEME = "server:"
DEFAULT_PORTS = {"http": 80, "https": 443}
LOCAL_NAMES = (".local", ".lan", ".internal", ".home.arpa", ".localhost")  # names that no public server has
LONGEST_URL, LONGEST_KEY = 500, 4_000
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # numbers of IPv4 as IPv6 (RFC 6052)


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model on a server. `url`: base address of the server's API, like `http://gpu.lan:8000/v1`; `name`: its own."""

    url: str
    name: str

    @property
    def host(self) -> str:
        """The server's host, with its port unless that is the usual one."""
        return host_of(self.url)

    @property
    def path(self) -> Path:
        """The path that stands for this model wherever a model's file is kept."""
        return Path(f"{SCHEME}{quote(self.url, safe='')}", quote(self.name, safe=""))


def remote_model(path: Path | None) -> RemoteModel | None:
    """Return the model on a server that `path` stands for; None if it is the path of a file."""
    if path is None or len(path.parts) != 2 or not path.parts[0].startswith(SCHEME):
        return None
    return RemoteModel(unquote(path.parts[0][len(SCHEME) :]), unquote(path.parts[1]))


def base_url(typed: str) -> str:
    """Return the address that a user typed in its full form, without a slash at its end.

    Without a scheme it becomes https, or http for this computer and for names and numbers of a local network. Raises
    Failure for what is no address of a server, or has a password in it.
    """
    text = typed.strip()
    try:
        if "://" not in text:
            text = f"{'http' if is_local_network(urlsplit(f'//{text}').hostname or '') else 'https'}://{text}"
        parts = urlsplit(text)
        usable = parts.scheme in DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0 and len(text) <= LONGEST_URL
        printable = text.isprintable() and " " not in text
        plain = parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        usable = printable = plain = False
    if not (usable and printable):
        raise Failure("bad_option.server", address=typed[:200])
    if not plain:
        raise Failure("bad_option.server_parts", address=parts.hostname)
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def checked_key(key: str) -> str:
    """Return the key without surrounding blanks; raise Failure if no header can carry it. The sentence lacks it."""
    key = key.strip()
    if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise Failure("bad_option.server_key")
    return key


def host_of(url: str) -> str:
    """Return the host of an address, with its port unless that is the usual one of its scheme."""
    parts = urlsplit(url)
    host = parts.hostname or url
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{parts.port}"


def is_open(url: str) -> bool:
    """Return whether what is sent to this address can be read on its way: no encryption, and another computer."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_this_computer(parts.hostname or "")


def is_this_computer(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local_network(host: str) -> bool:
    """Return whether this is the name or number of this computer or of one in a local network."""
    if is_this_computer(host) or host.endswith(LOCAL_NAMES) or ("." not in host and ":" not in host):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def is_public(address: str) -> bool:
    """Return whether this number is that of a computer in the public internet, also one inside another number."""
    number = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(number, ipaddress.IPv6Address):
        inner = [number.ipv4_mapped, number.sixtofour, *(number.teredo or ())]
        if number in TRANSLATED:
            inner.append(ipaddress.IPv4Address(int(number) & 0xFFFF_FFFF))
        if any(each is not None and not is_public(str(each)) for each in inner):
            return False
    return number.is_global and not number.is_multicast
