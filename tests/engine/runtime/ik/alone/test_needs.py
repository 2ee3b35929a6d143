"""The architectures that ik_llama.cpp knows: the library itself is given a file of each."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import gguf

from engine.runtime.ik.library import lib, log
from engine.runtime.ik.needs import ARCHITECTURES

STRING = 8  # gguf's number of that type


def is_known(architecture: str, path: Path) -> bool:
    """Return whether the library knows an architecture, from its error about a file that says nothing else.

    A library that knows the architecture complains about missing hyperparameters instead of an unknown architecture.
    """
    key, value = (struct.pack("<Q", len(text)) + text.encode() for text in ("general.architecture", architecture))
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<I", STRING) + value + bytes(64))
    params = lib.llama_model_default_params()
    params.n_gpu_layers, params.dry_run = 0, True
    with log.errors() as errors:
        assert not lib.llama_model_load_from_file(os.fsencode(path), params)
    unknown, known = (any(words in line for line in errors) for words in ("unknown model architecture", "hyperparam"))
    assert unknown != known, errors
    return known


def test_the_list_is_the_librarys(tmp_path):
    candidates = ARCHITECTURES.union(gguf.MODEL_ARCH_NAMES.values(), ("dodo",))
    assert {name for name in candidates if is_known(name, tmp_path / "model.gguf")} == ARCHITECTURES
