"""Reads a GGUF file's weights as arrays, and writes arrays into a file with the same metadata."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from common.failures import CommandFailure
from common.files import replace_file
from engine.speculative.mid_layer import EXIT_LAYER_KEY
from models.header import Header

Arrays = dict[str, NDArray[np.float32]]
QUANTISED = {  # by name: type of the file, and type of its matrices
    "Q8_0": (gguf.LlamaFileType.MOSTLY_Q8_0, gguf.GGMLQuantizationType.Q8_0),
    "F16": (gguf.LlamaFileType.MOSTLY_F16, gguf.GGMLQuantizationType.F16),
}
OURS = {"general.architecture", "general.file_type", "general.quantization_version", EXIT_LAYER_KEY}  # set by `_write`


def read_weights(path: Path) -> Arrays:
    """Return every tensor by name, dequantised, slowest dimension first. Raises Failure."""
    try:
        reader = gguf.GGUFReader(path)
        return {
            tensor.name: np.ascontiguousarray(
                gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(tuple(reversed(tensor.shape.tolist()))),
                dtype=np.float32,
            )
            for tensor in reader.tensors
        }
    except NotImplementedError as error:
        sentence = (
            f"{path.name} has weights of a kind that cannot be taken apart ({error}). Train from an F16 or Q8_0 file."
        )
        raise CommandFailure("not_supported", sentence) from error
    except (OSError, ValueError) as error:
        raise CommandFailure("bad_model", f"{path.name} cannot be read: {error}.") from error


def write_weights(path: Path, like: Path, weights: Mapping[str, NDArray[np.float32]], layer: int) -> None:
    """Write an F32 file with the metadata of `like` and the number of layers that draft, replacing `path` atomically.

    Raises Failure if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        _write(Path(name), gguf.GGUFReader(like), weights, layer)
        move_into_place(Path(name), path)
    except OSError as error:
        raise CommandFailure("unwritable", f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        Path(name).unlink(missing_ok=True)


def _write(path: Path, reader: gguf.GGUFReader, weights: Mapping[str, NDArray[np.float32]], layer: int) -> None:
    writer = gguf.GGUFWriter(path, _contents(reader, "general.architecture"))
    for field in reader.fields.values():
        if field.name in OURS or field.name.startswith("GGUF."):
            continue
        kind = field.types[0]
        of = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=of)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_uint32(EXIT_LAYER_KEY, layer)
    for name, array in weights.items():
        writer.add_tensor(name, np.ascontiguousarray(array, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _contents(reader: gguf.GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    return field.contents() if field else None


def file_type(path: Path) -> int:
    """Return llama.cpp's number for the file's quantisation; that of F16 if the file does not say."""
    number = _contents(gguf.GGUFReader(path), "general.file_type")
    return int(number) if number is not None else int(gguf.LlamaFileType.MOSTLY_F16)


def move_into_place(source: Path, path: Path) -> None:
    """Flush a finished file to disk, and move it to `path`."""
    with source.open("r+b") as file:  # Windows flushes only what may be written
        os.fsync(file.fileno())
    source.chmod(0o644)
    replace_file(source, path)


def stored_types(header: Header, quantise: str | None) -> tuple[int, dict[str, int]]:
    """Return llama.cpp's number for the quantisation, and the ggml type of each tensor.

    `quantise` is a name of QUANTISED; None means the quantisation of the model's own file.
    """
    if quantise is None:
        return file_type(header.path), {tensor.name: tensor.type for tensor in header.tensors}
    of_file, of_matrix = QUANTISED[quantise]
    return int(of_file), {
        tensor.name: int(of_matrix) if len(tensor.shape) > 1 else tensor.type for tensor in header.tensors
    }
