"""`python -m engine`: the engine's commands. `serve` is for the window, `chat` for people in a terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.command == "serve":
        from engine.serve import serve

        return serve()
    from engine.chat import chat

    return chat(options)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m engine", description="Chickadee's engine.")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="speak the protocol on stdin and stdout (for the window)")
    add_chat(commands.add_parser("chat", help="chat in this terminal"))
    return top


def add_chat(chat: argparse.ArgumentParser) -> None:
    chat.add_argument("--model", type=Path, metavar="PATH", help="GGUF file (default: the built-in model)")
    chat.add_argument("--ctx", type=int, metavar="N", help="context in tokens (default: 4096 or what the model can)")
    chat.add_argument("--threads", type=int, metavar="N", help="threads (default: physical cores)")
    chat.add_argument("--temp", type=float, metavar="T", help="temperature, 0 = greedy (default: 0.8)")
    chat.add_argument("--seed", type=int, metavar="S", help="random seed: the same seed gives the same answer")
    chat.add_argument("--greedy", action="store_true", help="always take the likeliest token")
    chat.add_argument("--max-tokens", type=int, metavar="N", help="longest answer in tokens")
    chat.add_argument(
        "--kv-policy",
        choices=["always", "published", "measured"],
        default="measured",
        help="which tokens' keys and values to cache (default: measured)",
    )
    chat.add_argument("--trace", type=Path, metavar="FILE", help="write every target pass and decision as a JSON line")
    chat.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    source = chat.add_mutually_exclusive_group()
    source.add_argument("--prompt", metavar="TEXT", help="answer this once instead of chatting")
    source.add_argument("--prompt-file", type=Path, metavar="PATH", help="answer the text of a file once")
    source.add_argument("--messages", type=Path, metavar="FILE", help="answer a JSON list of {role, content} once")


if __name__ == "__main__":
    sys.exit(main())
