"""A model file loaded by our own code: its weights as ggml tensors, mapped or read, and in the processor's order.

llama.cpp reads its vocabulary and its template and checks its shapes. What is repacked is copied out of the file once;
its pages in the mapping are given back at once, so that a mapped file takes no memory twice.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np

from common.failures import Failure
from common.files import open_file
from engine.runtime.capi.model import ModelFile
from engine.runtime.graph.dimensions import dimensions_of, refusal
from engine.runtime.graph.ggml import ALIGNMENT, Buffer, Context, MappedBuffer, data_bytes, plain_memory, set_data
from engine.runtime.llama.repack import EMBEDDING, HEAD, extra_buffer_type, multiplied
from engine.runtime.llama.runtime import Model
from engine.stop import Stopped
from models.header import Header
from models.tensors import TensorInfo


class Weights:
    """`find(name)` is a tensor's address. Owns mapping, buffers and descriptions; a tied head is `output.weight`."""

    def __init__(self, header: Header, repack: bool, mmap: bool, progress: Callable[[float], bool]) -> None:
        """Raises Failure, and Stopped when `progress`, which gets the loaded fraction, returns False."""
        self._header = header
        self._tensors: dict[str, Any] = {}
        self._contexts: list[Context] = []
        self._buffers: list[Buffer] = []
        self._source = _Source(header)
        self._sources: list[tuple[Any, TensorInfo]] = []  # to be copied
        try:
            self._make(repack, mmap)
            self._copy(progress)
        except MemoryError as error:
            self.close()
            raise Failure("out_of_memory.weights", name=header.path.name) from error
        except BaseException:
            self.close()
            raise
        if not mmap:
            self._source.close()

    def find(self, name: str) -> Any:
        """None if the model has no such weights."""
        return self._tensors.get(name)

    def _make(self, repack: bool, mapped: bool) -> None:
        kinds = self._kinds() if repack else {}
        groups: dict[Any, list[tuple[str, TensorInfo]]] = {}
        for tensor in self._header.tensors:
            kind = kinds.get(tensor.name)
            if kind is None:
                kind = None if mapped and self._source.aligned(tensor) else plain_memory()
            groups.setdefault(kind, []).append((tensor.name, tensor))
        if HEAD in kinds and HEAD not in {tensor.name for tensor in self._header.tensors}:
            embedding = next(tensor for tensor in self._header.tensors if tensor.name == EMBEDDING)
            groups.setdefault(kinds[HEAD], []).append((HEAD, embedding))
        for kind, members in groups.items():
            self._group(kind, members)
        self._tensors.setdefault(HEAD, self._tensors[EMBEDDING])

    def _kinds(self) -> dict[str, Any]:
        """The buffer types of the weights that are repacked."""
        known: dict[tuple[int, tuple[int, ...]], Any] = {}
        for tensor in multiplied(self._header).values():
            key = (tensor.type, tensor.shape)
            if key not in known:
                known[key] = extra_buffer_type(tensor)
        kinds = {name: known[tensor.type, tensor.shape] for name, tensor in multiplied(self._header).items()}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    def _group(self, kind: Any, members: list[tuple[str, TensorInfo]]) -> None:
        """Tensors in one buffer: of a type, or, for None, the file's own mapping."""
        context = Context(len(members))
        self._contexts.append(context)
        made = [(name, tensor, context.new(tensor.type, *tensor.shape)) for name, tensor in members]
        if kind is None:
            buffer = MappedBuffer(self._source.address, self._source.size)
            for _, tensor, pointer in made:
                self._source.check(tensor, data_bytes(pointer))
                buffer.put(pointer, self._source.at(tensor))
            self._buffers.append(buffer)
        else:
            self._buffers.append(Buffer(context, kind))
            self._sources += [(pointer, tensor) for _, tensor, pointer in made]
        self._buffers[-1].holds_weights()
        self._tensors.update((name, pointer) for name, _, pointer in made)

    def _copy(self, progress: Callable[[float], bool]) -> None:
        total = sum(data_bytes(pointer) for pointer, _ in self._sources)
        done = 0
        for pointer, tensor in self._sources:
            if not progress(done / total):
                raise Stopped
            size = data_bytes(pointer)
            self._source.check(tensor, size)
            set_data(pointer, self._source.at(tensor), size)
            if tensor.name != EMBEDDING:
                self._source.give_back(tensor, size)
            done += size
        if not progress(1.0):
            raise Stopped

    def close(self) -> None:
        """Free all tensors; the model cannot run any more."""
        for buffer in self._buffers:
            buffer.free()
        for context in self._contexts:
            context.free()
        self._buffers, self._contexts = [], []
        self._source.close()


class _Source:
    """The mapped file."""

    def __init__(self, header: Header) -> None:
        self.header = header
        with open_file(header.path) as file:
            self.mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.bytes: Any = np.frombuffer(self.mapping, np.uint8)
        self.address: int = self.bytes.ctypes.data
        self.size = len(self.bytes)

    def at(self, tensor: TensorInfo) -> int:
        return self.address + self.header.data_offset + tensor.offset

    def aligned(self, tensor: TensorInfo) -> bool:
        """Some files keep their weights closer together than ggml computes with."""
        return self.at(tensor) % ALIGNMENT == 0

    def check(self, tensor: TensorInfo, size: int) -> None:
        if self.header.data_offset + tensor.offset + size > self.size:
            name = self.header.path.name
            raise Failure("bad_model.incomplete", name=name)

    def give_back(self, tensor: TensorInfo, size: int) -> None:
        """Whole pages that only this tensor lies in are no longer resident."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        begin = self.header.data_offset + tensor.offset
        first, last = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE, (begin + size) // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            self.mapping.madvise(mmap.MADV_DONTNEED, first, last - first)

    def close(self) -> None:
        if self.bytes is not None:
            self.bytes = None
            self.mapping.close()


class GraphModel(Model):
    """Loads `file` as `engine.runtime.llama.runtime.Model` does; its llama_model has no weights, `weights` has them."""

    def __init__(
        self,
        file: ModelFile,
        progress: Callable[[float], bool] = lambda _fraction: True,
        *,
        repack: bool = True,
        mmap: bool = True,
    ) -> None:
        super().__init__(file, progress, dry=True)
        try:
            if reason := refusal(self.header):
                raise Failure("not_supported.model", reason=reason)
            self.dimensions = dimensions_of(self.header)
            self.weights = Weights(self.header, repack, mmap, progress)
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        """Free the weights and the vocabulary."""
        if self.pointer:
            self.weights.close()
        super().close()
