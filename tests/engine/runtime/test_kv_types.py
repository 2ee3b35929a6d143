"""Every type of KV cache with heads of many sizes, on llama.cpp or on another library whose tests import these.

A cache that a library cannot have may end the process, so all of this is computed in this one: an abort is no result.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import get_args

import gguf
import numpy as np
import pytest

from common.failures import Failure
from common.planning import KVType
from engine.loading.libraries import backend
from engine.loading.memory_search import make_plan
from engine.loading.options import LoadOptions
from engine.loading.sizes import MemoryBudget
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import Row
from engine.stop import StopFlag
from tests.engine.altered import write_altered
from tests.engine.asking import library
from tests.engine.runtime.graph.tiny import Shape

F32, Q8_0, Q4_0 = (gguf.GGMLQuantizationType[name] for name in ("F32", "Q8_0", "Q4_0"))
ALL: tuple[KVType, ...] = get_args(KVType)
PROMPT = [5 + i % 200 for i in range(40)]
N_CTX = 512


def possible(head: int) -> tuple[KVType, ...]:
    """Return the types of KV cache that the library can have and that give right answers."""
    if head % 32:
        return ("f16",)
    nonsense = library() == "ik" and head not in (64, 96, 128, 192, 256, 512)
    return ("f16", "q8_0") if nonsense else ALL


@pytest.mark.parametrize(
    ("head", "weights"),
    [
        pytest.param(head, type, id=f"{head}-{type.name}", marks=[] if (i + j) % 3 == 0 else pytest.mark.slow)
        for i, head in enumerate((16, 32, 40, 64, 80, 96, 112, 160, 256))
        for j, type in enumerate((F32, Q8_0, Q4_0))
    ],
)
def test_only_what_the_library_can_do_is_planned_and_it_computes_rightly(head, weights, tmp_path):
    path = write_altered(tmp_path / "model.gguf", shape=Shape(layers=1, head=head, type=weights))
    with backend(library()).dry(path) as sizes:
        assert tuple(kv_type for kv_type in ALL if sizes.context(N_CTX, kv_type, N_CTX)) == possible(head)
        for kv_type in set(ALL) - set(possible(head)):
            with pytest.raises(Failure, match=f"cannot store its KV cache as {kv_type}"):
                make_plan("model", sizes, MemoryBudget(1 << 40, 0), LoadOptions(path, n_ctx=N_CTX, kv_type=kv_type))
        needed = make_plan(
            "model", sizes, MemoryBudget(0, 0), LoadOptions(path, n_ctx=N_CTX, kv_type="f16")
        ).total_bytes
        too_large = "disk" if library() == "llama" else "no"  # ik_llama.cpp never maps what does not fit
        short = make_plan("model", sizes, MemoryBudget(needed - 1, 0), LoadOptions(path, n_ctx=N_CTX))
        assert (short.verdict, short.kv_type) == (("tight", "q8_0") if "q8_0" in possible(head) else (too_large, "f16"))
    with closing(backend(library()).load(path)) as model:
        exact, *others = (last_row(model, kv_type, tmp_path) for kv_type in possible(head))
    assert np.isfinite(exact).all()
    assert all(np.corrcoef(exact, other)[0, 1] > 0.9 for other in others)


def last_row(model: CModel, kv_type: KVType, folder: Path) -> Row:
    """Return the logits after a prompt and one more token."""
    options = ContextOptions(N_CTX, 1, kv_type=kv_type)
    with closing(backend(library()).target(model, options, StopFlag(), folder)) as runtime:
        runtime.forward(PROMPT)
        return runtime.forward([7]).row().copy()
