"""A model file loaded by ik_llama.cpp."""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.runtime.capi.model import CModel, ModelFile
from engine.runtime.ik.faults import most_at_once
from engine.runtime.ik.library import lib, log
from engine.runtime.ik.output_head import OutputHead
from models.header import Header

PROMPT_PASS = 128  # tokens: larger ones read prompts no faster (1.5B model), and their buffers take more memory


def largest_pass(header: Header) -> int:
    """Tokens of the largest pass that is worth running and can be trusted."""
    return min(PROMPT_PASS, most_at_once(header))


class IkModel(CModel):
    """Loads `file`; `progress` gets the loaded fraction and returns False to stop the loading (raises Stopped).

    `repack`: put the weights, in place, into the order this processor computes fastest; the file is read, not mapped.
    `rough`: rearrange the output head of a repacked model, so that a step need not read all of it (`OutputHead`).
    `mmap`: map the file where it is not repacked. `dry`: header and vocabulary only; such a model cannot run."""

    def __init__(
        self,
        file: ModelFile,
        progress: Callable[[float], bool] = lambda _fraction: True,
        *,
        repack: bool = True,
        rough: bool = True,
        mmap: bool = False,
        dry: bool = False,
    ) -> None:
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        params.repack_tensors = repack and not dry  # what was not loaded would be, too
        params.use_mmap = mmap and not repack and not dry
        params.dry_run = dry
        self.head: OutputHead | None = None
        super().__init__(lib, log, "ik_llama.cpp", file, params, progress)
        if params.repack_tensors and rough:
            self.head = OutputHead.of(self.pointer, self.vocabulary.n_tokens)

    @property
    def n_params(self) -> int:
        """The library counts a head that shares the embeddings' weights twice."""
        return sum(math.prod(tensor.shape) for tensor in self.header.tensors)

    def close(self) -> None:
        """Free head and weights."""
        if self.head:
            self.head.close()
            self.head = None
        super().close()
