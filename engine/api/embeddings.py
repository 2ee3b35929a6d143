"""`/v1/embeddings`: texts as vectors, in OpenAI's form."""

from __future__ import annotations

import base64
import struct
from typing import Any, Literal

import msgspec

from engine.api.errors import ApiError
from engine.api.jobs import Jobs
from engine.api.tokens import Prompts, read_prompts, text_of
from engine.protocol.events import Embedded
from engine.protocol.requests import Embed

MOST_TEXTS = 2048


class EmbeddingRequest(msgspec.Struct, kw_only=True):
    """Body of a request for the vectors of one text, or of several."""

    input: Prompts
    model: str | None = None
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None
    user: str | None = None


async def embed_of(body: EmbeddingRequest, jobs: Jobs, model: str) -> Embed:
    """Return the engine's request; `model` is the file of the embedding model. Raises ApiError."""
    texts = read_prompts("input", body.input, MOST_TEXTS)
    if not all(texts):
        raise ApiError(400, f"input takes a text, tokens, or 1 to {MOST_TEXTS} of them.", "bad_value", "input")
    return Embed(0, tuple([await text_of(jobs, text) for text in texts]), model)


def answer_of(body: EmbeddingRequest, model: str, embedded: Embedded) -> dict[str, Any]:
    """Return the vectors. Raises ApiError if vectors of another length are wanted."""
    as_text = body.encoding_format == "base64"
    size = len(embedded.vectors[0]) // 4
    if body.dimensions not in (None, size):
        raise ApiError(400, f"This model's vectors have {size} numbers.", "bad_value", "dimensions")
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector).decode() if as_text else struct.unpack(f"<{size}f", vector),
        }
        for index, vector in enumerate(embedded.vectors)
    ]
    tokens = sum(embedded.tokens)
    return {"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
