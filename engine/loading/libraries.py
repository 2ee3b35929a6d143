"""The libraries that can compute a model, each imported only when it is chosen: a process must load no second one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol import BackendName
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import DrySizes, KVMode
from engine.runtime.interface import Runtime
from engine.tokenization.tokens import ModelVocabulary

NAMES: tuple[BackendName, ...] = ("llama", "ik", "graph")
SHOWN: dict[BackendName, str] = {"llama": "llama.cpp", "ik": "ik_llama.cpp", "graph": "the built-in engine"}
PACKAGES: dict[BackendName, str] = {"llama": "llama-cpp-python", "ik": "ik-llama-cpp-python"}
BESIDE: dict[BackendName, BackendName] = {"graph": "llama"}  # computes with functions of the same loaded library
IMPORTED: dict[str, BackendName] = {"llama_cpp": "llama", "ik_llama_cpp": "ik"}  # both define the same C symbols


@dataclass(frozen=True, slots=True)
class Backend:
    """`load(file, progress, repack=…, mmap=…)` makes a model, `target(model, options, stop, folder)` its target, and
    `dry(file, flash_attention)` tells its sizes without room for it; `file` is its path, or its files' headers.

    `lossy_note(model, mode)`: what the user should know of a lossy way to keep keys and values.
    `build` tells apart what was timed or saved with one library from what another one would do; `kernels`: which of
    its variants for kinds of processors computes."""

    name: BackendName
    load: Callable[..., CModel]
    target: Callable[..., Runtime]
    dry: Callable[..., DrySizes]
    build: str
    kernels: str
    lossy_note: Callable[[CModel, KVMode], Sentence | None] = lambda _model, _mode: None


class OtherLibrary(Exception):
    """This process holds another library than `wanted`: a new process must do it."""

    def __init__(self, wanted: BackendName) -> None:
        super().__init__(f"this process holds another library than {SHOWN[wanted]}")
        self.wanted = wanted


def held() -> BackendName | None:
    """The library that this process has imported."""
    return next((name for module, name in IMPORTED.items() if module in sys.modules), None)


def installed(name: BackendName) -> bool:
    """Is it there now? llama.cpp may come while this process runs: it is compiled where Chickadee is set up."""
    library = BESIDE.get(name, name)
    return any(find_spec(module) is not None for module, other in IMPORTED.items() if other == library)


def usual() -> BackendName:
    """The library for what any of them can do: llama.cpp, or ik_llama.cpp until that is there."""
    return "llama" if installed("llama") or not installed("ik") else "ik"


def takes_new_process(name: BackendName) -> bool:
    """Does this process hold another library than the one that `name` computes with?"""
    return held() not in (None, BESIDE.get(name, name))


def backend(name: BackendName) -> Backend:
    """Loads the library. Raises OtherLibrary, and Failure where it is not installed."""
    if takes_new_process(name):
        raise OtherLibrary(name)
    if not installed(name):
        raise Failure("no_backend.ik" if name == "ik" else "no_backend.llama")
    if name == "llama":
        from engine.runtime.llama.library import build, kernels
        from engine.runtime.llama.runtime import DryModel, LlamaRuntime, Model

        return Backend(name, Model, LlamaRuntime, DryModel, build(), kernels())
    if name == "graph":
        from engine.runtime.graph.model import GraphModel
        from engine.runtime.graph.modes import DryGraph, lossy_note
        from engine.runtime.graph.modes import build as graph_build
        from engine.runtime.graph.runtime import GraphRuntime
        from engine.runtime.llama.library import kernels

        return Backend(name, GraphModel, GraphRuntime, DryGraph, graph_build(), kernels(), lossy_note)
    from engine.runtime.ik.dry import IkDryModel
    from engine.runtime.ik.library import build as ik_build
    from engine.runtime.ik.library import kernels as ik_kernels
    from engine.runtime.ik.runtime import IkModel, IkRuntime

    return Backend(name, IkModel, IkRuntime, IkDryModel, ik_build(), ik_kernels())


@contextmanager
def vocabulary(path: Path, name: BackendName = "llama") -> Iterator[ModelVocabulary]:
    """Of the model file at `path`, whose weights are not loaded. Raises as `backend`, and Failure for no model."""
    with closing(backend(name).load(path, dry=True)) as model:
        yield model.vocabulary
