"""Texts and their tokens: in requests, and by `/tokenize` and `/detokenize` in the form of llama.cpp's server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.api.errors import ApiError
from engine.api.jobs import Jobs
from engine.protocol.events import Detokenized, Tokenized
from engine.protocol.requests import Detokenize, Tokenize

# The engine answers in one line of at most 64 MB, where a byte may be a token of 13 bytes, and a token a text of 128.
MOST_TEXT = 4 << 20  # bytes: a context of a million tokens
MOST_TOKENS = 1 << 18
MOST_PROMPTS = 64
Prompt = str | tuple[int, ...]
Prompts = str | list[str | int | list[int]]  # as requests give them


class TokenizeRequest(msgspec.Struct, kw_only=True):
    """Body of a request for a text's tokens."""

    content: str
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeRequest(msgspec.Struct, kw_only=True):
    """Body of a request for the text of tokens."""

    tokens: list[int]


def tokenize_of(body: TokenizeRequest) -> Tokenize:
    """Return the engine's request. Raises ApiError for a text that is too long."""
    if len(body.content.encode()) > MOST_TEXT:
        raise ApiError(400, f"content may have up to {MOST_TEXT >> 20} MB.", "bad_value", "content")
    return Tokenize(0, body.content, body.add_special, body.parse_special)


def detokenize_of(tokens: Sequence[int]) -> Detokenize:
    """Return the engine's request. Raises ApiError for too many tokens."""
    if len(tokens) > MOST_TOKENS:
        raise ApiError(400, f"Up to {MOST_TOKENS:,} tokens can be turned into a text at once.", "bad_value", "tokens")
    return Detokenize(0, tuple(tokens))


def read_prompts(name: str, given: Prompts, most: int = MOST_PROMPTS) -> list[Prompt]:
    """Return the texts, or their tokens, that the field `name` gives. Raises ApiError for none or too many."""
    if isinstance(given, str):
        return [given]
    if given and all(isinstance(each, int) for each in given):
        return [tuple(each for each in given if isinstance(each, int))]
    prompts = [each if isinstance(each, str) else tuple(each) for each in given if not isinstance(each, int)]
    if len(prompts) != len(given) or not 1 <= len(prompts) <= most:
        raise ApiError(400, f"{name} takes a text, tokens, or 1 to {most} of them.", "bad_value", name)
    return prompts


async def text_of(jobs: Jobs, text: str | Sequence[int]) -> str:
    """Return a text that may be given as tokens. Raises ApiError."""
    return text if isinstance(text, str) else (await jobs.ask(detokenize_of(text), Detokenized)).text


def tokens_of(body: TokenizeRequest, tokenized: Tokenized) -> dict[str, Any]:
    """Return the tokens, with their texts if these are wanted; a part of a character is a list of its bytes."""
    if not body.with_pieces:
        return {"tokens": tokenized.tokens}
    pairs = zip(tokenized.tokens, tokenized.pieces, strict=True)
    return {"tokens": [{"id": token, "piece": _piece(piece)} for token, piece in pairs]}


def _piece(piece: bytes) -> str | list[int]:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)
