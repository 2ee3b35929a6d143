"""The one door to the network: whether connections are allowed, to where, and what a failed one means.

Nothing here connects by itself. `Network.get` is only called because the user searched or downloads. The switch that
forbids all connections is asked before each of them: CHICKADEE_OFFLINE=1, or `network = false` in the settings file.
"""

from __future__ import annotations

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
LOCAL = {"localhost", "127.0.0.1", "::1"}  # where plain http is allowed: nobody else can listen there
AGENT = "chickadee"
ALLOWED = "allowed"  # besides true, in the settings file


def forbidden(settings: Path | None = None) -> Sentence | None:
    """Why there must be no connection; None if there may be.

    A settings file that cannot be read forbids: the line that cannot be read might be the one that says so."""
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
    said = (written.get("network", True), section.get("network", True) if isinstance(section, dict) else True)
    if all(value is True or value == ALLOWED for value in said):
        return None
    return Sentence.of("offline.settings", file=path.name)


class Network:
    """Connections for searches and downloads; `settings` is the file with the switch."""

    def __init__(self, settings: Path | None = None) -> None:
        self._settings = settings

    @contextmanager
    def get(
        self, url: str, headers: Mapping[str, str] | None = None, accept: tuple[int, ...] = (200,)
    ) -> Iterator[requests.Response]:
        """The answer to a GET, not read yet; statuses that are not in `accept` are failures.

        Raises Failure: `offline` by the switch, `no_connection` where trying again may help, `refused` where not."""
        import requests  # 0.1 s, which a start without downloads can do without

        with requests.Session() as session:
            session.auth = _nobody
            with failures(url):
                response = self._follow(session, url, dict(headers or {}))
            with response:
                yield self._accepted(url, response, accept)

    def _accepted(self, url: str, response: requests.Response, accept: tuple[int, ...]) -> requests.Response:
        if response.status_code not in accept:
            raise status_failure(url, response.status_code)
        return response

    def _follow(self, session: requests.Session, url: str, headers: dict[str, str]) -> requests.Response:
        """Redirects one by one: each target must be allowed as the first address was."""
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
            target = urljoin(url, response.headers["Location"])
            response.close()
            if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
                raise Failure("refused.redirect", host=host_of(url), address=target[:200])
            url = target
        raise Failure("refused.redirects", host=host_of(url))

    def check(self, url: str) -> None:
        """Raises Failure when the switch forbids connections, or the address is none we connect to."""
        reason = forbidden(self._settings)
        if reason:
            raise Failure(reason)
        try:
            parts = urlsplit(url)
            safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL)
            port = parts.port
        except ValueError:
            safe, port = False, None
        if not safe or not parts.hostname or parts.username is not None or port == 0:
            raise Failure("refused.not_https", address=url[:200])


def _nobody(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """In place of what ~/.netrc says: nothing here asks with anybody's name."""
    return request


@contextmanager
def failures(url: str) -> Iterator[None]:
    """Turns what `requests` raises within the block into Failures."""
    import requests
    import urllib3

    host = host_of(url)
    try:
        yield
    except requests.exceptions.SSLError as error:
        raise Failure("refused.certificate", str(error), host=host) from error
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise Failure("no_connection.no_answer", str(error), host=host) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        raise Failure("no_connection.offline", str(error), host=host) from error


def status_failure(url: str, status: int) -> Failure:
    host = host_of(url)
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
