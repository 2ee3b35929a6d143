"""ik_llama.cpp under the names that llama.cpp's C API has today, opened when a function of it is first used.

The other modules of this package take `lib` from here. The fork keeps an older API: a sequence's memory is its context,
and a vocabulary is its model. A process that holds this library must never load llama.cpp: both
define the same symbols.
"""

from __future__ import annotations

from ctypes import CDLL, POINTER, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from types import SimpleNamespace
from typing import Any

from engine.runtime.capi.library import AbortCallback, LibraryLog, LogCallback, declare, on_demand
from engine.runtime.ik.native import PACKAGE, Native, preload_native, start_native

TOKENS, FLOATS, BYTES = POINTER(c_int32), POINTER(c_float), POINTER(c_uint8)

# The functions of llama.h that ik_llama_cpp does not declare, or that llama.cpp renamed since: today's name, then this
# library's name, result and arguments.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "llama_log_set": ("llama_log_set", None, LogCallback, c_void_p),
    "llama_print_system_info": ("llama_print_system_info", c_char_p),
    # models
    "llama_model_free": ("llama_free_model", None, c_void_p),
    "llama_model_n_ctx_train": ("llama_n_ctx_train", c_int32, c_void_p),
    "llama_model_size": ("llama_model_size", c_uint64, c_void_p),
    "llama_model_is_recurrent": ("llama_model_is_recurrent", c_bool, c_void_p),
    "llama_model_is_hybrid": ("llama_model_is_hybrid", c_bool, c_void_p),
    "llama_model_has_encoder": ("llama_model_has_encoder", c_bool, c_void_p),
    "llama_model_has_decoder": ("llama_model_has_decoder", c_bool, c_void_p),
    "llama_model_chat_template": ("llama_model_chat_template", c_char_p, c_void_p, c_char_p),
    "llama_get_model_tensor": ("llama_get_model_tensor", c_void_p, c_void_p, c_char_p),
    # vocabularies, which are their models
    "llama_vocab_n_tokens": ("llama_n_vocab", c_int32, c_void_p),
    "llama_vocab_bos": ("llama_token_bos", c_int32, c_void_p),
    "llama_vocab_eos": ("llama_token_eos", c_int32, c_void_p),
    "llama_vocab_fim_pre": ("llama_token_prefix", c_int32, c_void_p),
    "llama_vocab_fim_suf": ("llama_token_suffix", c_int32, c_void_p),
    "llama_vocab_fim_mid": ("llama_token_middle", c_int32, c_void_p),
    "llama_vocab_is_eog": ("llama_token_is_eog", c_bool, c_void_p, c_int32),
    "llama_vocab_is_control": ("llama_token_is_control", c_bool, c_void_p, c_int32),
    # contexts
    "llama_n_ctx": ("llama_n_ctx", c_uint32, c_void_p),
    "llama_n_batch": ("llama_n_batch", c_uint32, c_void_p),
    "llama_set_abort_callback": ("llama_set_abort_callback", None, c_void_p, AbortCallback, c_void_p),
    "llama_set_n_threads": ("llama_set_n_threads", None, c_void_p, c_uint32, c_uint32),
    "llama_get_logits": ("llama_get_logits", c_void_p, c_void_p),
    "llama_get_embeddings_ith": ("llama_get_embeddings_ith", FLOATS, c_void_p, c_int32),
    # KV caches, which are their contexts
    "llama_memory_seq_rm": ("llama_kv_cache_seq_rm", c_bool, c_void_p, c_int32, c_int32, c_int32),
    "llama_memory_seq_cp": ("llama_kv_cache_seq_cp", None, c_void_p, c_int32, c_int32, c_int32, c_int32),
    "llama_memory_seq_pos_max": ("llama_kv_cache_seq_pos_max", c_int32, c_void_p, c_int32),
    "llama_state_seq_get_size_ext": ("llama_state_seq_get_size", c_size_t, c_void_p, c_int32, c_uint32),
    "llama_state_seq_get_data_ext": (
        "llama_state_seq_get_data", c_size_t, c_void_p, BYTES, c_size_t, c_int32, c_uint32,
    ),
    "llama_state_seq_set_data_ext": (
        "llama_state_seq_set_data", c_size_t, c_void_p, BYTES, c_size_t, c_int32, c_uint32,
    ),
    "llama_state_seq_save_file": (
        "llama_state_seq_save_file", c_size_t, c_void_p, c_char_p, c_int32, TOKENS, c_size_t,
    ),
    "llama_state_seq_load_file": (
        "llama_state_seq_load_file", c_size_t, c_void_p, c_char_p, c_int32, TOKENS, c_size_t, POINTER(c_size_t),
    ),
}  # fmt: skip

