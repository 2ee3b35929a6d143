"""A C library with llama.cpp's API: the functions that we call, and its log."""

from __future__ import annotations

import contextlib
import ctypes
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol, cast

LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}  # ggml_log_level
ERROR, CONTINUED = 4, 5  # CONTINUED: the text goes on with the line of the call before

Pointer = Any  # an address, or any value that ctypes accepts as one
Struct = Any  # a struct of the library, made by the library

AbortCallback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class CLibrary(Protocol):
    """The functions of llama.h that both libraries offer to us; llama.h documents them.

    A pointer is None where there is nothing to point to; a negative count is the room that was missing.
    """

    llama_token: type[ctypes.c_int32]

    def llama_progress_callback(self, function: Callable[[float, Any], bool], /) -> Any: ...

    # models
    def llama_model_default_params(self) -> Struct: ...
    def llama_model_load_from_file(self, path: bytes, params: Struct, /) -> Pointer: ...
    def llama_model_free(self, model: Pointer, /) -> None: ...
    def llama_model_get_vocab(self, model: Pointer, /) -> Pointer: ...
    def llama_model_n_ctx_train(self, model: Pointer, /) -> int: ...
    def llama_model_n_embd(self, model: Pointer, /) -> int: ...
    def llama_model_n_embd_out(self, model: Pointer, /) -> int: ...  # of llama.cpp alone
    def llama_model_n_params(self, model: Pointer, /) -> int: ...
    def llama_model_size(self, model: Pointer, /) -> int: ...
    def llama_model_is_recurrent(self, model: Pointer, /) -> bool: ...
    def llama_model_n_swa(self, model: Pointer, /) -> int: ...  # of llama.cpp alone
    def llama_model_is_hybrid(self, model: Pointer, /) -> bool: ...
    def llama_model_has_encoder(self, model: Pointer, /) -> bool: ...
    def llama_model_has_decoder(self, model: Pointer, /) -> bool: ...
    def llama_model_chat_template(self, model: Pointer, name: bytes | None, /) -> bytes | None: ...

    # vocabulary
    def llama_vocab_n_tokens(self, vocabulary: Pointer, /) -> int: ...
    def llama_vocab_get_add_bos(self, vocabulary: Pointer, /) -> bool: ...
    def llama_vocab_bos(self, vocabulary: Pointer, /) -> int: ...
    def llama_vocab_eos(self, vocabulary: Pointer, /) -> int: ...
    def llama_vocab_is_eog(self, vocabulary: Pointer, token: int, /) -> bool: ...
    def llama_vocab_is_control(self, vocabulary: Pointer, token: int, /) -> bool: ...
    def llama_tokenize(
        self,
        vocabulary: Pointer,
        text: bytes,
        size: int,
        tokens: Pointer,
        most: int,
        add_special: bool,
        parse_special: bool,
        /,
    ) -> int: ...
    def llama_token_to_piece(
        self, vocabulary: Pointer, token: int, buffer: Pointer, size: int, lstrip: int, special: bool, /
    ) -> int: ...

    # contexts
    def llama_context_default_params(self) -> Struct: ...
    def llama_init_from_model(self, model: Pointer, params: Struct, /) -> Pointer: ...
    def llama_free(self, context: Pointer, /) -> None: ...
    def llama_n_ctx(self, context: Pointer, /) -> int: ...
    def llama_n_batch(self, context: Pointer, /) -> int: ...
    def llama_set_n_threads(self, context: Pointer, threads: int, of_prompts: int, /) -> None: ...
    def llama_set_abort_callback(self, context: Pointer, callback: Any, data: Pointer, /) -> None: ...
    def llama_batch_init(self, tokens: int, embedding: int, sequences: int, /) -> Struct: ...
    def llama_batch_free(self, batch: Struct, /) -> None: ...
    def llama_decode(self, context: Pointer, batch: Struct, /) -> int: ...
    def llama_get_logits(self, context: Pointer, /) -> Pointer: ...
    def llama_get_logits_ith(self, context: Pointer, row: int, /) -> Any: ...
    def llama_get_embeddings_ith(self, context: Pointer, row: int, /) -> Any: ...
    def llama_get_embeddings_seq(self, context: Pointer, sequence: int, /) -> Any: ...

    # the KV cache
    def llama_get_memory(self, context: Pointer, /) -> Pointer: ...
    def llama_memory_clear(self, memory: Pointer, data: bool, /) -> None: ...
    def llama_memory_seq_rm(self, memory: Pointer, sequence: int, first: int, end: int, /) -> bool: ...
    def llama_memory_seq_cp(self, memory: Pointer, source: int, target: int, first: int, end: int, /) -> None: ...
    def llama_n_rs_seq(self, context: Pointer, /) -> int: ...  # of llama.cpp alone
    def llama_memory_seq_pos_min(self, memory: Pointer, sequence: int, /) -> int: ...
    def llama_memory_seq_pos_max(self, memory: Pointer, sequence: int, /) -> int: ...

    # states
    def llama_state_seq_get_size(self, context: Pointer, sequence: int, /) -> int: ...
    def llama_state_seq_get_data(self, context: Pointer, to: Pointer, size: int, sequence: int, /) -> int: ...
    def llama_state_seq_set_data(self, context: Pointer, data: Pointer, size: int, sequence: int, /) -> int: ...
    # of llama.cpp alone
    def llama_state_seq_get_size_ext(self, context: Pointer, sequence: int, flags: int, /) -> int: ...
    def llama_state_seq_get_data_ext(
        self, context: Pointer, to: Pointer, size: int, sequence: int, flags: int, /
    ) -> int: ...
    def llama_state_seq_set_data_ext(
        self, context: Pointer, data: Pointer, size: int, sequence: int, flags: int, /
    ) -> int: ...
    def llama_state_seq_save_file(
        self, context: Pointer, path: bytes, sequence: int, tokens: Pointer, count: int, /
    ) -> int: ...
    def llama_state_seq_load_file(
        self, context: Pointer, path: bytes, sequence: int, tokens: Pointer, most: int, count: Pointer, /
    ) -> int: ...


