"""Vectors of texts, computed in a context of their own beside the chat's, which is freed when they are done.

A chat model's vector of a text is the mean of its last hidden states, an embedding model's is what its own pooling
says. All vectors have length 1, so that their product tells how alike two texts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from engine.runtime.capi.context import SEQUENCE, Batch, CContext
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import CACHE_STEP, ContextOptions
from engine.stop import StopFlag

OWN_POOLING = -1  # llama_pooling_type: as the model's header says
PASS = 64  # tokens of a chat model's pass: each of them gets a row of logits too, which takes memory
MOST_TOKENS = 8192  # of a text for an embedding model, which reads all of it in one pass

OpenContext = Callable[[CModel, ContextOptions, StopFlag], CContext]
Vector = NDArray[np.float32]


class Embedder:
    """A model that turns texts into vectors, with a context that grows with the longest text; the caller closes it."""

    def __init__(self, model: CModel, open_context: OpenContext, threads: int, stop: StopFlag) -> None:
        self.model = model
        self._open_context = open_context
        self._threads = threads
        self._stop = stop
        self._context: CContext | None = None
        self._batch: Batch | None = None
        self.width = int(model.lib.llama_model_n_embd(model.pointer))

    @property
    def most_tokens(self) -> int:
        """Tokens of the longest text that the model can read."""
        trained = self.model.n_ctx_train
        return min(trained, MOST_TOKENS) if self.model.embeds else trained

    def tokens(self, text: str) -> list[int]:
        """Return a text's tokens with those that the model expects around them. Raises Failure for too many or none."""
        vocabulary = self.model.vocabulary
        if self.model.embeds:
            tokens = vocabulary.tokenize_whole(text)
        else:
            tokens = vocabulary.tokenize(text, special=False, add_bos=vocabulary.adds_bos)
        if not tokens:
            raise Failure("empty_prompt.text")
        if len(tokens) > self.most_tokens:
            raise Failure("prompt_too_long.plain", tokens=len(tokens), n_ctx=self.most_tokens)
        return tokens

    def vector(self, tokens: Sequence[int]) -> Vector:
        """Return the vector of a text's tokens. Raises Stopped; Failure or MemoryError where memory is short."""
        context, batch = self._opened(len(tokens))
        if context.memory:
            context.lib.llama_memory_clear(context.memory, False)
        if self.model.embeds:
            batch.fill(tokens, 0, len(tokens))
            context.decode(batch)
            pointer = context.lib.llama_get_embeddings_seq(context.pointer, SEQUENCE)
            # Without a pooling of its own the library keeps the states of single tokens.
            vector = self._read(pointer) if pointer else np.mean([*self._states(context, len(tokens))], axis=0)
        else:
            vector = np.zeros(self.width)
            for begin in range(0, len(tokens), batch.capacity):
                part = tokens[begin : begin + batch.capacity]
                batch.fill(part, begin, len(part))
                context.decode(batch)
                vector += np.sum([*self._states(context, len(part))], axis=0, dtype=np.float64)
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or not length:
            raise Failure("bad_model.no_numbers", f"a vector has the length {length}")
        return (vector / length).astype(np.float32)

    def _states(self, context: CContext, count: int) -> Iterator[Vector]:
        return (self._read(context.lib.llama_get_embeddings_ith(context.pointer, i)) for i in range(count))

    def _read(self, pointer: object) -> Vector:
        return np.ctypeslib.as_array(pointer, (self.width,)).copy()

    def _opened(self, tokens: int) -> tuple[CContext, Batch]:
        """Return a context with room for a text, and a batch for its passes. Raises Failure where memory is short."""
        if self._context is None or self._batch is None or self._context.n_ctx < tokens:
            self.close()
            n_ctx = -(-tokens // CACHE_STEP) * CACHE_STEP
            n_batch = n_ctx if self.model.embeds else min(PASS, n_ctx)
            options = ContextOptions(n_ctx, self._threads, n_batch, max_logits=n_batch, gives_way=True)
            self._context = self._open_context(self.model, options, self._stop)
            self._batch = Batch(self._context.lib, min(n_batch, self._context.n_batch))
        return self._context, self._batch

    def close(self) -> None:
        """Free the context; the model stays loaded."""
        if self._batch:
            self._batch.close()
        if self._context:
            self._context.close()
        self._context = self._batch = None
