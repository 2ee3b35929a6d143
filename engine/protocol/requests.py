"""What the window asks of the engine. Knows no events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["system", "user", "assistant"]
KVPolicy = Literal["always", "published", "measured"]
KVModeName = Literal["exact", "published", "merged", "window"]
DraftMode = Literal[
    "off",
    "auto",
    "history",
    "history-published",
    "phrases",
    "model",
    "model-published",
    "midlayer",
    "midlayer-published",
]
KVType = Literal["f16", "q8_0", "q4_0"]
BackendName = Literal["llama", "ik", "graph"]
BackendWish = Literal["auto", "llama", "ik", "graph"]
FlashAttention = Literal["auto", "on", "off"]
Limit = Literal["files", "network", "integrity"]
StopReason = Literal["end", "stop", "length", "context", "cancelled"]
MOST_SEED = 2**32 - 2  # llama.cpp takes the next one for “any”


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat as the model's template sees it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen, in llama.cpp's words. Temperature 0 is greedy.

    Defaults are llama.cpp's but for a mild repeat penalty: small models fall into endless loops without one.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.1
    repeat_last_n: int = 64
    seed: int | None = None

    def __post_init__(self) -> None:
        check(0 <= self.temperature <= 10, f"temperature must lie between 0 and 10, not {self.temperature:g}")
        check(self.top_k >= 0, f"top-k must be 0 (off) or more, not {self.top_k}")
        check(0 < self.top_p <= 1, f"top-p must lie above 0 and up to 1, not {self.top_p:g}")
        check(0 <= self.min_p <= 1, f"min-p must lie between 0 and 1, not {self.min_p:g}")
        check(
            0 < self.repeat_penalty <= 10,
            f"repeat penalty must lie above 0 and up to 10, not {self.repeat_penalty:g}",
        )
        check(self.repeat_last_n >= 0, f"repeat window must be 0 or more tokens, not {self.repeat_last_n}")
        check(
            self.seed is None or 0 <= self.seed <= MOST_SEED,
            f"seed must lie between 0 and {MOST_SEED}, not {self.seed}",
        )


MOST_LOOKUP = 64  # tokens of a pass: n and m·n beyond this cost more than they can bring on any processor
MOST_SEQUENCES = 16  # m: an engine keeps memory free for each


@dataclass(frozen=True, slots=True)
class Lookup:
    """Sizes of the published form of history lookup. `match`: last tokens that have to be the same; `m` sequences of
    `n` inputs, the newest token the first of each, from the most recent occurrences or from any."""

    match: int = 1
    m: int = 1
    n: int = 4
    select: Literal["recent", "random"] = "recent"

    def __post_init__(self) -> None:
        check(1 <= self.match <= 16, f"match must be 1 to 16 tokens, not {self.match}")
        check(
            2 <= self.n <= MOST_LOOKUP,
            f"n must be 2 to {MOST_LOOKUP} tokens, the newest token being the first, not {self.n}",
        )
        most = min(MOST_SEQUENCES, MOST_LOOKUP // self.n)
        check(1 <= self.m <= most, f"m must be 1 to {most} sequences of {self.n} tokens, not {self.m}")
        check(self.select in ("recent", "random"), f"select must be recent or random, not {self.select}")


def check(condition: bool, sentence: str) -> None:
    """Raises ValueError with the sentence unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


@dataclass(frozen=True, slots=True)
class Hello:
    """First request: the engine answers Welcome, or Failed when it speaks another version."""

    id: int


