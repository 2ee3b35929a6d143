"""Tests that a copy with fewer layers is a model with the original's weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import gguf
import pytest

from models.default import default_model
from models.fewer_layers import selectable_layers, write_with_fewer_layers
from models.header import Header, read_header
from models.shapes import shapes_of
from models.tensors import TensorInfo, tensor_bytes
from models.token_list import read_token_list
from models.validation import checked_headers


@pytest.fixture(scope="module")
def whole() -> Header:
    return read_header(default_model())


def weights(header: Header, tensor: TensorInfo) -> bytes:
    with header.path.open("rb") as file:
        file.seek(header.data_offset + tensor.offset)
        return file.read(tensor_bytes(tensor))


def test_it_is_the_model_with_fewer_layers(whole, tmp_path):
    path = tmp_path / "shortened.gguf"
    write_with_fewer_layers(whole, 4, path)
    (short,) = checked_headers(path)
    changed = {key for key, value in whole.metadata.items() if short.metadata.get(key) != value}
    assert changed == {"llama.block_count"}
    assert (selectable_layers(whole), selectable_layers(short)) == (30, 4)
    assert read_token_list(short) == read_token_list(whole)
    assert shapes_of(short).layers == tuple(shapes_of(whole).layers[i] for i in (0, 10, 19, 29))
    assert shapes_of(short).output == shapes_of(whole).output
    theirs = {tensor.name: tensor for tensor in whole.tensors}
    for tensor in short.tensors:
        kind, _, rest = tensor.name.partition(".")
        layer, _, part = rest.partition(".")
        name = f"blk.{(0, 10, 19, 29)[int(layer)]}.{part}" if kind == "blk" else tensor.name
        assert tensor.shape == theirs[name].shape
        assert weights(short, tensor) == weights(whole, theirs[name])
    assert len(gguf.GGUFReader(path).tensors) == len(short.tensors)  # to others too
    assert path.stat().st_size == short.data_offset + max(
        -(-(tensor.offset + tensor_bytes(tensor)) // 32) * 32 for tensor in short.tensors
    )


def test_what_is_said_of_each_layer_cannot_be_shortened(whole):
    lists = {**whole.array_lengths, "llama.attention.head_count_kv": 30}
    assert selectable_layers(dataclasses.replace(whole, array_lengths=lists)) == 0
    assert selectable_layers(dataclasses.replace(whole, array_lengths={**whole.array_lengths, "other.list": 30})) == 30
    assert selectable_layers(dataclasses.replace(whole, metadata={**whole.metadata, "split.count": 2})) == 0
    newer = dataclasses.replace(whole.tensors[0], type=999)
    assert selectable_layers(dataclasses.replace(whole, tensors=(*whole.tensors, newer))) == 0
    assert selectable_layers(dataclasses.replace(whole, metadata={})) == 0


def test_a_file_that_changed_meanwhile_ends_in_an_error(whole, tmp_path):
    other = Path(tmp_path / "other.gguf")
    other.write_bytes(default_model().read_bytes()[:-1000])
    with pytest.raises(OSError, match="became shorter"):
        write_with_fewer_layers(dataclasses.replace(whole, path=other), 4, tmp_path / "one.gguf")
    value_offsets = {**whole.value_offsets, "llama.block_count": whole.value_offsets["llama.block_count"] + 1}
    with pytest.raises(OSError, match="cannot be shortened"):
        write_with_fewer_layers(dataclasses.replace(whole, value_offsets=value_offsets), 4, tmp_path / "two.gguf")
    with pytest.raises(ValueError, match="31 of 30"):
        write_with_fewer_layers(whole, 31, tmp_path / "three.gguf")
