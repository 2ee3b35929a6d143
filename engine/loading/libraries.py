"""The libraries that can compute a model. Each is imported only when it is chosen: a process must never load two."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence
from engine.base import OtherLibrary
from engine.protocol.requests import BackendName
from engine.runtime.capi.context import CContext
from engine.runtime.capi.model import CDryModel, CModel
from engine.runtime.contexts import ContextOptions, KVMode
from engine.runtime.interface import Runtime
from engine.stop import StopFlag
from engine.tokenization.tokens import ModelVocabulary
from models.projector import Projector

BACKENDS: tuple[BackendName, ...] = ("llama", "ik", "graph")
BACKEND_TITLES: dict[BackendName, str] = {"llama": "llama.cpp", "ik": "ik_llama.cpp", "graph": "the built-in engine"}
PACKAGES: dict[BackendName, str] = {"llama": "llama-cpp-python", "ik": "ik-llama-cpp-python"}
SHARED_LIBRARY: dict[BackendName, BackendName] = {"graph": "llama"}  # our graph computes with llama.cpp's functions
MODULES: dict[str, BackendName] = {"llama_cpp": "llama", "ik_llama_cpp": "ik"}  # both define the same C symbols


@dataclass(frozen=True, slots=True)
class Backend:
    """A library that computes models, as functions of its runtime package.

    `load(file, progress, repack=…, mmap=…)` makes a model, `target(model, options, stop, folder)` its target, and
    `dry(file, flash_attention)` its sizes without allocating memory for them; `file` is its path, or its files'
    headers.

    `build` identifies the library's build: timings and saved chats of one build are not valid for another. `kernels`
    names the variant of the library, among those for kinds of processors, that computes. `load_plain` makes a model of
    which `embedding_context(model, options, stop)` can make a context; `load_embedder` an embedding model.
    `lossy_note(model, mode)`: what the user should know of a lossy way to keep keys and values.
    """

    name: BackendName
    load: Callable[..., CModel]
    target: Callable[..., Runtime]
    dry: Callable[..., CDryModel]
    build: str
    kernels: str
    load_plain: Callable[..., CModel]
    load_embedder: Callable[..., CModel]
    embedding_context: Callable[[CModel, ContextOptions, StopFlag], CContext]
    lossy_note: Callable[[CModel, KVMode], Sentence | None] = lambda _model, _mode: None

    def open_eyes(self, target: Runtime, projector: Projector, threads: int, stop: StopFlag) -> None:
        """Give the target of this library, which must be llama.cpp, a projector; it is loaded at the first picture."""
        from engine.runtime.llama.runtime import LlamaRuntime
        from engine.runtime.llama.vision import Vision

        assert isinstance(target, LlamaRuntime), self.name
        target.vision = Vision(target.model, projector, threads, stop)


def imported_library() -> BackendName | None:
    """Return the library that this process has imported; None before the first import."""
    return next((name for module, name in MODULES.items() if module in sys.modules), None)


def installed(name: BackendName) -> bool:
    """Return whether the library can be imported now.

    llama.cpp may appear while this process runs, because the set-up compiles it.
    """
    library = SHARED_LIBRARY.get(name, name)
    return any(find_spec(module) is not None for module, other in MODULES.items() if other == library)


def can_see() -> bool:
    """Return whether the installed llama.cpp has libmtmd, which makes embeddings of pictures."""
    spec = find_spec("llama_cpp")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return any(any(Path(folder, "lib").glob("*mtmd.*")) for folder in folders)


def default_library() -> BackendName:
    """Return the library for work that any library can do: llama.cpp, or ik_llama.cpp before llama.cpp is installed."""
    return "llama" if installed("llama") or not installed("ik") else "ik"


def needs_new_process(name: BackendName) -> bool:
    """Return whether this process holds another library than the one that `name` computes with."""
    return imported_library() not in (None, SHARED_LIBRARY.get(name, name))


def llama_missing(reason: Sentence | None = None) -> Failure:
    """Return the Failure for llama.cpp that is not here; `reason` says why ik_llama.cpp does not do.

    In a checkout it may not be compiled yet; a packaged program contains it.
    """
    if getattr(sys, "frozen", False):
        return Failure("no_backend.packaged")
    return Failure("no_backend.for_model", reason=reason) if reason else Failure("no_backend.llama")


def backend(name: BackendName) -> Backend:
    """Import the library and return it. Raises OtherLibrary, and Failure if it is not installed."""
    if needs_new_process(name):
        raise OtherLibrary(name)
    if not installed(name):
        raise Failure("no_backend.ik") if name == "ik" else llama_missing()
    if name == "llama":
        from engine.runtime.llama.library import build, kernels
        from engine.runtime.llama.runtime import DryModel, EmbeddingModel, LlamaRuntime, Model, embedding_context

        embedding = (Model, EmbeddingModel, embedding_context)
        return Backend(name, Model, LlamaRuntime, DryModel, build(), kernels(), *embedding)
    if name == "graph":
        from engine.runtime.graph.model import GraphModel
        from engine.runtime.graph.modes import DryGraph, graph_build, lossy_note
        from engine.runtime.graph.runtime import GraphRuntime
        from engine.runtime.llama.library import kernels
        from engine.runtime.llama.runtime import EmbeddingModel, Model, embedding_context

        embedding = (Model, EmbeddingModel, embedding_context)
        return Backend(name, GraphModel, GraphRuntime, DryGraph, graph_build(), kernels(), *embedding, lossy_note)
    from engine.runtime.ik.dry import IkDryModel
    from engine.runtime.ik.library import build as ik_build
    from engine.runtime.ik.library import kernels as ik_kernels
    from engine.runtime.ik.runtime import IkEmbeddingModel, IkModel, IkRuntime
    from engine.runtime.ik.runtime import embedding_context as ik_embedding_context

    ik_embedding = (IkModel, IkEmbeddingModel, ik_embedding_context)
    return Backend(name, IkModel, IkRuntime, IkDryModel, ik_build(), ik_kernels(), *ik_embedding)


@contextmanager
def vocabulary(path: Path, name: BackendName = "llama") -> Iterator[ModelVocabulary]:
    """Open the vocabulary of the model file at `path` without loading its weights.

    Raises what `backend` raises, and Failure for a file that is no model.
    """
    with closing(backend(name).load(path, dry=True)) as model:
        yield model.vocabulary
