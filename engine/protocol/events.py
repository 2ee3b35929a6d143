"""Events: messages from the engine to the window. Every event carries the id of its request, or 0 if it has none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from common.planning import DEFAULT_KV_TYPE, KVType
from common.power import SavingReason
from common.sentences import Sentence
from engine.protocol.requests import BackendName, KVModeName, KVPolicy, Limit, StopReason, ThinkingEffort

NO_SENTENCE = Sentence.of("internal.engine")  # for a failure without a sentence


@dataclass(frozen=True, slots=True)
class ThinkingControls:
    """Choices that a model's chat template gives the user about its reasoning.

    `switch`: thinking can be turned on and off; `default`: whether it is on by default. `efforts`: the efforts that can
    be chosen, none if there is no choice; `default_effort`: the one used by default, if it is one of them.
    """

    switch: bool = False
    default: bool = False
    efforts: tuple[ThinkingEffort, ...] = ()
    default_effort: ThinkingEffort = "auto"

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers unless it is told otherwise."""
        return self.default or bool(self.efforts)


@dataclass(frozen=True, slots=True)
class Vision:
    """Limits of a model that sees.

    Either each picture becomes `tokens` tokens and is scaled to `side` pixels, or it becomes a token for each square of
    `token_side` pixels; the other fields are then 0. `tiled`: a larger picture is cut into tiles of `side` pixels.
    """

    tokens: int = 0
    side: int = 0
    token_side: int = 0
    tiled: bool = False


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """Devices beside the processor, and which of them computes the model.

    `reason`: why the one in `used` computes, or the processor. `found`: names of the devices that could be chosen.
    `used`: name of the device; empty for the processor. `way`: what it computes (processor, prompts, some_layers or
    all_layers); `layers`: of the model, on the device; `bytes`: of its memory.
    """

    reason: Sentence
    found: tuple[str, ...] = ()
    used: str = ""
    way: str = "processor"
    layers: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The loaded model.

    `parameters`: number of weights. `file_bytes`: size of the model file. `n_ctx`: context in tokens; `n_ctx_train`:
    the longest context that the model was trained for. `template`: whose chat template is used. `notes`: what the user
    should know. `plan`: bytes of memory by name of the part, with a full context. `backend`: library that computes;
    `kernels`: the kind of processor that its kernels are for, if the library has variants. `thinking`: choices about
    its reasoning. `tight`: whether it leaves other programs little memory. `host`: the server that runs it, empty for a
    model on this computer; with a host, `backend`, `threads` and sizes say nothing, and `n_ctx` is 0 where the server
    does not tell. `software`: name and version of the server's program, if known. `ignored`: fields of Generate, like
    `sampling.top_k`, that the server does not know. `vision`: how it sees pictures; None: it does not.
    `drafts_itself`: whether layers of its own draft; `own_drafter`: why those that it names do not, if there are any.
    `devices`: what graphics processors do; None with a host.
    """

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
    thinking: ThinkingControls = ThinkingControls()
    tight: bool = False
    host: str = ""
    software: str = ""
    ignored: tuple[str, ...] = ()
    vision: Vision | None = None
    drafts_itself: bool = False
    own_drafter: Sentence | None = None
    devices: DeviceUse | None = None


@dataclass(frozen=True, slots=True)
class DrafterStatistics:
    """One drafter's part in an answer, in tokens.

    `proposed`: by the drafter. `drafted`: verified by the target. `accepted`: became part of the answer. `seconds`:
    time spent on proposing.
    """

    name: str
    proposed: int
    drafted: int
    accepted: int
    seconds: float


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """Kv-heads, of all layers together, that keep their keys and values in the same way (`mode`).

    `heads`: number of kv-heads. `entries`: tokens that each of them holds now. `capacity`: tokens that each has room
    for. `bytes`: memory of all of them.
    """

    mode: KVModeName
    heads: int
    entries: int
    capacity: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """One answer in numbers. Seconds are wall time.

    `reused_tokens`: prompt tokens that were cached before; `unread_tokens`: those that were not reached before the
    answer was stopped. `steps`: target passes of the decode loop. `context_tokens`:
    tokens cached at the end; `pending_tokens`: tokens that are not cached and run again with what follows. `n_ctx`:
    limit of the context. `recomputed_tokens`: tokens that ran more than once, which took about `recompute_seconds`.
    `drafted`: tokens that were verified, `accepted`: those that became part of the answer. `drafting_seconds`: time of
    proposing and choosing drafts; `verifying_seconds`: time of passes with a draft. `estimated_speedup`: factor against
    plain decoding, from the machine's measured costs; 1 where nothing is known. `thinking_tokens`, `thinking_seconds`:
    length of the thoughts without their markers. `picture_tokens`: prompt tokens that stand for pictures, of which
    `encoded_tokens` were encoded for this answer, in `picture_seconds`, a part of `prompt_seconds`. `threads`: number
    of threads that decoded, and `prompt_threads` that read the prompt; 0: the runtime does not tell.
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
    thinking_tokens: int = 0
    thinking_seconds: float = 0.0
    picture_tokens: int = 0
    encoded_tokens: int = 0
    picture_seconds: float = 0.0
    threads: int = 0
    prompt_threads: int = 0
    unread_tokens: int = 0

    @property
    def read_tokens(self) -> int:
        """Prompt tokens that were read for this answer, in `prompt_seconds`."""
        return self.prompt_tokens - self.reused_tokens - self.unread_tokens


