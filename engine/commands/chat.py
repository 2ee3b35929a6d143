"""`python -m engine chat`: its options; the chat itself is `engine.commands.chat_loop`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from engine.protocol import BackendWish, DraftMode, FlashAttention, KVModeName
from models.paths import path_of


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("chat", help="chat in this terminal")
    parser.set_defaults(run=run)
    parser.add_argument("--model", type=path_of, metavar="PATH", help="GGUF file (default: the built-in model)")
    parser.add_argument("--ctx", type=int, metavar="N", help="context in tokens (default: what fits, up to 32768)")
    parser.add_argument("--memory", metavar="SIZE", help="use at most this, like 4GiB (default: what is free)")
    parser.add_argument(
        "--kv-type",
        choices=["f16", "q8_0", "q4_0"],
        help="how keys and values are stored (default: f16, or q8_0 where f16 does not fit)",
    )
    add_flash_attention(parser)
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: physical cores)")
    parser.add_argument(
        "--backend",
        choices=get_args(BackendWish),
        help="what computes: the faster library (auto), llama.cpp, ik_llama.cpp, our own graph (default: auto)",
    )
    parser.add_argument("--temp", type=float, metavar="T", help="temperature, 0 = greedy (default: 0.8)")
    parser.add_argument("--seed", type=int, metavar="S", help="random seed: the same seed gives the same answer")
    parser.add_argument("--greedy", action="store_true", help="always take the likeliest token")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="longest answer in tokens")
    parser.add_argument(
        "--kv-policy",
        choices=["always", "published", "measured"],
        default="measured",
        help="which tokens' keys and values to cache (default: measured)",
    )
    add_kv_mode(parser)
    add_drafting(parser)
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write every target pass and decision as a JSON line"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--prompt", metavar="TEXT", help="answer this once instead of chatting")
    source.add_argument("--prompt-file", type=Path, metavar="PATH", help="answer the text of a file once")
    source.add_argument("--messages", type=Path, metavar="FILE", help="answer a JSON list of {role, content} once")


def add_kv_mode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kv",
        choices=get_args(KVModeName),
        help="keep all keys and values (exact), or of a share of the heads fewer (lossy; default: exact)",
    )
    parser.add_argument(
        "--kv-share",
        type=float,
        metavar="S",
        help="share of the heads that --kv makes smaller, up to 1 (default: 0.25)",
    )


def add_flash_attention(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--flash-attention",
        choices=get_args(FlashAttention),
        default="auto",
        help="off computes attention the long way: more memory, f16 only, for comparing (default: auto, which is on)",
    )


def add_drafting(parser: argparse.ArgumentParser) -> None:
    """What is not given is None: an option without the drafter that it belongs to is refused."""
    parser.add_argument(
        "--draft",
        choices=get_args(DraftMode),
        help="what drafts tokens: the chat's own text (history), a draft model, a layer in the middle of the model "
        "(midlayer), whatever pays (auto) (default: auto)",
    )
    parser.add_argument(
        "--layer", type=int, metavar="L", help="with --draft midlayer: the first L layers draft (default: the best L)"
    )
    parser.add_argument("--draft-model", type=path_of, metavar="PATH", help="GGUF file of a draft model")
    published = parser.add_argument_group("sizes of --draft history-published")
    published.add_argument("--match", type=int, metavar="N", help="last tokens that have to be the same (default: 1)")
    published.add_argument("--m", type=int, metavar="M", help="occurrences that are tried at once (default: 1)")
    published.add_argument("--n", type=int, metavar="N", help="input tokens of each (default: 4)")
    published.add_argument("--select", choices=["recent", "random"], help="which occurrences (default: recent)")


def run(options: argparse.Namespace) -> int:
    from engine.commands.chat_loop import chat

    return chat(options)
