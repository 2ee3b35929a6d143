"""The front: the API's process, on its own or for a window."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path

from common.confinement import Rights, confine
from common.failures import Failure
from common.log_format import PrivateFormatter
from common.paths import path_of
from engine.api.activity import Activity
from engine.api.app import Api, application
from engine.api.jobs import Jobs
from engine.api.relay_link import RelayLink, first_options
from engine.api.security import Access, check_key, is_loopback
from engine.api.server import ApiServer, address_of, listen, listen_unix
from engine.client import Target
from engine.client_process import ClientProcess
from engine.protocol.front import Refused, Served, Serving
from engine.protocol.lines import claim_stdout
from engine.protocol.requests import Generate, Load

log = logging.getLogger("engine.api")


@dataclass(frozen=True, slots=True)
class Place:
    """Address at which the API listens, and the key that clients must send; `unix`: a socket file in its place."""

    host: str
    port: int
    key: str = ""
    unix: Path | None = None


def serve_alone(place: Place, load: Load, default: Generate, *, store: bool = False, embedding_model: str = "") -> int:
    """Serve with an engine of its own until Ctrl-C. Raises Failure if it cannot listen, or not load the model.

    `store`: keep the cached context of chats on disk, also where a request does not ask for it.
    """
    start_logging()
    check_key(place.key)
    listening = listen_unix(place.unix) if place.unix else listen(place.host, place.port, place.key)
    jobs = Jobs(ClientProcess(Target(load, (embedding_model,) if embedding_model else ())))
    access = Access(place.key, any_host=not is_loopback(place.host))
    api = Api(jobs, Activity(log_request), lambda: default, lambda: store, embedding_model)
    where = place.unix or address_of(place.host, listening.getsockname()[1])
    ready = f"chickadee: {path_of(load.path).name} answers at {where}. Ctrl-C ends.\n"

    def tell() -> None:
        sys.stdout.write(ready)
        sys.stdout.flush()

    try:
        ApiServer(application(api, lambda: access), jobs, tell).run_until_asked(listening)
    finally:
        listening.close()
        if place.unix:
            place.unix.unlink(missing_ok=True)
    return 0


def serve_window() -> int:
    """Serve with the engine of the window that started this process, until its pipe closes."""
    output = claim_stdout()
    start_logging()
    options = first_options()
    link = RelayLink(options, output)
    try:
        check_key(options.key)
        listening = listen(options.host, options.port, options.key)
    except Failure as failure:
        link.tell(Refused(failure.sentence))
        return 1
    address = address_of(options.host, listening.getsockname()[1])
    confine(Rights(processes=False, accepts=True))  # the window's engine has the models, and nothing else is needed
    jobs = Jobs(link)
    api = Api(jobs, Activity(link.tell), lambda: link.options.default, lambda: link.options.store)
    access = not is_loopback(options.host)
    app = application(api, lambda: Access(link.options.key, any_host=access))
    server = ApiServer(app, jobs, lambda: link.tell(Serving(address)))
    link.closed = server.ask_to_end
    server.run_until_asked(listening)
    return 0


def start_logging() -> None:
    """Log to stderr, without anything of a request's contents."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrivateFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


def log_request(served: Served) -> None:
    """Log a request that has ended."""
    if served.status:
        log.info(
            "%s %s %d, %.2f s, %d tokens read, %d written",
            served.method, served.path, served.status, served.seconds, served.prompt_tokens, served.tokens,
        )  # fmt: skip
