"""A model file loaded by ik_llama.cpp."""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.runtime.capi.model import CModel, ModelFile
from engine.runtime.ik.library import lib, log, native, opened
from engine.runtime.ik.native import OutputHead
from models.header import Header

PROMPT_PASS = 128  # tokens: larger ones read prompts no faster (1.5B model), and their buffers take more memory
# From 32 tokens on, rows of these types are first turned into Q8_1, whose kernel (`mul_mat_q8_1_r8_q8_2`) takes four
# blocks of 32 numbers at a time and leaves out what remains: rows of 576 numbers lose 64, and answers their sense.
LOSES_THE_REST = {3, 7}  # ggml_type: Q4_1, Q5_1
AT_A_TIME = 128  # numbers
MOST_WITHOUT = 31  # tokens of a pass that is right

HEAD = "output.weight"  # a model that has none takes the embeddings' weights, which are not repacked
Q6_K = 14  # ggml_type


def largest_pass(header: Header) -> int:
    """Tokens of the largest pass that is worth running and whose results can be trusted."""
    wrong = any(t.type in LOSES_THE_REST and len(t.shape) > 1 and t.shape[0] % AT_A_TIME for t in header.tensors)
    return min(PROMPT_PASS, MOST_WITHOUT) if wrong else PROMPT_PASS


def room_bytes(header: Header) -> int:
    """What an output head that is read in two parts takes beside its weights."""
    own = native()
    head = next((tensor for tensor in header.tensors if tensor.name == HEAD and tensor.type == Q6_K), None)
    return int(own.code.output_head_room(*head.shape)) if own and own.has_products and head else 0


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
            weights = opened().functions.llama_get_model_tensor(self.pointer, HEAD.encode())
            self.head = OutputHead.of(native(), weights, self.vocabulary.n_tokens)

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