@dataclass(frozen=True, slots=True)
class EventBase:
    """An event. `id`: of the request that it belongs to, or 0 if it has none."""

    id: int


@dataclass(frozen=True, slots=True)
class Welcome(EventBase):
    """Last event of Hello.

    `engine`: name and version. `backend`: installed libraries with their versions. `pid`: the engine's process id.
    `limits`: what the operating system refuses the engine: "files" other than models and its own, the "network", and on
    Windows what needs more than low "integrity".
    """

    engine: str
    backend: str
    pid: int
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadProgress(EventBase):
    """Progress of Load. `fraction` of the model file that is loaded, 0 to 1."""

    fraction: float


@dataclass(frozen=True, slots=True)
class SpeedExpected(EventBase):
    """Event of Load, before the file of a model that is larger than the memory is mapped.

    `sentence`: for the user; `tokens_per_second`: expected speed of decoding, from the disk's measured speed;
    `is_slow`: whether a smaller model would be better.
    """

    sentence: Sentence
    tokens_per_second: float
    is_slow: bool


@dataclass(frozen=True, slots=True)
class Loaded(EventBase):
    """Last event of Load. `seconds`: time that loading took."""

    model: ModelInfo
    seconds: float


@dataclass(frozen=True, slots=True)
class Restart(EventBase):
    """Last event of Load if another process must load the model; nothing has changed in this one.

    `backend`: the library that the model needs; a process can hold only one library, and this one holds another. None:
    this process may not read the file of the model or of its draft model; a new process may, if it is started with
    their names. The owner of the process ends it and sends the Load to a new one.
    """

    backend: BackendName | None


@dataclass(frozen=True, slots=True)
class Faster(EventBase):
    """Event without a request (`id` is 0): by new measurements `backend` computes the loaded model faster.

    Nothing has changed yet. The same Load would now end with Restart.
    """

    backend: BackendName


@dataclass(frozen=True, slots=True)
class Unloaded(EventBase):
    """Last event of Unload."""


@dataclass(frozen=True, slots=True)
class PrefillProgress(EventBase):
    """Progress of a prefill: `done` of `total` prompt tokens are in the KV cache, `reused` of them from before.

    While a picture is encoded, `looking` is the fraction of all pictures that is done, above 0; otherwise it is 0.
    """

    done: int
    total: int
    reused: int
    looking: float = 0.0


