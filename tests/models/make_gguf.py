"""Writes small GGUF files for the tests: real headers, a few weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np

TOKENS = ("<s>", "</s>", "a", "b", "日本")


def make_gguf(
    path: Path,
    name: str = "Small bird",
    tokens: Sequence[str] = TOKENS,
    rows: int = 64,
    template: str | None = "{{ messages }}",
    licence: str = "apache-2.0",
    padding: int = 0,
    architecture: str = "llama",
    **metadata: bool | int,
) -> Path:
    """Write a GGUF file with `rows` × 32 weights and return its path; `padding` tokens follow those in `tokens`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(name)
    writer.add_license(licence)
    writer.add_context_length(2048)
    writer.add_file_type(15)
    if template:
        writer.add_chat_template(template)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*tokens, *(f"<pad{i}>" for i in range(padding))])
    writer.add_token_types([3, 3, *[1] * (len(tokens) - 2), *[5] * padding])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    for key, value in metadata.items():
        key = key.replace("__", ".")
        writer.add_bool(key, value) if isinstance(value, bool) else writer.add_uint32(key, value)
    writer.add_tensor("token_embd.weight", np.zeros((rows, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
