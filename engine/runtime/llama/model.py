"""A model file loaded by llama.cpp, or quantised by it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.runtime.capi.model import CModel, ModelFile
from engine.runtime.llama.library import lib, log, opened
from models.failures import Failure

LOAD_READ, LOAD_MMAP = 0, 1  # llama_load_mode
ALIGNMENT = 32  # bytes: TENSOR_ALIGNMENT of ggml, which aborts the process where a mapping's first tensor has another


class Model(CModel):
    """Loads `file`; `progress` gets the loaded fraction and returns False to stop the loading (raises Stopped).

    `repack`: keep a copy of the weights in the order this processor computes fastest (1.2 times as fast). `mmap`: map
    the file instead of reading it; mapped weights stay resident beside their repacked copy, read ones do not. `dry`:
    header and vocabulary only; such a model cannot run.
    """

    def __init__(
        self,
        file: ModelFile,
        progress: Callable[[float], bool] = lambda _fraction: True,
        *,
        repack: bool = True,
        mmap: bool = True,
        dry: bool = False,
    ) -> None:
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = repack
        params.load_mode = LOAD_MMAP if mmap and not dry else LOAD_READ
        params.no_alloc = dry
        super().__init__(lib, log, "llama.cpp", file, params, progress)

    def adapt(self, params: Any) -> None:
        """Some files keep their weights closer together than ggml wants them in a mapping."""
        for part in self.parts:
            if any((part.data_offset + tensor.offset) % ALIGNMENT for tensor in part.tensors):
                params.load_mode = LOAD_READ


def quantise(source: Path, path: Path, file_type: int, threads: int) -> None:
    """`file_type`: llama.cpp's number for a kind of quantisation (llama_ftype). Raises Failure."""
    params = opened().llama_model_quantize_default_params()
    params.ftype, params.nthread = file_type, threads
    with log.errors() as errors:
        result = opened().llama_model_quantize(str(source).encode(), str(path).encode(), ctypes.byref(params))
    if result:
        sentence = f"llama.cpp could not quantise {source.name}. Is there room on the disk for it?"
        raise Failure("not_quantised", sentence, "\n".join(errors))