@dataclass(frozen=True, slots=True)
class Text(EventBase):
    """Next piece of the answer: whole characters, no special tokens and no part of a stop string."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingStarted(EventBase):
    """Start of the model's reasoning. `text`: the marker as the model wrote it.

    The texts of Text and of the three Thinking events, joined in order, are the answer as it was written.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Thinking(EventBase):
    """Next piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingEnded(EventBase):
    """End of the reasoning; the answer follows. `text`: the marker as the model wrote it.

    `opened`: whether a marker had started the reasoning; if not, all text before was reasoning. `tokens`, `seconds`:
    length of the reasoning.
    """

    text: str
    opened: bool = True
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolCallStarted(EventBase):
    """Start of the answer's `index`-th call of a tool. `call`: the call's id; `name`: the tool."""

    index: int
    call: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallArguments(EventBase):
    """Next piece of a call's arguments; joined, the pieces are a JSON object, unless the answer was cut short."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token with the natural logarithm of the probability that the model gave it, before any sampling option.

    `logprob`: 0 for a scored prompt's first token, which nothing came before. `text`: the token's bytes as text, in
    which parts of characters show as U+FFFD. `top`: the likeliest tokens in its place.
    """

    token: int
    text: str
    bytes: tuple[int, ...]
    logprob: float
    top: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Logprobs(EventBase):
    """Probabilities of the next tokens that the model chose, or of a scored prompt's.

    The events with the text of those that it chose come afterwards.
    """

    tokens: tuple[TokenLogprob, ...]


@dataclass(frozen=True, slots=True)
class Trace(EventBase):
    """One target pass of a traced answer, the `step`-th.

    `inputs` tokens ran after `depth` cached ones; `recomputed` of them had run before. `keep`: whether the cache keeps
    them, and `reason`: why. `seconds`: duration of the pass. `drafted` tokens of `drafter` ran behind the inputs,
    because of `draft_reason`, and `accepted` of them became part of the answer. `expected`: accepted tokens that were
    expected. `gain`: expected speed-up factor of the best draft, verified or not. `pass_seconds`, `plain_seconds`:
    estimates for this pass and for one without a draft, 0 where nothing is known. `drafting_seconds`: time of
    proposing.
    """

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
class Finished(EventBase):
    """Last event of Generate. `tokens`: ids of the answer's tokens, without the end-of-generation token."""

    statistics: Statistics
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prepared(EventBase):
    """Last event of Prepare. `prompt_tokens`: length of the prompt; `cached_tokens`: tokens in the KV cache."""

    prompt_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Titled(EventBase):
    """Last event of Title. `text`: the first line that the model wrote; empty if it was not asked."""

    text: str


@dataclass(frozen=True, slots=True)
class Counted(EventBase):
    """Last event of Count. `texts`: tokens of each text; `prompt`: tokens of the messages, 0 if none were sent."""

    texts: tuple[int, ...]
    prompt: int = 0


@dataclass(frozen=True, slots=True)
class Tokenized(EventBase):
    """Last event of Tokenize. `pieces`: the bytes of each token, none for most control tokens."""

    tokens: tuple[int, ...]
    pieces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Detokenized(EventBase):
    """Last event of Detokenize."""

    text: str


