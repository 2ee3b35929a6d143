"""What is asked for when a model is to be loaded, checked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self, get_args

from common.failures import Failure
from common.paths import path_of
from engine.machine import default_threads
from engine.protocol import BackendName, BackendWish, FlashAttention, KVType, Load
from engine.runtime.contexts import EXACT, KVMode, check_kv_type, mode_of


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a memory plan; None leaves the choice to it. Raises ValueError for what is out of range.

    `rows`: most logits rows of one pass, as calibrating and verifying drafts ask for them."""

    threads: int
    n_ctx: int | None = None
    kv_type: KVType | None = None
    rows: int = 48

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ValueError(f"threads must be 1 or more, not {self.threads}")
        if self.n_ctx is not None and self.n_ctx < 64:
            raise ValueError(f"a context has 64 tokens or more, not {self.n_ctx}")
        assert self.rows > 0, self


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """A model's file, `draft` of a smaller one that drafts for it, and wishes; None leaves a choice to `resolve`.

    `no_other`: refuse where `backend` cannot compute it. `n_ctx` is in tokens; `memory_bytes`: the most that the engine
    may take. Raises ValueError for what is out of range and Failure for what does not go together; the texts of both
    are for the user."""

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

    def __post_init__(self) -> None:
        assert not self.no_other or self.backend in get_args(BackendName), self
        Wish(1 if self.threads is None else self.threads, self.n_ctx, self.kv_type)  # checks them
        if self.memory_bytes is not None and self.memory_bytes < 0:
            raise ValueError(f"memory must be 0 bytes or more, not {self.memory_bytes}")
        if self.kv_mode != EXACT and self.backend not in (None, "auto", "graph"):
            mode, name = self.kv_mode.name, self.backend
            raise Failure("bad_option.kv_mode", mode=mode, backend=name)
        check_kv_type(self.flash_attention, self.kv_type)

    @classmethod
    def of(cls, request: Load) -> Self:
        """What the window, or the terminal's chat, asks for."""
        return cls(
            path_of(request.path),
            path_of(request.draft_model) if request.draft_model else None,
            backend=request.backend,
            n_ctx=request.n_ctx,
            kv_type=request.kv_type,
            kv_mode=mode_of(request.kv_mode, request.kv_share),
            flash_attention=request.flash_attention,
            threads=request.threads,
            memory_bytes=request.memory_bytes,
        )

    @property
    def backend_wish(self) -> BackendWish | None:
        """The library that is asked for; only our own graph keeps fewer keys and values than all."""
        return self.backend if self.kv_mode == EXACT else "graph"

    @property
    def wish(self) -> Wish:
        """What of it the memory plan needs to know."""
        return Wish(default_threads() if self.threads is None else self.threads, self.n_ctx, self.kv_type)