@dataclass(frozen=True, slots=True)
class Load:
    """Load a model in place of the loaded one. `n_ctx` and `threads` None: the engine chooses.

    `memory_bytes`: the most the engine may take; None: what the computer has free, less a reserve. `kv_type`: how keys
    and values are stored; None: f16, or q8_0 where f16 does not fit. `saved_chats_bytes`: how much of the disk may be
    taken by chats that are saved for fast opening, with 0 none are kept; None: the engine's own quota. `draft_model`: a
    small model's file with the same vocabulary, which drafts for this one. `backend`: the library that computes; auto,
    or None: the faster one. `kv_mode`: with another than exact, which only our own graph can, `kv_share` of the
    kv-heads keep less than every token; answers change a little. `flash_attention`: off computes attention the long
    way, which takes more memory and reads no quantised keys and values; auto: on. Its answer may be Restart."""

    id: int
    path: str
    n_ctx: int | None = None
    threads: int | None = None
    memory_bytes: int | None = None
    kv_type: KVType | None = None
    saved_chats_bytes: int | None = None
    draft_model: str | None = None
    backend: BackendWish | None = None
    kv_mode: KVModeName = "exact"
    kv_share: float | None = None
    flash_attention: FlashAttention = "auto"

    def __post_init__(self) -> None:
        check(
            self.kv_share is None or 0 <= self.kv_share <= 1,
            f"the share of heads must lie above 0 and up to 1, not {self.kv_share}",
        )
        check(
            self.saved_chats_bytes is None or self.saved_chats_bytes >= 0,
            f"saved chats take 0 bytes or more, not {self.saved_chats_bytes}",
        )
        check(self.memory_bytes is None or self.memory_bytes > 0, f"memory must be above 0, not {self.memory_bytes}")
        check(self.n_ctx is None or self.n_ctx >= 64, f"a context has 64 tokens or more, not {self.n_ctx}")
        check(
            self.threads is None or 1 <= self.threads <= 512,
            f"threads must lie between 1 and 512, not {self.threads}",
        )


@dataclass(frozen=True, slots=True)
class Unload:
    """Free the model and its memory."""

    id: int


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer the last message. `max_tokens` None: until the model ends, or the context is full.

    `continue_last`: the last message is an answer that goes on; the events carry only what is added to it.

    `chat` is the window's id of the chat: its keys and values may be saved under it, those of a chat without id never
    are. The `forget_turns` oldest turns are left out, system messages are not. `draft`: which drafters propose tokens;
    with auto, history, model and midlayer only where that pays on this machine, in a published form always, by the
    sizes of `lookup`. `exit_layers`: with midlayer, so many of the model's lower layers draft; None: as many as were
    found best. With `trace` every target pass is reported as a Trace event.
    """

    id: int
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    chat: str = ""
    forget_turns: int = 0
    continue_last: bool = False
    kv_policy: KVPolicy = "measured"
    draft: DraftMode = "auto"
    lookup: Lookup = field(default_factory=Lookup)
    exit_layers: int | None = None
    trace: bool = False

    def __post_init__(self) -> None:
        check(
            self.max_tokens is None or self.max_tokens >= 1,
            f"the longest answer must have 1 token or more, not {self.max_tokens}",
        )
        check(all(self.stop), "a stop string must not be empty")
        check(
            self.exit_layers is None or self.exit_layers >= 1,
            f"the layers that draft must be 1 or more, not {self.exit_layers}",
        )
        check(self.forget_turns >= 0, f"turns to forget must be 0 or more, not {self.forget_turns}")


@dataclass(frozen=True, slots=True)
class Prepare:
    """Read the messages into the KV cache without answering; any later request cuts it short."""

    id: int
    messages: tuple[Message, ...]
    chat: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """How many tokens the loaded model makes of texts, and of messages as a prompt. Does not wait for answers."""

    id: int
    texts: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Forget:
    """Delete what is saved of a chat, because the user deleted the chat."""

    id: int
    chat: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop request `request` as soon as possible; it still ends with its own last event."""

    id: int
    request: int


@dataclass(frozen=True, slots=True)
class Status:
    """Ask what is loaded and how full it is."""

    id: int


@dataclass(frozen=True, slots=True)
class Watch:
    """From now on tell, or no longer tell, what the engine does: Pulse events, a few a second while it works."""

    id: int
    on: bool


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Free everything and end the process."""

    id: int


Request = Hello | Load | Unload | Generate | Prepare | Count | Forget | Cancel | Status | Watch | Shutdown
