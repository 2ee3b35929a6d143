"""The libraries that can compute a model, each imported only when it is chosen: a process must load no second one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from engine.capi.model import CModel
from engine.capi.target import CTarget
from models.failures import Failure

BackendName = Literal["llama", "ik"]
NAMES: tuple[BackendName, ...] = ("llama", "ik")


@dataclass(frozen=True, slots=True)
class Backend:
    """`load(path, progress, repack=…, mmap=…)` makes a model, `target(model, options, stop, folder)` its target.

    `build` tells apart what was timed or saved with one library from what another one would do."""

    load: Callable[..., CModel]
    target: Callable[..., CTarget]
    build: str


def backend(name: BackendName) -> Backend:
    """Loads the library. Raises Failure where it is not installed."""
    if name == "llama":
        from engine.llama.library import build
        from engine.llama.model import Model
        from engine.llama.target import LlamaTarget

        return Backend(Model, LlamaTarget, build())
    if find_spec("ik_llama_cpp") is None:
        raise Failure("no_backend", "ik_llama.cpp is not installed: there is no wheel of it for this computer.")
    from engine.ik.library import build as ik_build
    from engine.ik.model import IkModel
    from engine.ik.target import IkTarget

    return Backend(IkModel, IkTarget, ik_build())
