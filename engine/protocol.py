"""The messages between window and engine: what they are and how they become lines. Knows neither llama.cpp nor Qt.

One message is one line of JSON: `{"v": 1, "type": "generate", "id": 7, ...}`. The window sends requests, the engine
answers each with events that carry the request's id; the last one of a request is its end (see `ENDS`). New fields get
defaults and new messages new types, so that VERSION changes only when an old message means something else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

VERSION = 1

Role = Literal["system", "user", "assistant"]
KVPolicy = Literal["always", "published", "measured"]
StopReason = Literal["end", "stop", "length", "context", "cancelled"]


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
            self.seed is None or 0 <= self.seed < 2**32 - 1,
            f"seed must lie between 0 and 4294967294, not {self.seed}",
        )


def check(condition: bool, sentence: str) -> None:
    if not condition:
        raise ValueError(sentence)


# --- requests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """First request: the engine answers Welcome, or Failed when it speaks another version."""

    id: int


@dataclass(frozen=True, slots=True)
class Load:
    """Load a model in place of the loaded one. `n_ctx` and `threads` None: the engine chooses.

    `memory_bytes`: the most the engine may take; None: what the computer has free, less a reserve."""

    id: int
    path: str
    n_ctx: int | None = None
    threads: int | None = None
    memory_bytes: int | None = None

    def __post_init__(self) -> None:
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

    `chat` is the window's id of the chat: its keys and values may be saved under it, those of a chat without id never
    are. The `forget_turns` oldest turns are left out, system messages are not. With `trace` every target pass is
    reported as a Trace event.
    """

    id: int
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    chat: str = ""
    forget_turns: int = 0
    kv_policy: KVPolicy = "measured"
    trace: bool = False

    def __post_init__(self) -> None:
        check(
            self.max_tokens is None or self.max_tokens >= 1,
            f"the longest answer must have 1 token or more, not {self.max_tokens}",
        )
        check(all(self.stop), "a stop string must not be empty")
        check(self.forget_turns >= 0, f"turns to forget must be 0 or more, not {self.forget_turns}")


@dataclass(frozen=True, slots=True)
class Prepare:
    """Read the messages into the KV cache without answering; any later request cuts it short."""

    id: int
    messages: tuple[Message, ...]
    chat: str = ""


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
class Shutdown:
    """Free everything and end the process."""

    id: int


Request = Hello | Load | Unload | Generate | Prepare | Forget | Cancel | Status | Shutdown

# --- events ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is loaded. `template` says whose chat template is used; `notes` are sentences the user should know.

    `plan`: bytes by name of what the model takes in memory when its context is full."""

    path: str
    name: str
    architecture: str
    parameters: int
    file_bytes: int
    n_ctx: int
    n_ctx_train: int
    threads: int
    template: Literal["model", "chatml"]
    notes: tuple[str, ...] = ()
    plan: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statistics:
    """One answer in numbers. Seconds are wall time; `steps` counts target passes of the decode loop.

    `context_tokens` are cached at the end, `pending_tokens` are not and run again with what follows;
    `recomputed_tokens` ran more than once, which took about `recompute_seconds`.
    """

    prompt_tokens: int
    reused_tokens: int
    prompt_seconds: float
    decode_tokens: int
    decode_seconds: float
    steps: int
    stop_reason: StopReason
    context_tokens: int
    n_ctx: int
    kv_policy: KVPolicy = "always"
    pending_tokens: int = 0
    recomputed_tokens: int = 0
    recompute_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Welcome:
    """Ends Hello."""

    id: int
    engine: str
    backend: str
    pid: int


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """`fraction` of the model file that is loaded, 0 to 1."""

    id: int
    fraction: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """Ends Load."""

    id: int
    model: ModelInfo
    seconds: float


@dataclass(frozen=True, slots=True)
class Unloaded:
    """Ends Unload."""

    id: int


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """`done` of `total` prompt tokens are in the KV cache, `reused` of them were there before."""

    id: int
    done: int
    total: int
    reused: int


@dataclass(frozen=True, slots=True)
class Text:
    """The next piece of the answer: whole characters, no special tokens, nothing of a stop string."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One target pass of a traced answer: `inputs` tokens ran after `depth` cached ones; were they kept, and why."""

    id: int
    step: int
    inputs: int
    depth: int
    recomputed: int
    seconds: float
    keep: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Ends Generate; `tokens` are the answer's ids without the end-of-generation token."""

    id: int
    statistics: Statistics
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Ends Prepare: so many of the messages' tokens are in the KV cache."""

    id: int
    prompt_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Ends Forget."""

    id: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user may want to know that answers no request (`id` is 0)."""

    id: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class StatusReport:
    """Ends Status. `rss_bytes` is the engine process's resident memory."""

    id: int
    model: ModelInfo | None
    cached_tokens: int
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Ends Cancel; `found` is false when the request had already ended."""

    id: int
    found: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """What the user may choose when a chat is longer than the context.

    `forget_turns`: send again with `turns` as Generate.forget_turns. `larger_context`: load again with `n_ctx`.
    `smaller_kv`: load again with `kv_type` and `n_ctx`, which then fits this computer's memory.
    """

    kind: Literal["forget_turns", "larger_context", "smaller_kv"]
    turns: int = 0
    n_ctx: int = 0
    kv_type: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Ends any request that could not be done. `message` is the sentence for the user, `detail` is for the log."""

    id: int
    code: str
    message: str
    detail: str = ""
    remedies: tuple[Remedy, ...] = ()


Event = (
    Welcome | LoadProgress | Loaded | Unloaded | PrefillProgress | Text | Trace | Finished | Prepared | Forgotten
    | Notice | StatusReport | Cancelled | Failed
)  # fmt: skip
ENDS = (Welcome, Loaded, Unloaded, Finished, Prepared, Forgotten, StatusReport, Cancelled, Failed)

# --- lines ----------------------------------------------------------------------------------------------------------


class ProtocolError(Exception):
    """A line that is no message; `id` is the request it came from, 0 if that cannot be told."""

    def __init__(self, sentence: str, id: int = 0) -> None:
        super().__init__(sentence)
        self.id = id


def type_name(cls: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


REQUESTS: dict[str, type[Request]] = {type_name(cls): cls for cls in Request.__args__}
EVENTS: dict[str, type[Event]] = {type_name(cls): cls for cls in Event.__args__}
T = TypeVar("T")


def encode(message: Request | Event) -> bytes:
    """The message as one line, newline included."""
    envelope = {"v": VERSION, "type": type_name(type(message))}
    return msgspec.json.encode(envelope | msgspec.to_builtins(message)) + b"\n"


def decode_request(line: bytes) -> Request:
    return _decode(line, REQUESTS)


def decode_event(line: bytes) -> Event:
    return _decode(line, EVENTS)


def _decode(line: bytes, types: dict[str, type[T]]) -> T:
    try:
        fields: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"a message must be one line of JSON: {error}") from error
    if not isinstance(fields, dict):
        raise ProtocolError("a message must be a JSON object")
    id = fields.get("id")
    id = id if isinstance(id, int) else 0
    if fields.get("v") != VERSION:
        raise ProtocolError(f"this engine speaks protocol version {VERSION}, the message says {fields.get('v')!r}", id)
    cls = types.get(fields["type"]) if isinstance(fields.get("type"), str) else None
    if cls is None:
        raise ProtocolError(f"there is no message of type {fields.get('type')!r}", id)
    try:
        return msgspec.convert(fields, cls)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{fields['type']}: {error}", id) from error
