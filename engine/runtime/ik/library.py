"""ik_llama.cpp under the names that llama.cpp's C API has today, opened when a function of it is first used.

The other modules of this package take `lib` from here. The fork keeps an older API: a sequence's memory is its context,
a vocabulary is its model, and states have flags. A process that holds this library must never load llama.cpp: both
define the same symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL, POINTER, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from types import SimpleNamespace
from typing import Any

from engine.runtime.capi.library import AbortCallback, LibraryLog, LogCallback, on_demand
from engine.runtime.ik.native import PACKAGE, Native, preload_native, start_native

TOKENS = POINTER(c_int32)
NO_FLAGS = 0

log = LibraryLog("engine.ik")
_on_log = LogCallback(log.write)  # kept here, because the library holds no Python reference to it


@dataclass(frozen=True)
class Opened:
    """The opened library.

    `api` is ik_llama_cpp's module of C functions and structs, `functions` holds them under today's names, and `native`
    is our code in front of the library, or None if there is none.
    """

    api: Any
    functions: SimpleNamespace
    native: Native | None

    @property
    def code(self) -> CDLL:
        """The library itself, which has functions that the module does not declare."""
        library: CDLL = self.api._lib
        return library


@cache
def open_library() -> Opened:
    """Load the library behind our native code and return it: the linker prefers the symbols that were loaded first."""
    code = preload_native()
    from ik_llama_cpp import _ctypes_api as api

    native = start_native(code, api._lib)
    function = function_finder(api._lib)
    function("llama_log_set", None, LogCallback, c_void_p)(_on_log, None)
    api.llama_backend_init()
    return Opened(api, bind_functions(api, function), native)


lib = on_demand(lambda: open_library().functions)

FunctionFinder = Callable[..., Callable[..., Any]]


def function_finder(code: CDLL) -> FunctionFinder:
    """Return a function that declares and returns a C function, given its name, result and arguments as in llama.h."""

    def function(name: str, result: Any, *arguments: Any) -> Any:
        c_function = getattr(code, name)
        c_function.restype, c_function.argtypes = result, arguments
        return c_function

    return function


def bind_functions(api: Any, function: FunctionFinder) -> SimpleNamespace:
    """Return the functions that `CLibrary` lists, built from this library's older API."""
    get_vocabulary = function("llama_model_get_vocab", c_void_p, c_void_p)
    adds_bos = function("llama_vocab_get_add_bos", c_bool, c_void_p)
    sequence_rm = function("llama_kv_cache_seq_rm", c_bool, c_void_p, c_int32, c_int32, c_int32)
    state_size = function("llama_state_seq_get_size", c_size_t, c_void_p, c_int32, c_uint32)
    state_data = (c_size_t, c_void_p, POINTER(c_uint8), c_size_t, c_int32, c_uint32)
    state_get = function("llama_state_seq_get_data", *state_data)
    state_set = function("llama_state_seq_set_data", *state_data)

    def clear(memory: int, _data: bool) -> None:
        """Remove the cells of all sequences; llama_kv_cache_clear would write zeros over the whole cache."""
        sequence_rm(memory, -1, -1, -1)

    return SimpleNamespace(
        llama_token=c_int32,
        llama_progress_callback=api.llama_progress_callback,
        # models
        llama_model_default_params=api.llama_model_default_params,
        llama_model_load_from_file=api.llama_model_load_from_file,
        llama_model_free=api.llama_free_model,
        llama_model_get_vocab=lambda model: model,
        llama_model_n_ctx_train=function("llama_n_ctx_train", c_int32, c_void_p),
        llama_model_n_embd=function("llama_model_n_embd", c_int32, c_void_p),
        llama_model_n_params=function("llama_model_n_params", c_uint64, c_void_p),
        llama_model_size=function("llama_model_size", c_uint64, c_void_p),
        llama_model_is_recurrent=function("llama_model_is_recurrent", c_bool, c_void_p),
        llama_model_is_hybrid=function("llama_model_is_hybrid", c_bool, c_void_p),
        llama_model_has_encoder=function("llama_model_has_encoder", c_bool, c_void_p),
        llama_model_has_decoder=function("llama_model_has_decoder", c_bool, c_void_p),
        llama_model_chat_template=function("llama_model_chat_template", c_char_p, c_void_p, c_char_p),
        # vocabulary
        llama_vocab_n_tokens=function("llama_n_vocab", c_int32, c_void_p),
        llama_vocab_get_add_bos=lambda model: adds_bos(get_vocabulary(model)),
        llama_vocab_bos=function("llama_token_bos", c_int32, c_void_p),
        llama_vocab_eos=function("llama_token_eos", c_int32, c_void_p),
        llama_vocab_fim_pre=function("llama_token_prefix", c_int32, c_void_p),
        llama_vocab_fim_suf=function("llama_token_suffix", c_int32, c_void_p),
        llama_vocab_fim_mid=function("llama_token_middle", c_int32, c_void_p),
        llama_vocab_is_eog=function("llama_token_is_eog", c_bool, c_void_p, c_int32),
        llama_vocab_is_control=function("llama_token_is_control", c_bool, c_void_p, c_int32),
        llama_tokenize=api.llama_tokenize,
        llama_token_to_piece=api.llama_token_to_piece,
        llama_get_model_tensor=function("llama_get_model_tensor", c_void_p, c_void_p, c_char_p),
        # contexts
        llama_context_default_params=api.llama_context_default_params,
        llama_init_from_model=api.llama_init_from_model,
        llama_free=api.llama_free,
        llama_n_ctx=function("llama_n_ctx", c_uint32, c_void_p),
        llama_n_batch=function("llama_n_batch", c_uint32, c_void_p),
        llama_set_abort_callback=function("llama_set_abort_callback", None, c_void_p, AbortCallback, c_void_p),
        llama_batch_init=api.llama_batch_init,
        llama_batch_free=api.llama_batch_free,
        llama_decode=api.llama_decode,
        llama_set_n_threads=function("llama_set_n_threads", None, c_void_p, c_uint32, c_uint32),
        llama_get_logits=function("llama_get_logits", c_void_p, c_void_p),
        llama_get_logits_ith=function("llama_get_logits_ith", POINTER(c_float), c_void_p, c_int32),
        llama_get_embeddings_ith=function("llama_get_embeddings_ith", POINTER(c_float), c_void_p, c_int32),
        llama_get_embeddings_seq=function("llama_get_embeddings_seq", POINTER(c_float), c_void_p, c_int32),
        # KV cache
        llama_get_memory=lambda context: context,
        llama_memory_clear=clear,
        llama_memory_seq_rm=sequence_rm,
        llama_memory_seq_cp=function("llama_kv_cache_seq_cp", None, c_void_p, c_int32, c_int32, c_int32, c_int32),
        llama_memory_seq_pos_max=function("llama_kv_cache_seq_pos_max", c_int32, c_void_p, c_int32),
        # states
        llama_state_seq_get_size=lambda context, sequence: state_size(context, sequence, NO_FLAGS),
        llama_state_seq_get_data=lambda context, to, size, sequence: state_get(context, to, size, sequence, NO_FLAGS),
        llama_state_seq_set_data=lambda context, of, size, sequence: state_set(context, of, size, sequence, NO_FLAGS),
        llama_state_seq_save_file=function(
            "llama_state_seq_save_file", c_size_t, c_void_p, c_char_p, c_int32, TOKENS, c_size_t
        ),
        llama_state_seq_load_file=function(
            "llama_state_seq_load_file", c_size_t, c_void_p, c_char_p, c_int32, TOKENS, c_size_t, POINTER(c_size_t)
        ),
    )


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
    features = function_finder(open_library().code)("llama_print_system_info", c_char_p)().decode().strip()
    products = f" with {own_code.products.name} products {own_code.checksum}" if own_code and own_code.products else ""
    return f"{PACKAGE} {version()} {checksum()}{products}; {features}"


def version() -> str:
    """Return the version of the Python package."""
    open_library()
    from ik_llama_cpp import __version__

    return str(__version__)


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
