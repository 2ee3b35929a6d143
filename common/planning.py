"""How the engine's program is started, and what its planner is asked and answers: lines of JSON, one each.

`python -m engine plans` reads an `Ask` from each line of its input and prints a `Verdict`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import msgspec

from common.byte_sizes import show_bytes
from common.sentences import Sentence

READ = "--read"  # the option of `serve` and `plans` that names a file outside of the model folders


def engine_command(verb: str) -> list[str]:
    """Program and arguments that start the engine: from the checkout, or the executable beside a packaged app."""
    if getattr(sys, "frozen", False):
        suffix = ".exe" if sys.platform == "win32" else ""
        return [str(Path(sys.executable).with_name(f"chickadee-engine{suffix}")), verb]
    return [sys.executable, "-m", "engine", verb]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """`size`: bytes of the file. `kv_width`: numbers in one token's keys and values of one layer; `attention`: in its
    queries, 0 for as many as in `embedding`. `guessed`: the shapes are those that such models usually have."""

    name: str
    size: int
    layers: int
    kv_width: int
    embedding: int
    feed_forward: int
    vocabulary: int
    n_ctx_train: int = 0
    attention: int = 0
    quantisation: str = ""
    guessed: bool = False


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """About the file at `path`, or about `estimate`; the rest are wishes, None and auto leave them to the planner.

    `backend` is one of the engine's names for its libraries, `kv_mode` for ways to keep keys and values. `freed_bytes`:
    what unloading the model that is loaded now gives back.
    """

    id: int = 0
    path: str | None = None
    estimate: Estimate | None = None
    n_ctx: int | None = None
    kv_type: Literal["f16", "q8_0", "q4_0"] | None = None
    threads: int | None = None
    memory_bytes: int | None = None
    freed_bytes: int = 0
    draft: str | None = None
    backend: str | None = None
    flash_attention: Literal["auto", "on", "off"] = "auto"
    kv_mode: str | None = None
    kv_share: float | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """`parts`: bytes by name, `total_bytes` together, with the context full. `exact`: planned from the file itself.

    `speed`: tokens per second of plain decoding, as it was timed here with this library, threads and type of keys and
    values; 0 where it was not. `problem` says why there is no plan."""

    id: int = 0
    verdict: Literal["fits", "tight", "no", "unknown"] = "unknown"
    total_bytes: int = 0
    available_bytes: int = 0
    n_ctx: int = 0
    max_n_ctx: int = 0
    kv_type: str = ""
    threads: int = 0
    backend: str = ""
    parts: dict[str, int] = {}
    reasons: tuple[Sentence, ...] = ()
    notes: tuple[Sentence, ...] = ()
    exact: bool = False
    speed: float = 0.0
    problem: Sentence | None = None

    @property
    def line(self) -> str:
        """For the terminal: 'fits: 1.42 GB with 32,768 tokens'; 'about' where it is an estimate."""
        if self.verdict == "unknown":
            return str(self.problem or "")
        about = "" if self.exact else "about "
        if self.verdict == "no":
            most = f"; a context of {self.max_n_ctx:,} tokens would fit" if self.max_n_ctx else ""
            return f"does not fit: needs {about}{show_bytes(self.total_bytes)}{most}"
        return f"{self.verdict}: {about}{show_bytes(self.total_bytes)} with {self.n_ctx:,} tokens"
