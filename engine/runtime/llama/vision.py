"""Pictures for a model of llama.cpp: its projector, run by libmtmd, and the embeddings that it makes of pictures.

The only module that calls libmtmd. The projector is loaded when the first picture needs it. A picture becomes blocks of
embeddings, with tokens of text around them; a small picture is one block, others are cut into tiles by some projectors.
Embeddings are kept by the digest of the picture's file, so that a picture is encoded once.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from common.files import read_small
from common.paths import path_of
from engine.machine import is_memory_short, memory
from engine.protocol.requests import Picture
from engine.runtime.capi.context import ABORTED, SEQUENCE, CContext
from engine.runtime.capi.library import LogCallback
from engine.runtime.capi.model import CModel
from engine.runtime.llama.library import log as library_log
from engine.runtime.llama.library import open_library
from engine.stop import StopFlag, Stopped
from engine.tokenization.pictures import block_tokens
from models.projector import Projector

log = logging.getLogger("engine.vision")

TEXT, IMAGE = 0, 1  # mtmd_input_chunk_type
KEPT_BYTES = 64 << 20  # of embeddings: sixteen pictures of 256 tokens for a model of 4,096 numbers a token
KEPT_LAYOUTS = 256  # pictures whose division into blocks is remembered, besides those of the prompt
MOST_BYTES = 32 << 20  # of a picture's file
SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # PNG and JPEG: all that libmtmd is given to decode
EVERY_NODES = 4  # nodes of the encoder's graph that run between two looks at the stop flag
FIRST_GUESS = 30  # nodes of the graph for each layer, until the first picture has told
REPORT_SECONDS = 0.1  # between two reports of an encoder's progress
SPARE = 1.2  # memory that must be free, as a multiple of what the projector is expected to take

Embeddings = NDArray[np.float32]  # [tokens, width]
Block = tuple[int, ...]  # a block's first numbers, which name it


@cache
def _library() -> Any:
    """Load libmtmd and return its module of C functions. Raises Failure if this build of llama.cpp has none."""
    open_library()  # the kernels come first
    try:
        from llama_cpp import mtmd_cpp
    except (OSError, RuntimeError, FileNotFoundError) as error:
        raise Failure("no_vision.library", str(error)) from error
    mtmd_cpp.mtmd_helper_log_set(_on_log, ctypes.c_void_p(0))
    return mtmd_cpp


_on_log = LogCallback(library_log.write)  # kept here, because the library holds no Python reference to it


class _Progress:
    """Progress of one pass of the encoder, counted in nodes of its graph, and the way to stop it.

    ggml asks before each node whether to pause behind it, and at a pause whether to go on.
    """

    def __init__(self, stop: StopFlag, guess: int) -> None:
        self.stop = stop
        self.nodes = 0
        self.total = guess
        self.given_up = False  # whether nobody waits for the result any more

    @property
    def fraction(self) -> float:
        return min(0.99, self.nodes / self.total)

    def begin(self) -> None:
        self.nodes, self.given_up = 0, False

    def on_node(self, _tensor: Any, asks: bool, _user_data: Any) -> bool:
        if not asks:
            return not self.given_up and not self.stop.is_set()
        self.nodes += 1
        return self.nodes % EVERY_NODES == 0


class _Layout(NamedTuple):
    """A picture's division: tokens of the prompt, and for each block its placeholder, an mtmd_input_chunk."""

    tokens: list[int]
    chunks: dict[Block, Any]