class _OnDemand:
    def __init__(self, open_library: Callable[[], Any]) -> None:
        self._open_library = open_library

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._open_library(), name)
        setattr(self, name, found)  # later uses find the function without __getattr__
        return found


def on_demand(open_library: Callable[[], Any]) -> CLibrary:
    """Return a library whose functions are found when first used; `open_library` runs at the first use of any."""
    return cast(CLibrary, _OnDemand(open_library))


class LibraryLog:
    """Log of a library, passed on to Python's logging and to callers that read why a call failed or what it allocated.

    `write` is the library's log callback.
    """

    def __init__(self, name: str) -> None:
        self._log = logging.getLogger(name)
        self._recent: deque[str] = deque(maxlen=50)
        self._listeners: list[list[str]] = []

    def write(self, level: int, text: bytes, _user_data: Any) -> None:
        """Log one line from the library: UTF-8 bytes at the library's own level."""
        line = text.decode(errors="replace").rstrip()
        if line and level != CONTINUED:
            if level >= ERROR:
                self._recent.append(line)
            for lines in self._listeners:
                lines.append(line)
            self._log.log(LEVELS.get(level, logging.DEBUG), line)

    @contextlib.contextmanager
    def errors(self) -> Iterator[deque[str]]:
        """Yield a list that collects the errors logged within the block.

        A C library has no other way to say why a call failed.
        """
        self._recent.clear()
        yield self._recent

    @contextlib.contextmanager
    def lines(self) -> Iterator[list[str]]:
        """Yield a list that collects all lines logged within the block.

        A C library has no other way to tell some sizes.
        """
        lines: list[str] = []
        self._listeners.append(lines)
        try:
            yield lines
        finally:
            self._listeners.remove(lines)
