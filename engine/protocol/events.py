"""What the engine tells the window. Every event carries the id of the request it answers, 0 if it answers none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from common.sentences import Sentence
from engine.protocol.requests import BackendName, KVModeName, KVPolicy, KVType, Limit, StopReason

UNSAID = Sentence.of("internal.engine")  # what is said of a failure that came without a sentence


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is loaded. `template` says whose chat template is used; `notes`: what the user should know.

    `plan`: bytes by name of what the model takes in memory when its context is full. `backend`: who computes, with
    which `kernels`: a kind of processor where the library has variants."""

    path: str
    name: str
    architecture: str
    parameters: int
    file_bytes: int
    n_ctx: int
    n_ctx_train: int
    threads: int
    template: Literal["model", "chatml"]
    notes: tuple[Sentence, ...] = ()
    plan: dict[str, int] = field(default_factory=dict)
    backend: BackendName = "llama"
    kernels: str = ""


@dataclass(frozen=True, slots=True)
class DrafterStatistics:
    """What one drafter did for an answer: tokens that it `proposed`, that were verified (`drafted`) and `accepted`."""

    name: str
    proposed: int
    drafted: int
    accepted: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """`heads` kv-heads of a model, all layers together, that keep their keys and values in the same way (`mode`).

    Each of them holds `entries` of the chat now, in a cache that has room for `capacity`; all of them take `bytes`."""

    mode: KVModeName
    heads: int
    entries: int
    capacity: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """One answer in numbers. Seconds are wall time; `steps` counts target passes of the decode loop.

    `context_tokens` are cached at the end, `pending_tokens` are not and run again with what follows;
    `recomputed_tokens` ran more than once, which took about `recompute_seconds`. Of `drafted` tokens the target took
    `accepted` ones; proposing and choosing took `drafting_seconds`, passes with a draft `verifying_seconds`.
    `estimated_speedup`: against plain decoding, from the machine's measured costs; 1 where nothing is known.
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
    drafted: int = 0
    accepted: int = 0
    drafters: tuple[DrafterStatistics, ...] = ()
    drafting_seconds: float = 0.0
    verifying_seconds: float = 0.0
    estimated_speedup: float = 1.0


@dataclass(frozen=True, slots=True)
class Welcome:
    """Ends Hello. `backend`: the libraries that are installed, with their versions. `limits`: what the system refuses
    the engine: other files than models and its own, the network, what a Windows program of low integrity may not."""

    id: int
    engine: str
    backend: str
    pid: int
    limits: tuple[Limit, ...] = ()


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
class Restart:
    """Ends Load: the model is for `backend`, but this process holds another library, and one is all it can hold. None:
    this process may not read the model's file, or its draft model's; a new one may that is started with their names.

    Nothing has changed here. Whoever owns the process ends it and sends the Load to a new one."""

    id: int
    backend: BackendName | None


@dataclass(frozen=True, slots=True)
class Faster:
    """Answers no request (`id` is 0): by what was timed meanwhile, `backend` computes the loaded model faster.

    Nothing has changed here. The same Load would now be answered by Restart."""

    id: int
    backend: BackendName


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
class ThinkingStarted:
    """The model begins to reason before it answers. `text` is the marker as it wrote it.

    The texts of these three events and of Text, one behind the other, are the answer as it was written."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """The next piece of the reasoning, as Text is of the answer."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingEnded:
    """The answer follows. `text` is the marker. Not `opened`: no marker had begun it, all text before was reasoning."""

    id: int
    text: str
    opened: bool = True