class Vision:
    """The eyes of a loaded model. Raises Failure where a picture cannot be used, and Stopped if `stop` is set."""

    def __init__(self, model: CModel, projector: Projector, threads: int, stop: StopFlag) -> None:
        self.model = model
        self.projector = projector
        self.stop = stop
        self.seconds = 0.0  # for which the encoder ran
        self.encoded = 0  # tokens that it made
        self._threads = threads
        self._context: Any = None
        self._progress = _Progress(stop, FIRST_GUESS * projector.layers)
        self._layouts: OrderedDict[tuple[str, int, int], _Layout] = OrderedDict()
        self._embeddings: OrderedDict[Block, Embeddings] = OrderedDict()
        self._owners: dict[Block, tuple[Picture, int]] = {}  # the prompt's blocks: picture, and which block of it
        self._lock = threading.RLock()  # counting tokens happens in another thread

    @property
    def is_loaded(self) -> bool:
        """Whether the projector is in memory."""
        return self._context is not None

    # --- tokens ---

    def tokens(self, pictures: Sequence[Picture]) -> list[list[int]]:
        """Return the tokens that stand for each of a prompt's pictures; only these can be encoded from now on.

        Loads the projector if it is needed. The pictures of the prompt before are forgotten: their files may be held in
        memory.
        """
        with self._lock:
            self._owners.clear()
            layouts = []
            for picture in pictures:
                layout = self._layout_of(picture)
                self._owners |= {name: (picture, index) for index, name in enumerate(layout.chunks)}
                layouts.append(layout)
            while len(self._layouts) > max(KEPT_LAYOUTS, len(layouts)):
                self._free(self._layouts.popitem(last=False)[1])
            return [layout.tokens for layout in layouts]

    def guessed_tokens(self, pictures: Sequence[Picture]) -> list[list[int]]:
        """Return tokens for counting: exact ones if they are known, else about as many."""
        with self._lock:
            return [self._layout_of(each).tokens if self.is_loaded else self._guess(each) for each in pictures]

    def _guess(self, picture: Picture) -> list[int]:
        count = self.projector.tokens_of(picture.width, picture.height)
        return block_tokens(picture.digest, 0, count, count)

    def _layout_of(self, picture: Picture) -> _Layout:
        with self._lock:
            key = (picture.digest, picture.width, picture.height)
            if key not in self._layouts:
                self._layouts[key] = self._divide(picture)
            self._layouts.move_to_end(key)
            return self._layouts[key]

    def _divide(self, picture: Picture) -> _Layout:
        """Divide the picture by its size alone: the library takes a bitmap without pixels as a placeholder."""
        self._load()
        mtmd, tokens, chunks = _library(), list[int](), dict[Block, Any]()
        bitmap = mtmd.mtmd_bitmap_init(picture.width, picture.height, None)
        with self._chunks(bitmap) as parts:
            for chunk in parts:
                if mtmd.mtmd_input_chunk_get_type(chunk) == TEXT:
                    count = ctypes.c_size_t()
                    text = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
                    tokens += text[: count.value]
                    continue
                size, positions = mtmd.mtmd_input_chunk_get_n_tokens(chunk), mtmd.mtmd_input_chunk_get_n_pos(chunk)
                numbers = block_tokens(picture.digest, len(chunks), size, positions)
                chunks[name_of(numbers)] = mtmd.mtmd_input_chunk_get_placeholder(chunk)
                tokens += numbers
        return _Layout(tokens, chunks)

    @contextmanager
    def _chunks(self, bitmap: Any) -> Iterator[list[Any]]:
        """Yield the mtmd_input_chunk list of a bitmap, and free it with the bitmap at the end. Raises Failure."""
        mtmd = _library()
        part = mtmd.mtmd_input_part(None, bitmap)
        parts = (ctypes.POINTER(mtmd.mtmd_input_part) * 1)(ctypes.pointer(part))
        chunks = mtmd.mtmd_input_chunks_init()
        try:
            with library_log.errors() as errors:
                result = mtmd.mtmd_tokenize_from_parts(self._context, chunks, parts, 1, False)
            if result:
                raise Failure("bad_picture.refused", "\n".join(errors))
            yield [mtmd.mtmd_input_chunks_get(chunks, i) for i in range(mtmd.mtmd_input_chunks_size(chunks))]
        finally:
            mtmd.mtmd_input_chunks_free(chunks)
            mtmd.mtmd_bitmap_free(bitmap)

    # --- embeddings ---

    def encode(self, tokens: Sequence[int]) -> Iterator[float]:
        """Compute the embeddings of the block with these tokens if there are none; yield the fraction that is done."""
        name = name_of(tokens)
        if name in self._embeddings:
            self._embeddings.move_to_end(name)
            return
        picture, index = self._owners[name]
        self._load()
        with self._chunks(self._bitmap(picture)) as parts:
            chunk = [part for part in parts if _library().mtmd_input_chunk_get_type(part) == IMAGE][index]
            started = time.perf_counter()
            yield from self._run(chunk)
            seconds = time.perf_counter() - started
        self.seconds += seconds
        self.encoded += len(tokens)
        self._keep(name, len(tokens))

    def _run(self, chunk: Any) -> Iterator[float]:
        """Encode the chunk in a thread of its own, so that its progress can be told meanwhile."""
        progress, results = self._progress, list[int]()
        progress.begin()
        encode = _library().mtmd_encode_chunk
        thread = threading.Thread(target=lambda: results.append(encode(self._context, chunk)), name="encoder")
        thread.start()
        try:
            running = True
            while running:
                thread.join(REPORT_SECONDS)
                running = thread.is_alive()
                yield progress.fraction
        finally:
            progress.given_up = True
            thread.join()
        if self.stop.is_set():
            raise Stopped
        progress.total = progress.nodes
        if results != [0]:
            raise Failure("bad_picture.encoder")

    def _keep(self, name: Block, count: int) -> None:
        """Keep the embeddings of the last block, of `count` tokens; drop the oldest ones beyond KEPT_BYTES."""
        pointer = _library().mtmd_get_output_embd(self._context)
        self._embeddings[name] = np.ctypeslib.as_array(pointer, (count, self.projector.width)).copy()
        kept = sum(each.nbytes for each in self._embeddings.values())
        while kept > KEPT_BYTES and len(self._embeddings) > 1:
            kept -= self._embeddings.popitem(last=False)[1].nbytes

    def _bitmap(self, picture: Picture) -> Any:
        """Decode a picture's file. Raises Failure if it is not the picture that was announced."""
        data = picture_bytes(picture)
        mtmd = _library()
        buffer = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        bitmap = mtmd.mtmd_helper_bitmap_init_from_buf(self._context, buffer, len(data), False)
        if not bitmap:
            raise Failure("bad_picture.damaged")
        size = (mtmd.mtmd_bitmap_get_nx(bitmap), mtmd.mtmd_bitmap_get_ny(bitmap))
        if size != (picture.width, picture.height):
            mtmd.mtmd_bitmap_free(bitmap)
            raise Failure("bad_picture.damaged", f"{size} in place of {picture.width} × {picture.height}")
        return bitmap

    # --- the pass of the model ---

    def decode(self, context: CContext, tokens: Sequence[int], position: int) -> None:
        """Run the block with these tokens, which is encoded, from `position` on. Raises Stopped, MemoryError."""
        mtmd, name = _library(), name_of(tokens)
        embeddings = self._embeddings[name]
        picture, _ = self._owners[name]
        self._load()
        chunk = self._layout_of(picture).chunks[name]
        if mtmd.mtmd_decode_use_non_causal(self._context, chunk) and len(tokens) > context.n_batch:
            raise Failure("bad_picture.batch", f"{len(tokens)} tokens, {context.n_batch} of a pass")
        end = ctypes.c_int32()
        result = mtmd.mtmd_helper_decode_image_chunk(
            self._context,
            context.pointer,
            chunk,
            embeddings.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            position,
            SEQUENCE,
            context.n_batch,
            ctypes.byref(end),
            mtmd.mtmd_helper_post_decode_callback(),
            None,
        )
        if result == ABORTED or self.stop.is_set():
            raise Stopped
        if result:
            raise MemoryError(f"a picture of {len(tokens)} tokens: result {result}")

    # --- the projector ---

    def _load(self) -> None:
        """Load the projector if it is not in memory. Raises Failure, and Stopped."""
        with self._lock:
            if self._context is None:
                self._open()

    def _open(self) -> None:
        needed = int(self.projector.memory_bytes * SPARE)
        if memory().available < needed:
            raise Failure("out_of_memory.projector", name=self.projector.path.name, size=needed)
        mtmd = _library()
        params = mtmd.mtmd_context_params_default()
        params.use_gpu = params.print_timings = params.warmup = False
        params.n_threads = self._threads
        # Kept here, because the library holds no Python reference to them.
        self._on_node = open_library().ggml_backend_sched_eval_callback(self._progress.on_node)
        self._on_load = mtmd.mtmd_progress_callback(lambda _fraction, _user_data: not self.stop.is_set())
        params.cb_eval, params.progress_callback = self._on_node, self._on_load
        with library_log.errors() as errors:
            path = os.fsencode(self.projector.path)
            self._context = mtmd.mtmd_init_from_file(path, self.model.pointer, params)
        if self.stop.is_set():
            self.release()
            raise Stopped
        if not self._context:
            self._context = None
            raise Failure("bad_projector.not_accepted", "\n".join(errors), name=self.projector.path.name)
        log.info("projector %s loaded", self.projector.type)

    def release(self) -> None:
        """Free the projector; embeddings stay, and the next picture loads it again."""
        with self._lock:
            if self._context is not None:
                _library().mtmd_free(self._context)
                self._context = None

    def release_if_short(self) -> None:
        """Free the projector if it is loaded and little memory is available, to the model or to other programs."""
        if self.is_loaded and is_memory_short():
            log.info("projector %s released: memory is short", self.projector.type)
            self.release()

    def _free(self, layout: _Layout) -> None:
        for chunk in layout.chunks.values():
            _library().mtmd_input_chunk_free(chunk)

    def close(self) -> None:
        """Free the projector and all that is kept of pictures; the model must still be loaded."""
        with self._lock:
            for layout in self._layouts.values():
                self._free(layout)
            self._layouts.clear()
            self._owners.clear()
            self._embeddings.clear()
            self.release()


def name_of(tokens: Sequence[int]) -> Block:
    """Return the numbers that name a block: enough of them that no two blocks share them by chance."""
    return tuple(tokens[:4])


def picture_bytes(picture: Picture) -> bytes:
    """Return the bytes of a picture's file, which is PNG or JPEG. Raises Failure if it is not the one announced."""
    try:
        data = picture.data or read_small(path_of(picture.path), MOST_BYTES)
    except (OSError, ValueError) as error:
        raise Failure("bad_picture.missing") from error
    if not data.startswith(SIGNATURES) or hashlib.sha256(data).hexdigest() != picture.digest:
        raise Failure("bad_picture.damaged")
    return data
