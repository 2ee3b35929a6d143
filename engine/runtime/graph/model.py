"""A model file loaded by our own code: its weights as ggml tensors, mapped or read, and repacked for this processor.

llama.cpp reads the vocabulary and the chat template and checks the shapes. Repacked weights are copied out of the file
once; their pages in the mapping are released right afterwards, so that a mapped file takes no memory twice.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from common.failures import Failure
from common.files import open_file
from engine.runtime.capi.model import ModelFile
from engine.runtime.graph.dimensions import dimensions_of, refusal
from engine.runtime.graph.ggml import ALIGNMENT, Buffer, MappedBuffer, data_bytes, plain_memory, set_data
from engine.runtime.llama.repack import EMBEDDING, HEAD, TensorContext, extra_buffer_type, multiplied_weights
from engine.runtime.llama.runtime import Model
from engine.stop import Stopped
from models.header import Header
from models.tensors import TensorInfo


class Weights:
    """A model's weights as tensors, with the mapping, buffers and contexts that they live in.

    A model with tied embeddings gets its output head under the name `output.weight` too.
    """

    def __init__(self, header: Header, repack: bool, mmap: bool, progress: Callable[[float], bool]) -> None:
        """Load all weights; `progress` gets the loaded fraction.

        Raises Failure, and Stopped when `progress` returns False.
        """
        self._header = header
        self._tensors: dict[str, Any] = {}
        self._opened = ExitStack()  # closes the tensors' buffers before their contexts and the mapping
        self._source = self._opened.enter_context(closing(_Source(header)))
        self._to_copy: list[tuple[Any, TensorInfo]] = []  # (tensor, its place in the file)
        try:
            self._create_tensors(repack, mmap)
            self._copy_data(progress)
        except MemoryError as error:
            self.close()
            raise Failure("out_of_memory.weights", name=header.path.name) from error
        except BaseException:
            self.close()
            raise
        if not mmap:
            self._source.close()

    def find(self, name: str) -> Any:
        """Return the tensor of that name; None if the model has none."""
        return self._tensors.get(name)

    def _create_tensors(self, repack: bool, mapped: bool) -> None:
        kinds = self._repack_types() if repack else {}
        groups: dict[Any, list[tuple[str, TensorInfo]]] = {}
        for tensor in self._header.tensors:
            kind = kinds.get(tensor.name)
            if kind is None:
                kind = None if mapped and self._source.is_aligned(tensor) else plain_memory()
            groups.setdefault(kind, []).append((tensor.name, tensor))
        if HEAD in kinds and HEAD not in {tensor.name for tensor in self._header.tensors}:
            embedding = next(tensor for tensor in self._header.tensors if tensor.name == EMBEDDING)
            groups.setdefault(kinds[HEAD], []).append((HEAD, embedding))
        for kind, members in groups.items():
            self._create_buffer(kind, members)
        self._tensors.setdefault(HEAD, self._tensors[EMBEDDING])

    def _repack_types(self) -> dict[str, Any]:
        """Return the buffer types of the weights that this processor wants repacked, by tensor name."""
        weights = multiplied_weights(self._header).items()
        kinds = {name: extra_buffer_type(tensor.type, tensor.shape) for name, tensor in weights}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    def _create_buffer(self, kind: Any, members: list[tuple[str, TensorInfo]]) -> None:
        """Create tensors in one buffer of type `kind`; None stands for the file's own mapping."""
        context = self._opened.enter_context(closing(TensorContext(len(members))))
        made = [(name, tensor, context.new(tensor.type, *tensor.shape)) for name, tensor in members]
        if kind is None:
            mapped = MappedBuffer(self._source.address, self._source.size)
            buffer: Buffer = mapped
            for _, tensor, pointer in made:
                self._source.check_complete(tensor, data_bytes(pointer))
                mapped.put(pointer, self._source.address_of(tensor))
        else:
            buffer = Buffer(context, kind)
            self._to_copy += [(pointer, tensor) for _, tensor, pointer in made]
        self._opened.callback(buffer.free)
        buffer.holds_weights()
        self._tensors.update((name, pointer) for name, _, pointer in made)

    def _copy_data(self, progress: Callable[[float], bool]) -> None:
        total = sum(data_bytes(pointer) for pointer, _ in self._to_copy)
        done = 0
        for pointer, tensor in self._to_copy:
            if not progress(done / total):
                raise Stopped
            size = data_bytes(pointer)
            self._source.check_complete(tensor, size)
            set_data(pointer, self._source.address_of(tensor), size)
            if tensor.name != EMBEDDING:
                self._source.release_pages(tensor, size)
            done += size
        if not progress(1.0):
            raise Stopped

    def close(self) -> None:
        """Free all tensors; the model cannot run any more."""
        self._opened.close()


class _Source:
    """The memory-mapped model file."""

    def __init__(self, header: Header) -> None:
        self.header = header
        with open_file(header.path) as file:
            self.mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.bytes: Any = np.frombuffer(self.mapping, np.uint8)
        self.address: int = self.bytes.ctypes.data
        self.size = len(self.bytes)

    def address_of(self, tensor: TensorInfo) -> int:
        return self.address + self.header.data_offset + tensor.offset

    def is_aligned(self, tensor: TensorInfo) -> bool:
        """Return whether ggml can compute with the tensor in place; some files pack their weights closer together."""
        return self.address_of(tensor) % ALIGNMENT == 0

    def check_complete(self, tensor: TensorInfo, size: int) -> None:
        if self.header.data_offset + tensor.offset + size > self.size:
            name = self.header.path.name
            raise Failure("bad_model.incomplete", name=name)

    def release_pages(self, tensor: TensorInfo, size: int) -> None:
        """Release the file pages that hold only this tensor's data from resident memory."""
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
    """A model for our own graph: `weights` holds our tensors, llama.cpp's model has the vocabulary only.

    It is loaded from `file` like `engine.runtime.llama.runtime.Model`.
    """

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
        if self.pointer:
            self.weights.close()
        super().close()