@dataclass(frozen=True, slots=True)
class Trace:
    """One target pass of a traced answer: `inputs` tokens ran after `depth` cached ones; were they kept, and why.

    `drafted` tokens of `drafter` ran with them, for `draft_reason`, and `accepted` of these became part of the answer.
    `expected`: how many the chooser expected; `gain`: speed-up that it expected of the best draft, taken or not;
    `pass_seconds` and `plain_seconds`: of this pass and of one without a draft, as estimated, 0 where nothing is known;
    `drafting_seconds`: what proposing took."""

    id: int
    step: int
    inputs: int
    depth: int
    recomputed: int
    seconds: float
    keep: bool
    reason: str
    drafted: int = 0
    accepted: int = 0
    draft_reason: str = ""
    drafter: str = ""
    expected: float = 0.0
    gain: float = 0.0
    plain_seconds: float = 0.0
    pass_seconds: float = 0.0
    drafting_seconds: float = 0.0


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
class Counted:
    """Ends Count: tokens of each text, and of the prompt, 0 where no messages were sent."""

    id: int
    texts: tuple[int, ...]
    prompt: int = 0


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Ends Forget."""

    id: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user may want to know that answers no request (`id` is 0). `code` and `message` as in Failed."""

    id: int
    sentence: Sentence = UNSAID
    code: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        _say(self)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """Ends Status. `rss_bytes` is the engine process's resident memory."""

    id: int
    model: ModelInfo | None
    cached_tokens: int
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Watching:
    """Ends Watch."""

    id: int
    on: bool


@dataclass(frozen=True, slots=True)
class Pulse:
    """What the engine does right now; answers no request (`id` is 0) and comes only while it is watched.

    Memory in bytes: the engine's own, what the computer has free and has at all. Tokens of the chat in the KV cache:
    `fixed` are cached, `pending` run again with the next pass, `saved` of the fixed ones are on the disk too, and the
    cache has room for `capacity` now. Of the answer under way or the last one: tokens that came in `steps` passes and
    `decode_seconds`, what each drafter did, `estimated_speedup` against plain decoding; `prompt_rate` in tokens per
    second. `costs`: (tokens, c) of passes at the present depth, none where they were not measured; `batch`: tokens of
    the last pass. `head_groups`: the KV cache by groups of heads, none where all heads keep every token."""

    id: int
    rss_bytes: int
    free_bytes: int
    total_bytes: int
    fixed: int = 0
    pending: int = 0
    saved: int = 0
    capacity: int = 0
    steps: int = 0
    tokens: int = 0
    decode_seconds: float = 0.0
    drafters: tuple[DrafterStatistics, ...] = ()
    estimated_speedup: float = 1.0
    prompt_rate: float = 0.0
    costs: tuple[tuple[int, float], ...] = ()
    batch: int = 0
    head_groups: tuple[HeadGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Ends Cancel; `found` is false when the request had already ended."""

    id: int
    found: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """What the user may choose when a chat is longer than the context.

    `forget_turns`: send again with `turns` more than before as Generate.forget_turns.
    `larger_context`: load again with `n_ctx`.
    `smaller_kv`: load again with `kv_type` and `n_ctx`, which then fits this computer's memory.
    """

    kind: Literal["forget_turns", "larger_context", "smaller_kv"]
    turns: int = 0
    n_ctx: int = 0
    kv_type: KVType = "f16"


@dataclass(frozen=True, slots=True)
class Failed:
    """Ends any request that could not be done. `sentence` is for the user, in any language, `detail` is for the log.

    `code` and `message` are the sentence's kind and its English, for programs that know none of our sentences."""

    id: int
    sentence: Sentence = UNSAID
    detail: str = ""
    remedies: tuple[Remedy, ...] = ()
    code: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        _say(self)


def _say(event: Failed | Notice) -> None:
    object.__setattr__(event, "code", event.code or event.sentence.code)
    object.__setattr__(event, "message", event.message or str(event.sentence))


Event = (
    Welcome | LoadProgress | Loaded | Restart | Faster | Unloaded | PrefillProgress | Text
    | ThinkingStarted | Thinking | ThinkingEnded | Trace | Finished | Prepared
    | Counted | Forgotten | Notice | StatusReport | Watching | Pulse
    | Cancelled | Failed
)  # fmt: skip
ENDS = (
    Welcome, Loaded, Restart, Unloaded, Finished, Prepared, Counted, Forgotten, StatusReport, Watching, Cancelled,
    Failed,
)  # fmt: skip
WRITTEN = (Text, ThinkingStarted, Thinking, ThinkingEnded)  # what an answer is written in
