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

if TYPE_CHECKING:
    import requests

OFFLINE_VARIABLE = "CHICKADEE_OFFLINE"
CONNECT_SECONDS, READ_SECONDS = 15, 30
MOST_REDIRECTS = 8
LOCAL = {"localhost", "127.0.0.1", "::1"}  # where plain http is allowed: nobody else can listen there
AGENT = "chickadee"
ALLOWED = "allowed"  # besides true, in the settings file


def forbidden(settings: Path | None = None) -> str:
    """The sentence that says why there must be no connection; empty if there may be.

    A settings file that cannot be read forbids: the line that cannot be read might be the one that says so."""
    if os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in ("", "0", "false", "no"):
        return f"Connections are turned off: {OFFLINE_VARIABLE} is set."
    path = settings or data_folder() / "settings.toml"
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, RecursionError) as error:
        return f"{path.name} cannot be read ({error}), and it may forbid connections. Correct it first."
    section = written.get("models")
    said = (written.get("network", True), section.get("network", True) if isinstance(section, dict) else True)
    if all(value is True or value == ALLOWED for value in said):
        return ""
    return f"Connections are turned off in the settings (network in {path.name})."


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
                raise Failure("refused", f"{host_of(url)} leads to an address that is not safe: {target[:200]}.")
            url = target
        raise Failure("refused", f"{host_of(url)} redirects without end.")

    def check(self, url: str) -> None:
        """Raises Failure when the switch forbids connections, or the address is none we connect to."""
        reason = forbidden(self._settings)
        if reason:
            raise Failure("offline", reason)
        try:
            parts = urlsplit(url)
            safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL)
            port = parts.port
        except ValueError:
            safe, port = False, None
        if not safe or not parts.hostname or parts.username is not None or port == 0:
            raise Failure(
                "refused", f"There is no safe connection to {url[:200]}: its address must begin with https://."
            )


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
        sentence = (
            f"The connection to {host} is not safe: its certificate cannot be trusted. Check this computer's clock."
        )
        raise Failure("refused", sentence, str(error)) from error
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise Failure("no_connection", f"{host} does not respond. Try again later.", str(error)) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        sentence = f"There is no connection to {host}. Check that this computer is online."
        raise Failure("no_connection", sentence, str(error)) from error


def status_failure(url: str, status: int) -> Failure:
    host = host_of(url)
    if status in (401, 403):
        sentence = f"{host} requires an account and a licence for this file (error {status})."
        return Failure("refused", sentence, url)
    if status in (404, 410):
        return Failure(
            "not_found", f"{host} has no such model or file (error {status}). It may have been renamed.", url
        )
    if status == 429:
        return Failure(
            "no_connection", f"{host} received too many requests (error 429). Try again in a few minutes.", url
        )
    if status >= 500:
        return Failure("no_connection", f"{host} has a problem (error {status}). Try again later.", url)
    return Failure("refused", f"{host} refused the request (error {status}).", url)


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or url[:80]
    except ValueError:
        return url[:80]