@dataclass(frozen=True, slots=True)
class Embedded(EventBase):
    """Last event of Embed.

    `vectors`: one for each text, of length 1, as little-endian float32. `tokens`: number of tokens of each text.
    """

    vectors: tuple[bytes, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Forgotten(EventBase):
    """Last event of Forget."""


@dataclass(frozen=True, slots=True)
class Notice(EventBase):
    """Information for the user, without a request (`id` is 0). `code` and `message` are those of Failed."""

    sentence: Sentence = NO_SENTENCE
    code: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        _fill_code_and_message(self)


@dataclass(frozen=True, slots=True)
class StatusReport(EventBase):
    """Last event of Status. `model`: None if none is loaded; `rss_bytes`: resident memory of the engine's process."""

    model: ModelInfo | None
    cached_tokens: int
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class Watching(EventBase):
    """Last event of Watch."""

    on: bool


@dataclass(frozen=True, slots=True)
class Pulse(EventBase):
    """Report of the engine's current work, without a request (`id` is 0); sent only while the window watches.

    `rss_bytes`: the engine's memory; `free_bytes`, `total_bytes`: the computer's. `fixed`: tokens of the chat in the KV
    cache; `pending`: tokens that run again with the next pass; `saved`: fixed tokens that are on disk too; `capacity`:
    current size of the cache in tokens. `steps`, `tokens`, `decode_seconds`, `drafters`, `estimated_speedup`: passes
    and results of the current answer or the last one. `prompt_rate`: prefill speed in tokens/s. `costs`: (tokens, c) of
    passes at the current depth, empty if unknown. `batch`: tokens of the last pass. `head_groups`: the KV cache by
    groups of heads, empty if all heads keep every token. `saving_power`: why power is saved, empty if it is not.
    `threads`, `prompt_threads`: as in Statistics, from now on. `kept_chats`, `kept_bytes`: chats that are kept in
    memory beside the KV cache, and their bytes.
    """

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
    saving_power: SavingReason = ""
    threads: int = 0
    prompt_threads: int = 0
    kept_chats: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server has. `n_ctx`: its context in tokens, 0 if the server does not tell."""

    name: str
    n_ctx: int = 0


@dataclass(frozen=True, slots=True)
class ModelsListed(EventBase):
    """Last event of ListModels.

    `url`: the base address that worked, which may be the requested one with `/v1` added. `software`: name and version
    of the server's program, empty if unknown.
    """

    url: str
    software: str
    models: tuple[ServedModel, ...]


@dataclass(frozen=True, slots=True)
class PageRead(EventBase):
    """Last event of ReadPage.

    `url`: where the page was found, after redirects. `kind`: its media type, and `charset`: the encoding that the
    server names; empty if it names none. `data`: the page's bytes, unpacked.
    """

    url: str
    kind: str
    charset: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Cancelled(EventBase):
    """Last event of Cancel. `found`: False if the request had already ended."""

    found: bool


@dataclass(frozen=True, slots=True)
class AnsweringNow(EventBase):
    """Last event of AnswerNow. `found`: False if the request is not running or not thinking; then nothing happens."""

    found: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """One of the user's choices when a chat is longer than the context.

    `forget_turns`: send again with `turns` added to Generate.forget_turns. `larger_context`: load again with `n_ctx`.
    `smaller_kv`: load again with `kv_type` and `n_ctx`, which then fits this computer's memory. `other_model`, which
    the window adds: load the model at `path` with `n_ctx`. `sum_up`, which the window adds too: have the model sum up
    the oldest turns.
    """

    kind: Literal["forget_turns", "larger_context", "smaller_kv", "other_model", "sum_up"]
    turns: int = 0
    n_ctx: int = 0
    kv_type: KVType = DEFAULT_KV_TYPE
    path: str = ""


@dataclass(frozen=True, slots=True)
class Failed(EventBase):
    """Last event of any request that failed.

    `sentence`: the reason for the user, worded in any language. `detail`: for the log. `code`, `message`: the
    sentence's kind and its English text, for programs that do not know our sentences. `remedies`: what the user can do.
    """

    sentence: Sentence = NO_SENTENCE
    detail: str = ""
    remedies: tuple[Remedy, ...] = ()
    code: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        _fill_code_and_message(self)


def _fill_code_and_message(event: Failed | Notice) -> None:
    object.__setattr__(event, "code", event.code or event.sentence.code)
    object.__setattr__(event, "message", event.message or str(event.sentence))


Event = (
    Welcome | LoadProgress | SpeedExpected | Loaded | Restart | Faster | Unloaded | PrefillProgress | Text
    | ThinkingStarted | Thinking | ThinkingEnded | ToolCallStarted | ToolCallArguments | Logprobs | Trace | Finished
    | Prepared | Titled | Counted | Tokenized | Detokenized | Embedded | Forgotten | Notice | StatusReport | Watching
    | Pulse | ModelsListed | PageRead | Cancelled | AnsweringNow | Failed
)  # fmt: skip
ENDS = (
    Welcome, Loaded, Restart, Unloaded, Finished, Prepared, Titled, Counted, Tokenized, Detokenized, Embedded,
    Forgotten, StatusReport, Watching, ModelsListed, PageRead, Cancelled, AnsweringNow, Failed,
)  # fmt: skip
WRITTEN = (Text, ThinkingStarted, Thinking, ThinkingEnded)  # the events whose texts, joined, are the answer
