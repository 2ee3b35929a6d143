"""All network access: decides whether and where connections are allowed, and explains a failed one.

Nothing here connects by itself: `Network.get` is called only because the user searches or downloads. Before each
connection two switches that forbid all of them are read: CHICKADEE_OFFLINE=1, and `network = false` in the settings
file.
"""

from __future__ import annotations

import http.client
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from common.failures import Failure
from common.folders import data_folder
from common.sentences import Sentence

if TYPE_CHECKING:
    import requests

OFFLINE_VARIABLE = "CHICKADEE_OFFLINE"
CONNECT_SECONDS, READ_SECONDS = 15, 30
MOST_REDIRECTS = 8
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}  # hosts for plain http: nobody else can listen in
AGENT = "chickadee"
ALLOWED = "allowed"  # value in the settings file that means the same as true


def offline_reason(settings: Path | None = None) -> Sentence | None:
    """Return why connections are forbidden; None if they are allowed.

    A settings file that cannot be read forbids them, because the unreadable line might be the one that does.
    """
    if os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no"):
        return Sentence.of("offline.variable", variable=OFFLINE_VARIABLE)
    path = settings or data_folder() / "settings.toml"
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        return Sentence.of("offline.unreadable", file=path.name, reason=error)
    section = written.get("models")
    switches = (written.get("network", True), section.get("network", True) if isinstance(section, dict) else True)
    if all(value is True or value == ALLOWED for value in switches):
        return None
    return Sentence.of("offline.settings", file=path.name)


class Network:
    """Connections for searches and downloads; `settings` is the file with the switch."""

    def __init__(self, settings: Path | None = None) -> None:
        self._settings = settings

    @contextmanager
    def get(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (200,),
        same_host: bool = False,
    ) -> Iterator[requests.Response]:
        """Yield the response to a GET, with its body still unread; a status outside `accept` is a failure.

        `same_host`: a redirect to another host is a failure too.
        Raises Failure: `offline` if the switch forbids it, `no_connection` if a retry may help, `refused` if not.
        """
        import requests  # takes 0.1 s to import, which a start without downloads saves

        with requests.Session() as session:
            session.auth = _without_credentials
            session.get_redirect_target = _no_target  # type: ignore[assignment, method-assign]
            with network_failures(url):
                response = self._follow(session, url, dict(headers or {}), same_host)
            with response:
                if response.status_code not in accept:
                    raise status_failure(url, response.status_code, str(response.url))
                yield response

    def _follow(
        self, session: requests.Session, url: str, headers: dict[str, str], same_host: bool
    ) -> requests.Response:
        """Send the request and follow redirects one by one: each target must be allowed like the first address."""
        for _ in range(MOST_REDIRECTS):
            self.check(url)
            response = session.get(
                url,
                headers={"User-Agent": AGENT, "Accept-Encoding": "identity", **headers},
                stream=True,
                timeout=(CONNECT_SECONDS, READ_SECONDS),
                allow_redirects=False,
            )
            if not response.is_redirect:
                return response
            response.close()
            target = urljoin(url, response.headers["Location"])
            unsafe = urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https"
            if unsafe or (same_host and urlsplit(target).netloc != urlsplit(url).netloc):
                raise Failure("refused.redirect", host=host_of(url), address=target[:200])
            url = target
        raise Failure("refused.redirects", host=host_of(url))

    def check(self, url: str) -> None:
        """Raise Failure if the switch forbids connections, or the address is one that we never connect to."""
        reason = offline_reason(self._settings)
        if reason:
            raise Failure(reason)
        try:
            parts = urlsplit(url)
            safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL_HOSTS)
            port = parts.port
        except ValueError:
            safe, port = False, None
        if not safe or not parts.hostname or parts.username is not None or port == 0:
            raise Failure("refused.not_https", address=url[:200])


def _without_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return the request without credentials; replaces `requests`' default, which reads ~/.netrc."""
    return request


def _no_target(_response: requests.Response) -> None:
    """Return None: `requests` leaves a response open if it cannot read its redirect's address; `_follow` reads it."""


@contextmanager
def network_failures(url: str) -> Iterator[None]:
    """Turn exceptions of `requests` within the block into Failures."""
    import requests
    import urllib3

    host = host_of(url)
    try:
        yield
    except requests.exceptions.ProxyError as error:
        raise Failure("no_connection.proxy", str(error), host=host, proxy=_proxy_for(url)) from error
    except requests.exceptions.SSLError as error:
        raise Failure("refused.certificate", str(error), host=host) from error
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise Failure("no_connection.no_answer", str(error), host=host) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise Failure(_reason(error), str(error), host=host) from error


def _reason(error: BaseException) -> str:
    """Return the id of the sentence for an exchange that failed: no connection, a connection cut, or nonsense."""
    import urllib3

    inner = error.args[0] if error.args and isinstance(error.args[0], Exception) else error  # as requests wraps it
    if isinstance(inner, urllib3.exceptions.ProtocolError):  # the server was reached
        cause = inner.args[-1] if inner.args else None
        cut = isinstance(inner, http.client.IncompleteRead) or isinstance(cause, OSError | http.client.IncompleteRead)
        return "no_connection.closed" if cut else "refused.not_understood"
    nonsense = (ValueError, urllib3.exceptions.DecodeError, urllib3.exceptions.InvalidHeader)
    return "refused.not_understood" if isinstance(inner, nonsense) else "no_connection.offline"


def _proxy_for(url: str) -> str:
    """Return the name of the proxy that the system names for this address, without a password."""
    from requests.utils import get_environ_proxies, select_proxy

    return host_of(select_proxy(url, get_environ_proxies(url)) or "")


def status_failure(url: str, status: int, answered: str = "") -> Failure:
    """Return the failure of a status that is no success; `answered`: the address that sent it, after redirects.

    A hub asks for an account before it redirects: what it leads to refuses for reasons of its own.
    """
    host = host_of(answered or url)
    if status in (401, 403) and answered not in ("", url):
        return Failure("refused.redirected", url, host=host_of(url), other=host, status=status)
    if status in (401, 403):
        return Failure("refused.account", url, host=host, status=status)
    if status in (404, 410):
        return Failure("not_found.status", url, host=host, status=status)
    if status == 429:
        return Failure("no_connection.too_many", url, host=host)
    if status >= 500:
        return Failure("no_connection.status", url, host=host, status=status)
    return Failure("refused.status", url, host=host, status=status)


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or url[:80]
    except ValueError:
        return url[:80]
