"""`python -m engine api`: the local API, for other programs on this computer."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from common.paths import path_of, path_text
from engine.commands.chat import backend_of, check_draft_options
from engine.commands.options import add_options, answer_options, request_fields
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
    parser.add_argument(
        "--embedding-model", type=path_of, metavar="PATH", help="GGUF file for embeddings (default: the model itself)"
    )
    parser.add_argument(
        "--store", action="store_true", help='keep the cached context of chats on disk, as "store": true in a request'
    )
    parser.add_argument("--relay", action="store_true", help="use the engine of the window that started this")
    add_options(parser, "load", "generate")


def requests_of(options: argparse.Namespace) -> tuple[Load, Generate]:
    """Return the Load request, and the Generate request with the options that clients leave open. Raises ValueError."""
    check_draft_options(options)
    load = request_fields(options, "load") | {"backend": backend_of(options)}
    model = options.model or default_model()
    default = answer_options(request_fields(options, "generate"), model)
    return filled(Load(0, path_text(model), api="on"), load), default


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Raises Failure if the address cannot be used or the model cannot be loaded."""
    from engine.api import front  # imported only now, because it takes a fifth of a second

    if options.relay:
        return front.serve_window()
    load, default = requests_of(options)
    place = front.Place(options.host, options.port, options.key, options.unix)
    return front.serve_alone(
        place, load, default, store=options.store, embedding_model=path_text(options.embedding_model or "")
    )
