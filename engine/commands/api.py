"""`python -m engine api`: the local API, for other programs on this computer."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

from common.log_format import PrivateFormatter
from common.paths import path_of, path_text
from engine.commands.chat import backend_of, check_draft_options
from engine.commands.options import add_options, request_fields
from engine.protocol.requests import Generate, Load
from engine.protocol.settings import filled
from models.default import default_model

KEY_VARIABLE = "CHICKADEE_API_KEY"
PORT = 8765


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `python -m engine api`."""
    parser = commands.add_parser("api", help="serve the local API (OpenAI's and Anthropic's forms)")
    parser.set_defaults(run=run)
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to listen at, 0 for any (default: {PORT})")
    parser.add_argument("--unix", type=Path, metavar="PATH", help="listen at a socket file instead, for this user only")
    parser.add_argument(
        "--key",
        default=os.environ.get(KEY_VARIABLE, ""),
        help=f"key that clients must send (default: {KEY_VARIABLE} of the environment, else none is needed)",
    )
    add_options(parser, "load", "generate")


def requests_of(options: argparse.Namespace) -> tuple[Load, Generate]:
    """Return the Load request, and the Generate request with the options that clients leave open. Raises ValueError."""
    check_draft_options(options)
    load = request_fields(options, "load") | {"backend": backend_of(options)}
    model = path_text(options.model or default_model())
    return filled(Load(0, model), load), filled(Generate(0, ()), request_fields(options, "generate"))


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Raises Failure if the address cannot be used or the model cannot be loaded."""
    load, template = requests_of(options)
    # Imported only now, because they take a fifth of a second.
    from engine.api.activity import Activity
    from engine.api.app import Api, application
    from engine.api.jobs import Jobs
    from engine.api.process_link import ProcessLink
    from engine.api.security import Access, is_loopback
    from engine.api.server import address_of, listen, listen_unix, serve

    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(PrivateFormatter("%(asctime)s %(message)s"))
    listening = listen_unix(options.unix) if options.unix else listen(options.host, options.port, options.key)
    jobs = Jobs(ProcessLink(load))
    api = Api(jobs, Activity(), lambda: template)
    access = Access(options.key, any_host=bool(options.key) and not is_loopback(options.host))
    where = options.unix or address_of(options.host, listening.getsockname()[1])
    ready = f"{path_of(load.path).name} answers at {where}. Ctrl-C ends."
    try:
        serve(application(api, lambda: access), jobs, listening, lambda: print(f"chickadee: {ready}", flush=True))
    finally:
        listening.close()
        if options.unix:
            options.unix.unlink(missing_ok=True)
    return 0
