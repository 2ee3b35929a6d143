"""The options of loading a model, checked before any file is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self, get_args

from common.failures import Failure
from common.paths import path_of
from common.planning import DEFAULT_KV_TYPE, KVType
from engine.machine import default_threads
from engine.protocol.requests import BackendName, BackendWish, FlashAttention, Load
from engine.protocol.settings import AUTO
from engine.runtime.contexts import EXACT, KVMode, check_kv_type, flash_attention_suffix, make_kv_mode


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """A model's file, `draft` of a smaller model that drafts for it, and options; None leaves a choice to `resolve`.

    `device`: what may compute beside the processor: auto, off, or a part of a device's name; `placed_layers`: the
    number of layers to put on it, 0 for prompts alone; None leaves that to the plan.

    `no_other`: refuse if `backend` cannot compute the model. `n_ctx` is in tokens; `memory_bytes`: the most that the
    engine may take; `api`: whether other programs use it by the local API. Raises ValueError for a value out of range
    and Failure for options that do not go together; the texts of both are for the user.
    """

    path: Path
    draft: Path | None = None
    backend: BackendWish | None = None
    no_other: bool = False
    n_ctx: int | None = None
    kv_type: KVType | None = None
    kv_mode: KVMode = EXACT
    flash_attention: FlashAttention = "auto"
    threads: int | None = None
    memory_bytes: int | None = None
    api: bool = False
    device: str = AUTO
    placed_layers: int | None = None

    def __post_init__(self) -> None:
        assert not self.no_other or self.backend in get_args(BackendName), self
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be 1 or more, not {self.threads}")
        if self.n_ctx is not None and self.n_ctx < 64:
            raise ValueError(f"a context has 64 tokens or more, not {self.n_ctx}")
        if self.memory_bytes is not None and self.memory_bytes < 0:
            raise ValueError(f"memory must be 0 bytes or more, not {self.memory_bytes}")
        if self.kv_mode != EXACT and self.backend not in (None, "auto", "graph"):
            mode, name = self.kv_mode.name, self.backend
            raise Failure("bad_option.kv_mode", mode=mode, backend=name)
        check_kv_type(self.flash_attention, self.kv_type)

    @classmethod
    def of(cls, request: Load) -> Self:
        """Build the options from the request of the window or of the terminal's chat."""
        return cls(
            path_of(request.path),
            path_of(request.draft_model) if request.draft_model else None,
            backend=request.backend,
            n_ctx=request.n_ctx,
            kv_type=request.kv_type,
            kv_mode=make_kv_mode(request.kv_mode, request.kv_share),
            flash_attention=request.flash_attention,
            threads=request.threads,
            memory_bytes=request.memory_bytes,
            api=request.api == "on",
            device=request.device,
        )

    @property
    def requested_backend(self) -> BackendWish | None:
        """Requested library; "graph" for a KV cache mode other than exact, which only our own graph has."""
        return self.backend if self.kv_mode == EXACT else "graph"

    @property
    def assumed_kv_type(self) -> KVType:
        """Requested KV cache type; the default one where the planner may choose, before it has."""
        return self.kv_type or DEFAULT_KV_TYPE

    @property
    def key_threads(self) -> int:
        """Number of threads in the keys of timings: 0 where the engine may choose it."""
        return self.threads or 0

    @property
    def way(self) -> str:
        """Text in the keys of timings and saved chats: a way to compute attention or to keep keys and values."""
        return self.kv_mode.suffix + flash_attention_suffix(self.flash_attention)

    @property
    def planned_threads(self) -> int:
        """Number of threads to plan with."""
        return default_threads() if self.threads is None else self.threads
