"""Messages to and from the engine's planner: whether a model fits into memory, asked and answered as lines of JSON.

`python -m engine plans` reads an `Ask` from each line of its input and prints a `Verdict` for it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from common.byte_sizes import show_bytes
from common.sentences import Sentence

KVType = Literal["f16", "q8_0", "q4_0"]
DEFAULT_KV_TYPE: KVType = "f16"  # assumed wherever nobody has chosen one
# Names in `Verdict.parts` that people read as one; those of a draft model begin with "draft_".
# Those that begin with "device_" lie on a device that shares the computer's RAM.
WEIGHTS = ("weights_mapped", "weights_read", "weights_repacked", "device_weights")
KV = ("kv", "kv_compressed", "snapshots", "checkpoints", "device_kv")
KEPT_CHATS = "kept_chats"
OWN_DRAFTER = ("own_layers", "own_layers_cache")
API = ("api", "grammars")


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of a model whose file is not on this computer, for a plan without a header.

    Attributes:
        size: bytes of the file.
        kv_width: numbers in one token's keys and values of one layer that sees all tokens.
        attention: numbers in one token's queries of one layer; 0 if equal to `embedding`.
        kv_layers: layers with keys and values; 0 if all layers have some. Hybrid models have fewer.
        window, window_layers: tokens of the sliding windows, and how many of `kv_layers` have one; 0 if none has.
        window_width: `kv_width` of a layer with a window; 0 if it is the same.
        state_bytes: bytes of the recurrent states of one sequence.
        snapshots: whether the library keeps snapshots of these states, so that drafts can be verified.
        feed_forward: numbers between the two matrices of a layer; in a mixture those of all experts that a token uses.
        active_share: share of the weights that one token reads; below 1 in a mixture of experts.
        experts, used_experts: of a layer, in all and for one token; 0 if it is no mixture.
        guessed: whether the shapes are only what models of this size usually have.
    """

    name: str
    size: int
    layers: int
    kv_width: int
    embedding: int
    feed_forward: int
    vocabulary: int
    n_ctx_train: int = 0
    attention: int = 0
    kv_layers: int = 0
    window: int = 0
    window_layers: int = 0
    window_width: int = 0
    state_bytes: int = 0
    snapshots: bool = False
    active_share: float = 1.0
    experts: int = 0
    used_experts: int = 0
    quantisation: str = ""
    guessed: bool = False

    def kv_numbers(self, tokens: int, window_tokens: int) -> int:
        """Return the numbers in the keys and values of `tokens` tokens; layers with a window keep `window_tokens`."""
        full = (self.kv_layers or self.layers) - self.window_layers
        return full * self.kv_width * tokens + self.window_layers * (self.window_width or self.kv_width) * window_tokens


class Computer(msgspec.Struct, frozen=True):
    """Properties of a computer that decide whether a model fits and how fast it runs; 0 where one is unknown.

    Attributes:
        kinds: kinds of processors whose kernels it runs, best first (`engine.machine.KINDS`).
        bandwidth: bytes per second that all cores together read from memory.
        threads: threads with which it computes; they stand for the speed of its arithmetic.
        memory, available: bytes of RAM, and those that are free beside the user's other programs.
        product: operations per second of a product with packed weights (`engine.runtime.graph.product`).
        decode_factor, prompt_factor: how many times faster a model ran here than was predicted for it; 1 before any
            was timed.
    """

    kinds: tuple[str, ...]
    bandwidth: float = 0.0
    threads: int = 0
    memory: int = 0
    available: int = 0
    product: float = 0.0
    decode_factor: float = 1.0
    prompt_factor: float = 1.0


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Question to the planner about the file at `path` or about `estimate`, with wishes for the plan.

    The planner decides every wish that is None or 'auto'. `backend` is one of the engine's names for its libraries,
    `kv_mode` one of its KV methods, `device` what may compute beside the processor. `freed_bytes`: memory that
    unloading the present model will free. `api`: whether other programs use the engine. `computer`: another computer to
    plan an estimate for; None for this one.
    """

    id: int = 0
    path: str | None = None
    estimate: Estimate | None = None
    n_ctx: int | None = None
    kv_type: KVType | None = None
    threads: int | None = None
    memory_bytes: int | None = None
    freed_bytes: int = 0
    draft: str | None = None
    backend: str | None = None
    flash_attention: Literal["auto", "on", "off"] = "auto"
    device: str = "auto"
    kv_mode: str | None = None
    kv_share: float | None = None
    api: Literal["off", "on"] = "off"
    computer: Computer | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of the planner: whether the model fits into memory, and how it would be loaded.

    Attributes:
        verdict: "disk" stands for a model that is larger than the memory, so that passes read it from the disk.
        parts: bytes by name; `total_bytes` is their sum with a full context.
        exact: whether the plan was made from the file itself, not from an estimate.
        speed: tokens/s of plain decoding, as timed on this computer with this library, number of threads and KV type;
            0 if not timed.
        predicted_speed: tokens/s of plain decoding in a chat of 1,000 tokens, predicted; 0 if unknown.
        predicted_prompt_speed: tokens/s of prefill, predicted; 0 if unknown.
        problem: why there is no plan.
    """

    id: int = 0
    verdict: Literal["fits", "tight", "disk", "no", "unknown"] = "unknown"
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
    predicted_speed: float = 0.0
    predicted_prompt_speed: float = 0.0
    problem: Sentence | None = None

    @property
    def needed_bytes(self) -> int:
        """Bytes that the model needs: other chats are kept only where there is room for them."""
        return self.total_bytes - self.parts.get(KEPT_CHATS, 0)

    @property
    def line(self) -> str:
        """Summary for the terminal, like 'fits: 1.42 GB with 32,768 tokens'; 'about' marks an estimate."""
        if self.verdict == "unknown":
            return str(self.problem or "")
        about = "" if self.exact else "about "
        if self.verdict == "no":
            most = f"; a context of {self.max_n_ctx:,} tokens would fit" if self.max_n_ctx else ""
            return f"does not fit: needs {about}{show_bytes(self.needed_bytes)}{most}"
        if self.verdict == "disk":
            return f"larger than the memory: {about}{show_bytes(self.needed_bytes)}, read from the disk"
        return f"{self.verdict}: {about}{show_bytes(self.needed_bytes)} with {self.n_ctx:,} tokens"
