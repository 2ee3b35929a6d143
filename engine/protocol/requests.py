"""Requests: messages from the window to the engine. Every request has an `id`, which its events repeat."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from common.planning import KVType
from common.power import PowerMode

Role = Literal["system", "user", "assistant", "tool"]
KVPolicy = Literal["always", "published", "measured"]
KVModeName = Literal["exact", "published", "merged", "window"]
DraftMode = Literal[
    "off",
    "auto",
    "history",
    "history-published",
    "phrases",
    "mtp",
    "model",
    "model-published",
    "midlayer",
    "midlayer-published",
]
BackendName = Literal["llama", "ik", "graph"]
BackendWish = Literal["auto", "llama", "ik", "graph"]
Switch = Literal["off", "on"]
FlashAttention = Literal["auto", "on", "off"]
Limit = Literal["files", "network", "integrity"]
StopReason = Literal["end", "stop", "length", "context", "cancelled", "tool_calls"]
ConstraintKind = Literal["json_object", "json_schema", "grammar"]
ToolChoice = Literal["auto", "none", "required"]
ThinkingMode = Literal["auto", "on", "off"]
ThinkingEffort = Literal["auto", "low", "medium", "high"]
MOST_DEVICE_NAME = 200  # characters
MOST_SEED = 2**32 - 2  # llama.cpp reads the next number as “random”
MOST_TOP_LOGPROBS = 20
MOST_BIAS = 100.0
MOST_PICTURE_SIDE = 8192  # pixels


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool in an answer. `id`: names the call; `arguments`: a JSON object as text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture for the model to see: a PNG or JPEG file.

    `digest`: SHA-256 of the file's bytes in hexadecimal digits; `width`, `height`: in pixels. The bytes are `data`, or
    lie in the file `path`, which must be in the folder of pictures (`common.folders.pictures_folder`).
    """

    digest: str
    width: int
    height: int
    path: str = ""
    data: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        check(bool(re.fullmatch(r"[0-9a-f]{64}", self.digest)), "a picture needs its SHA-256 digest")
        check(
            0 < self.width <= MOST_PICTURE_SIDE and 0 < self.height <= MOST_PICTURE_SIDE,
            f"a picture has 1 to {MOST_PICTURE_SIDE} pixels on each side, not {self.width} × {self.height}",
        )
        check(bool(self.path) != bool(self.data), "a picture has either a path or data")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat, as the model's chat template receives it.

    `tool_calls`: the calls that an answer made. A message of the role tool is the result of a call; `tool_call_id`:
    which one. `pictures`: what the model sees before it reads the content. `reasoning`: what an answer was thought out
    with, for templates that tell the model of it.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    pictures: tuple[Picture, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may ask its user to call.

    `parameters`: JSON schema of the arguments as JSON text; empty: it has none.
    """

    name: str
    description: str = ""
    parameters: str = ""

    def __post_init__(self) -> None:
        check(bool(re.fullmatch(r"[\w.-]{1,64}", self.name)), f"a tool's name must not be {self.name!r:.80}")


@dataclass(frozen=True, slots=True)
class Constraint:
    """Form that an answer must have; thoughts are free.

    `kind`: any JSON object, JSON by a schema (`text`, JSON), or text by a grammar (`text`, llama.cpp's GBNF).
    """

    kind: ConstraintKind
    text: str = ""


@dataclass(frozen=True, slots=True)
class Infill:
    """A text whose middle is to be written, between `prefix` and `suffix`.

    `files`: names and texts of other files, which tell the model more.
    """

    prefix: str
    suffix: str
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """Options for choosing the next token, with llama.cpp's names and meanings.

    `temperature`: randomness; 0 is greedy. `top_k`: only the k likeliest tokens (0: off). `top_p`: only the likeliest
    tokens that together reach this probability (1: off). `min_p`: only tokens with at least this share of the likeliest
    token's probability (0: off). `repeat_penalty`: divisor of the logits of recent tokens (1: off).
    `presence_penalty`: subtracted from them (0: off); `frequency_penalty`: subtracted once for each time they occur.
    `repeat_last_n`: number of recent tokens that the penalties cover. `logit_bias`: tokens, each with a number that is
    added to its logit. `seed`: None for a random one.

    Defaults are llama.cpp's, except for a mild repeat penalty: small models fall into endless loops without one.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.1
    presence_penalty: float = 0.0
    repeat_last_n: int = 64
    seed: int | None = None
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        check_between("temperature", self.temperature, 0, 10)
        check(self.top_k >= 0, f"top-k must be 0 (off) or more, not {self.top_k}")
        check_above_0("top-p", self.top_p, 1)
        check_between("min-p", self.min_p, 0, 1)
        check_above_0("repeat penalty", self.repeat_penalty, 10)
        check_between("presence penalty", self.presence_penalty, -2, 2)
        check_between("frequency penalty", self.frequency_penalty, -2, 2)
        check(
            all(token >= 0 and abs(bias) <= MOST_BIAS for token, bias in self.logit_bias),
            f"a logit bias must lie between -{MOST_BIAS:g} and {MOST_BIAS:g}",
        )
        check(self.repeat_last_n >= 0, f"repeat window must be 0 or more tokens, not {self.repeat_last_n}")
        check_between("seed", self.seed, 0, MOST_SEED)


@dataclass(frozen=True, slots=True)
class ThinkingOptions:
    """Options for the model's reasoning before its answer.

    `mode`: whether it thinks, and `effort`: how much; auto: as its chat template says by default. Both are ignored
    where the template has no such switch (`ModelInfo.thinking`). `budget`: after this many tokens a thought is closed
    and the answer follows; 0: no limit.
    """

    mode: ThinkingMode = "auto"
    effort: ThinkingEffort = "auto"
    budget: int = 0

    def __post_init__(self) -> None:
        check(self.budget >= 0, f"the thinking budget must be 0 (no limit) or more tokens, not {self.budget}")


MOST_TITLE = 64  # tokens
MOST_LOOKUP = 64  # largest n and m·n, in tokens of a pass: more costs more than it can save on any processor
MOST_SEQUENCES = 16  # largest m: the engine reserves memory for each sequence


@dataclass(frozen=True, slots=True)
class Lookup:
    """Sizes of the published form of prompt lookup.

    `match`: number of last tokens that must match. `m`: number of earlier matches that are tried at once. `n`: inputs
    per match, of which the newest token is the first. `select`: use the most recent matches or random ones.
    """

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


class InvalidValue(ValueError):
    """A value that a field of a request must not have; `str()` is a sentence without its full stop."""


def check(condition: bool, sentence: str) -> None:
    """Raise InvalidValue with the sentence unless the condition holds."""
    if not condition:
        raise InvalidValue(sentence)


def check_between(name: str, value: float | None, low: int, high: int) -> None:
    """Raise InvalidValue unless `low` <= `value` <= `high` or the value is None."""
    shown = f"{value:g}" if isinstance(value, float) else value
    check(value is None or low <= value <= high, f"{name} must lie between {low} and {high}, not {shown}")


def check_above_0(name: str, value: float | None, high: int) -> None:
    """Raise InvalidValue unless 0 < `value` <= `high` or the value is None."""
    check(value is None or 0 < value <= high, f"{name} must lie above 0 and up to {high}, not {value or 0:g}")


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers in place of this computer. `url`: base address of its API; `key`: empty if it needs none.

    The key is in no representation of a request, so that no log and no report of a bug can have it.
    """

    url: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class RequestBase:
    """A request. `id`: names it; its events repeat this number."""

    id: int


@dataclass(frozen=True, slots=True)
class Hello(RequestBase):
    """First request of a connection. Ends with Welcome, or Failed if the engine has another protocol version."""


@dataclass(frozen=True, slots=True)
class Load(RequestBase):
    """Request to load a model in place of the loaded one. Ends with Loaded, Restart or Failed.

    `path`: the GGUF file. `n_ctx`: context in tokens; None: as many as fit. `threads`: None: the engine chooses.
    `memory_bytes`: the most memory that the engine may take; None: what the computer has free, less a reserve.
    `kv_type`: precision of keys and values; None: f16, or q8_0 where f16 does not fit. `saved_chats_bytes`: disk quota
    of saved chats; 0: save none; None: the engine's default. `draft_model`: file of a small model with the same
    vocabulary, which drafts for this one. `backend`: library that computes; auto or None: the faster one. `kv_mode`:
    with a mode other than exact, which needs the built-in engine, `kv_share` (0 to 1) of the kv-heads do not keep every
    token, and answers change a little. `flash_attention`: off stores all attention scores, which takes more memory and
    needs f16; auto: on. `server`: the server that has the model; `path` is then the model's name there, empty for its
    only one, and the other fields say nothing. `api`: whether memory is planned for the local API: its process, and
    answers with a given form. `device`: the graphics processor that may compute: auto for one that was measured to
    help, off for none, or a part of its name.
    """

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
    server: Server | None = None
    api: Switch = "off"
    device: str = "auto"

    def __post_init__(self) -> None:
        check(0 < len(self.device) <= MOST_DEVICE_NAME, "a device's name has 1 to 200 characters")
        check_above_0("the share of heads", self.kv_share, 1)
        check(
            self.saved_chats_bytes is None or self.saved_chats_bytes >= 0,
            f"saved chats take 0 bytes or more, not {self.saved_chats_bytes}",
        )
        check(self.memory_bytes is None or self.memory_bytes > 0, f"memory must be above 0, not {self.memory_bytes}")
        check(self.n_ctx is None or self.n_ctx >= 64, f"a context has 64 tokens or more, not {self.n_ctx}")
        check_between("threads", self.threads, 1, 512)


@dataclass(frozen=True, slots=True)
class Unload(RequestBase):
    """Request to free the model and its memory. Ends with Unloaded."""


@dataclass(frozen=True, slots=True)
class Generate(RequestBase):
    """Request to answer the last message. Ends with Finished.

    `max_tokens`: longest answer; None: until the model ends it or the context is full; 0: only read the prompt. `stop`:
    strings that end the answer. `chat`: the window's id of the chat, under which its keys and values may be saved;
    empty: they are never saved. `beginning`: id under which the chat's beginning may be saved, because other chats have
    the same one. `forget_turns`: number of oldest turns that are left out; system messages stay.
    `continue_last`: the last message is an answer to continue; the events carry only what is added. `kv_policy`: which
    tokens are cached. `draft`: which drafters propose tokens; published forms always draft, with the sizes of `lookup`,
    the others only where drafting pays on this machine. `exit_layers`: with midlayer, number of lower layers that
    draft; None: the measured best. `trace`: report every target pass as a Trace event. `thinking`: whether and how long
    it thinks.

    `constraint`: form that the answer must have. `tools`: functions that the model may call, all by the rule
    `tool_choice`; with "required", `tool` may name the only one; unless `parallel_tool_calls`, an answer has one call.
    `top_logprobs`: report each token's probability with those of so many likeliest tokens; None: report nothing.
    `prompt`: text or tokens to continue in place of `messages`, without a chat template; `infill`: text whose middle is
    to be written in their place. `score_prompt`: report the tokens of `prompt` too, before the answer. `background`:
    once it writes, it is paused for answers that are not in the background. `power`: whether to save power, with fewer
    threads where that costs little speed and without work in idle time; auto: while the computer runs on its battery.
    `sampling_thinking`: options in place of `sampling` for an answer that begins with a thought; None: the same.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    chat: str = ""
    beginning: str = ""
    forget_turns: int = 0
    continue_last: bool = False
    kv_policy: KVPolicy = "measured"
    draft: DraftMode = "auto"
    lookup: Lookup = field(default_factory=Lookup)
    exit_layers: int | None = None
    trace: bool = False
    thinking: ThinkingOptions = field(default_factory=ThinkingOptions)
    constraint: Constraint | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    tool: str = ""
    parallel_tool_calls: bool = True
    top_logprobs: int | None = None
    prompt: str | tuple[int, ...] | None = None
    infill: Infill | None = None
    score_prompt: bool = False
    background: bool = False
    power: PowerMode = "auto"
    sampling_thinking: Sampling | None = None

    def sampling_for(self, thinks: bool) -> Sampling:
        """Return the sampling of this answer; `thinks`: whether the model thinks unless it is told otherwise."""
        thinking = self.thinking.mode == "on" or (self.thinking.mode == "auto" and thinks)
        in_a_chat = self.prompt is None and self.infill is None
        return (self.sampling_thinking if thinking and in_a_chat else None) or self.sampling

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools]
        check(len(set(names)) == len(names), "each tool needs a name of its own")
        check(not self.tool or self.tool in names, f"there is no tool named {self.tool!r:.80}")
        check(self.tool_choice != "required" or bool(names), "a call is required, but there is no tool")
        check(
            self.top_logprobs is None or 0 <= self.top_logprobs <= MOST_TOP_LOGPROBS,
            f"top logprobs must be 0 to {MOST_TOP_LOGPROBS} tokens, not {self.top_logprobs}",
        )
        check(
            self.max_tokens is None or self.max_tokens >= 0,
            f"the longest answer must have 0 tokens or more, not {self.max_tokens}",
        )
        check(not self.score_prompt or self.top_logprobs is not None, "a prompt is scored only with logprobs")
        check(all(self.stop), "a stop string must not be empty")
        check(
            self.exit_layers is None or self.exit_layers >= 1,
            f"the layers that draft must be 1 or more, not {self.exit_layers}",
        )
        check(self.forget_turns >= 0, f"turns to forget must be 0 or more, not {self.forget_turns}")


@dataclass(frozen=True, slots=True)
class Prepare(RequestBase):
    """Request to prefill the messages without answering; any later request cuts it short. Ends with Prepared.

    `chat`, `beginning`, `thinking`, `power`, `tools`: as in Generate.
    """

    messages: tuple[Message, ...]
    chat: str = ""
    beginning: str = ""
    thinking: ThinkingOptions = field(default_factory=ThinkingOptions)
    power: PowerMode = "auto"
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Title(RequestBase):
    """Request for a few words about a chat, such as its title, in idle time. Ends with Titled.

    Any later request cuts it short. `messages`: the chat with its last answer, and the request for the words behind it.
    Nothing is written unless the chat is in the KV cache, which afterwards holds it as before. `max_tokens`: the most
    that are written. `chat`, `thinking`, `tools`: as in Generate.
    """

    messages: tuple[Message, ...]
    chat: str = ""
    max_tokens: int = 24
    thinking: ThinkingOptions = field(default_factory=ThinkingOptions)
    tools: tuple[Tool, ...] = ()

    def __post_init__(self) -> None:
        check(1 <= self.max_tokens <= MOST_TITLE, f"a title has 1 to {MOST_TITLE} tokens, not {self.max_tokens}")


@dataclass(frozen=True, slots=True)
class Count(RequestBase):
    """Request to count the loaded model's tokens of texts, and of messages as a prompt. Ends with Counted.

    The engine replies while an answer is still running. `thinking`, `tools`: as in Generate.
    """

    texts: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    thinking: ThinkingOptions = field(default_factory=ThinkingOptions)
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Tokenize(RequestBase):
    """Request for the loaded model's tokens of a text. Ends with Tokenized, also while an answer is still running.

    `add_special`: begin with the token that begins every prompt, if there is one. `parse_special`: the texts of control
    tokens become those tokens.
    """

    text: str
    add_special: bool = False
    parse_special: bool = True


@dataclass(frozen=True, slots=True)
class Detokenize(RequestBase):
    """Request for the text of tokens of the loaded model. Ends with Detokenized, also while an answer is running."""

    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Embed(RequestBase):
    """Request for vectors of texts, by which they can be compared. Ends with Embedded.

    `model`: file of an embedding model, which is loaded for this request; empty: the loaded model.
    """

    texts: tuple[str, ...]
    model: str = ""

    def __post_init__(self) -> None:
        check(bool(self.texts), "there is no text to embed")


@dataclass(frozen=True, slots=True)
class Forget(RequestBase):
    """Request to delete what is saved of a chat, because the user deleted the chat. Ends with Forgotten."""

    chat: str


@dataclass(frozen=True, slots=True)
class Cancel(RequestBase):
    """Request to stop the request with the id `request` as soon as possible. Ends with Cancelled.

    The stopped request still ends with its own last event.
    """

    request: int


@dataclass(frozen=True, slots=True)
class AnswerNow(RequestBase):
    """Request to end the thought of the running Generate with the id `request`, so that the answer follows at once.

    The engine replies while that Generate is running, with AnsweringNow.
    """

    request: int


@dataclass(frozen=True, slots=True)
class Status(RequestBase):
    """Request for what is loaded and how full the cache is. Ends with StatusReport."""


@dataclass(frozen=True, slots=True)
class Watch(RequestBase):
    """Request to switch Pulse events `on` or off. Ends with Watching.

    While the engine works, about two Pulse events come per second.
    """

    on: bool


@dataclass(frozen=True, slots=True)
class ListModels(RequestBase):
    """Request for what a server is and which models it has. Ends with ModelsListed. Only the remote engine knows it."""

    server: Server


@dataclass(frozen=True, slots=True)
class ReadPage(RequestBase):
    """Request for the web page at an address that the user gave. Ends with PageRead.

    Only the remote engine knows it. The address's host is taken as the user's own wish, also in a local network.
    """

    url: str


@dataclass(frozen=True, slots=True)
class Shutdown(RequestBase):
    """Request to free everything and end the process, without an event."""


Request = (
    Hello | Load | Unload | Generate | Prepare | Title | Count | Tokenize | Detokenize | Embed | Forget | Cancel
    | AnswerNow | Status | Watch | ListModels | ReadPage | Shutdown
)  # fmt: skip
