"""`/tokenize` and `/detokenize`, in the form of llama.cpp's server."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.protocol.events import Tokenized


class TokenizeRequest(msgspec.Struct, kw_only=True):
    """Body of a request for a text's tokens."""

    content: str
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeRequest(msgspec.Struct, kw_only=True):
    """Body of a request for the text of tokens."""

    tokens: list[int]


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
