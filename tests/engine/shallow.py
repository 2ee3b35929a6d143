"""The default model with 8 of its 30 layers: real weights and words, passes and loads of a fraction of the time.

Its text makes no sense, but does not repeat itself, as it does with other layers. The model is for tests that compare:
one library with another, or a saved chat with a chat that was read again.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import gguf
from filelock import FileLock

from models.default import default_model

LAYERS = (0, 1, 2, 3, 4, 5, 28, 29)
FOLDER = Path(__file__).parents[2] / "build" / "tests"


def shallow_model() -> Path:
    """Return the model's path; the file is written once into `build` for all test processes."""
    whole = default_model()
    path = FOLDER / f"shallow-{len(LAYERS)}-{whole.stat().st_size}-Q4_1.gguf"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):  # a second process that replaced the file would change its identity
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                os.replace(_write(whole, Path(folder) / "shallow.gguf"), path)
    return path


def _write(whole: Path, path: Path) -> Path:
    reader = gguf.GGUFReader(whole)
    writer = gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == gguf.Keys.General.ARCHITECTURE:
            continue
        value = len(LAYERS) if field.name == "llama.block_count" else field.contents()
        writer.add_key_value(field.name, value, field.types[0], sub_type=field.types[-1])
    for tensor in reader.tensors:
        kind, _, rest = tensor.name.partition(".")
        if kind != "blk":
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
            continue
        layer, _, part = rest.partition(".")
        if int(layer) in LAYERS:
            writer.add_tensor(f"blk.{LAYERS.index(int(layer))}.{part}", tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
