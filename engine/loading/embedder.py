"""Opens what turns texts into vectors: the loaded model, or an embedding model's file for one request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from common.failures import Failure
from common.paths import path_of
from engine.loading.first_look import take_first_looks
from engine.loading.libraries import backend, default_library, imported_library
from engine.loading.load import LoadedModel
from engine.machine import default_threads, memory
from engine.protocol.lines import MAX_LINE
from engine.rights import out_of_reach
from engine.runtime.capi.embedding import Embedder
from engine.stop import StopFlag
from models.header import read_header
from models.shapes import KV_ELEMENT_BYTES
from models.split import other_parts
from models.validation import validate_header

ROOM_BESIDE = 1 << 20  # bytes of a message beside its vectors
CONTEXT_BYTES = 256 << 20  # of the context of an embedding model with a long text, generously


@contextmanager
def opened_embedder(loaded: LoadedModel | None, path: str, stop: StopFlag) -> Iterator[Embedder]:
    """Open the embedding model at `path`, or without a path the loaded model; free all that was opened at the end.

    Raises Failure where there is no such model or not enough memory, and Stopped once `stop` is set.
    """
    if path:
        with _embedding_model(path, stop) as embedder:
            yield embedder
        return
    if loaded is None:
        raise Failure("no_model.loaded")
    library, threads = loaded.plan.library, loaded.plan.memory.threads
    if library.name != "graph":
        with closing(Embedder(loaded.model, library.embedding_context, threads, stop)) as embedder:
            yield embedder
        return
    # Our own graph has weights of its own; those that llama.cpp maps from the same file take no memory twice.
    with (
        closing(library.load_plain(loaded.model.parts, repack=False, mmap=True)) as model,
        closing(Embedder(model, library.embedding_context, threads, stop)) as embedder,
    ):
        yield embedder


def check_answer(vectors: int, width: int) -> None:
    """Raise Failure unless a message has room for so many vectors, whose bytes it carries as Base64."""
    if vectors * width * 4 * 4 / 3 > MAX_LINE - ROOM_BESIDE:
        raise Failure("bad_request.long_answer", most=MAX_LINE)


def check_room(loaded: LoadedModel, tokens: int) -> None:
    """Raise Failure unless the free memory has room for a second context with a text of `tokens` tokens.

    Its keys and values are f16, whatever type those of the loaded model's own context have.
    """
    plan = loaded.plan.memory
    kv = plan.parts["kv"] * KV_ELEMENT_BYTES["f16"] / KV_ELEMENT_BYTES[plan.kv_type]
    needed = round(kv * tokens / plan.n_ctx) + plan.parts["compute"]
    if memory().available < needed:
        raise Failure("out_of_memory.text", f"{needed} bytes are needed", tokens=tokens)


@contextmanager
def _embedding_model(path: str, stop: StopFlag) -> Iterator[Embedder]:
    file = path_of(path)
    if out_of_reach(file):
        raise Failure("bad_model.out_of_reach", name=file.name)
    header = read_header(file)
    validate_header(header)
    library = backend(imported_library() or default_library())
    headers = (header, *other_parts(header))
    take_first_looks((headers,), library.name, stop.is_set, embeds=True)
    needed = sum(part.file_bytes for part in headers) + CONTEXT_BYTES
    if memory().available < needed:
        raise Failure("out_of_memory.model", f"{needed} bytes are needed", name=file.name)
    with (
        closing(library.load_embedder(headers, lambda _fraction: not stop.is_set(), repack=False, mmap=True)) as model,
        closing(Embedder(model, library.embedding_context, default_threads(), stop)) as embedder,
    ):
        yield embedder
