"""Writes a quantised copy of a model file, by llama.cpp's own quantiser."""

from __future__ import annotations

import ctypes
from pathlib import Path

from engine.runtime.llama.library import log, opened
from models.failures import Failure


def quantise(source: Path, path: Path, file_type: int, threads: int) -> None:
    """`file_type`: llama.cpp's number for a kind of quantisation (llama_ftype). Raises Failure."""
    params = opened().llama_model_quantize_default_params()
    params.ftype, params.nthread = file_type, threads
    with log.errors() as errors:
        result = opened().llama_model_quantize(str(source).encode(), str(path).encode(), ctypes.byref(params))
    if result:
        sentence = f"llama.cpp could not quantise {source.name}. Is there room on the disk for it?"
        raise Failure("not_quantised", sentence, "\n".join(errors))