log = LibraryLog("engine.ik")
_on_log = LogCallback(log.write)  # kept here, because the library holds no Python reference to it


@dataclass(frozen=True)
class Opened:
    """The opened library.

    `code` is the library itself, `functions` holds its C functions and structs under today's names, and `native` is our
    code in front of the library, or None if there is none.
    """

    code: CDLL
    functions: SimpleNamespace
    native: Native | None


@cache
def open_library() -> Opened:
    """Load the library behind our native code and return it: the linker prefers the symbols that were loaded first."""
    own_code = preload_native()
    from ik_llama_cpp import _ctypes_api as api

    native = start_native(own_code, api._lib)
    renamed = {name: declare(api._lib, *signature) for name, signature in FUNCTIONS.items()}
    functions = SimpleNamespace(**vars(api) | renamed | adapters(api._lib, renamed["llama_memory_seq_rm"]))
    functions.llama_log_set(_on_log, None)
    functions.llama_backend_init()
    return Opened(api._lib, functions, native)


lib = on_demand(lambda: open_library().functions)


def adapters(code: CDLL, sequence_rm: Any) -> dict[str, Any]:
    """Return functions that take other arguments in this library: models for vocabularies, contexts for memories."""
    get_vocabulary = declare(code, "llama_model_get_vocab", c_void_p, c_void_p)
    adds_bos = declare(code, "llama_vocab_get_add_bos", c_bool, c_void_p)

    def clear(memory: int, _data: bool) -> None:
        """Remove the cells of all sequences; llama_kv_cache_clear would write zeros over the whole cache."""
        sequence_rm(memory, -1, -1, -1)

    return {
        "llama_model_get_vocab": lambda model: model,
        "llama_vocab_get_add_bos": lambda model: adds_bos(get_vocabulary(model)),
        "llama_get_memory": lambda context: context,
        "llama_memory_clear": clear,
    }


def native() -> Native | None:
    """Return our code in front of the library, or None."""
    return open_library().native


def kernels() -> str:
    """Return the name of the products that compute, or "compiled in" for the library's own kernels.

    The prebuilt library's kernels are for AVX2; `make setup NATIVE=1` builds them for this very processor.
    """
    own_code = native()
    return own_code.products.name if own_code and own_code.products else "compiled in"


def build() -> str:
    """Return a text that differs between builds: version, checksum, our products, and processor features compiled in.

    The features alone would not tell builds apart: on a processor that stops at AVX2 a native build has the same
    features as the wheel.
    """
    own_code = native()
    from ik_llama_cpp import __version__

    features = lib.llama_print_system_info().decode().strip()
    products = f" with {own_code.products.name} products {own_code.checksum}" if own_code and own_code.products else ""
    return f"{PACKAGE} {__version__} {checksum()}{products}; {features}"


def checksum() -> str:
    """Return the first characters of the checksum that the package recorded for its kernels.

    Returns "packaged" if there is none: a packaged app may carry the library without the package's metadata.
    """
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        return "packaged"
    kernels = (file for file in files if file.as_posix().startswith("ik_llama_cpp/lib/") and "ggml" in file.name)
    return next((file.hash.value[:10] for file in kernels if file.hash), "packaged")
