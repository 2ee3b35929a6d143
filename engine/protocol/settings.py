"""Settings of requests, each declared once: dialogs, settings.toml, command line and requests are made from this table.

A new setting is one more entry here; `docs/architecture.md` shows one. The table is not in the window's code, because
the engine's commands are made from it too and know no window. Settings of the window alone (language, theme) are in
`app/settings/schema.py`, in the same form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from engine.protocol.requests import MOST_DEVICE_NAME, MOST_LOOKUP, MOST_SEED, MOST_SEQUENCES, Generate

AUTO = "auto"
NONE = "none"  # value of a file setting without a file
MB, GB = 10**6, 10**9
SUGGESTED = Generate(0, ())  # source of the requests' defaults
SAMPLING, LOOKUP, THINKING = SUGGESTED.sampling, SUGGESTED.lookup, SUGGESTED.thinking
Value = int | float | str
T = TypeVar("T")
Kind = Literal["whole", "number", "size", "choice", "name", "text", "file", "folder"]
Scope = Literal["global", "model", "chat"]


def mark(text: str) -> str:
    """Return `text` unchanged; the call marks text that the window shows, so that the translation tools find it."""
    return text


@dataclass(frozen=True, slots=True)
class Flag:
    """Option of the engine's commands for a setting. `group`: heading in the help text ("" for the general one)."""

    name: str
    help: str
    metavar: str | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. Sizes are bytes.

    `section`, `key`: place in settings.toml. `default`: the machine's suggestion. `low`, `high`: bounds of numbers,
    sizes and text lengths. `choices`: values of a choice, each with the words shown for it; a name may be any other
    text, too. `auto`: a number or size
    may be AUTO too. `advanced`: shown at the end of its section, apart from the others. `scope`: the smallest thing
    that can have a value of its own. `per_model`: one model can have one too, although a chat can. `shared`: False if
    there is no value for all models. `own_help`: help text for one model or chat, if it differs. `fills`: the request
    and its field that the value goes to; AUTO leaves the request's default. `flag`: option of the engine's commands.
    `baselines`: choices that are published methods, for comparison, which dialogs leave out; `baseline`: the whole
    setting is about such a method. `listed`: False if no dialog has a row for it, because a page of its own shows it or
    it is for research. `slides`: lowest number, highest number and step of a slider, for numbers with a usual range.
    """

    section: str
    key: str
    kind: Kind
    default: Value
    title: str
    help: str
    low: float = 0
    high: float = math.inf
    choices: tuple[tuple[str, str], ...] = ()
    auto: bool = False
    advanced: bool = False
    scope: Scope = "global"
    per_model: bool = False
    baselines: tuple[str, ...] = ()
    baseline: bool = False
    shared: bool = True
    listed: bool = True
    own_help: str = ""
    fills: str = ""
    flag: Flag | None = None
    slides: tuple[float, float, float] | None = None

    @property
    def name(self) -> str:
        """Full name, as in settings.toml: `engine.threads`."""
        return f"{self.section}.{self.key}"


ANSWER = (
    Setting(
        "answer", "system_prompt", "text", "", mark("Instructions"),
        mark("Instructions that the model reads before every chat."),
        high=20_000, scope="chat", own_help=mark("Instructions that the model reads before this chat."),
        fills="system_prompt",
    ),
    Setting(
        "answer", "temperature", "number", SAMPLING.temperature, mark("Temperature"),
        mark("How varied the wording is. 0 always takes the most likely token; higher values are more creative."),
        high=10, slides=(0, 2, 0.05), scope="chat", fills="generate.sampling.temperature",
        flag=Flag("--temp", "temperature, 0 = greedy (default: as the model's makers recommend, else 0.8)", "T"),
    ),
    Setting(
        "answer", "top_k", "whole", SAMPLING.top_k, mark("Top-k"),
        mark("Only this many of the most likely tokens are considered. 0 turns this off."),
        high=1_000_000, scope="chat", fills="generate.sampling.top_k",
    ),
    Setting(
        "answer", "top_p", "number", SAMPLING.top_p, mark("Top-p"),
        mark("Only the most likely tokens that together reach this probability are considered. 1 turns this off."),
        low=0.01, high=1, slides=(0.05, 1, 0.05), scope="chat", fills="generate.sampling.top_p",
    ),
    Setting(
        "answer", "min_p", "number", SAMPLING.min_p, mark("Min-p"),
        mark("Tokens below this share of the most likely token's probability are not considered. 0 turns this off."),
        high=1, slides=(0, 0.5, 0.01), scope="chat", fills="generate.sampling.min_p",
    ),
    Setting(
        "answer", "repeat_penalty", "number", SAMPLING.repeat_penalty, mark("Repeat penalty"),
        mark("Above 1, recent words are less likely to be repeated. At 1, small models can get stuck in loops."),
        low=0.1, high=10, slides=(1, 1.5, 0.01), scope="chat", fills="generate.sampling.repeat_penalty",
    ),
    Setting(
        "answer", "presence_penalty", "number", SAMPLING.presence_penalty, mark("Presence penalty"),
        mark("Above 0, words that were used recently are less likely to be used again. 0 turns this off."),
        low=-2, high=2, slides=(-2, 2, 0.1), scope="chat", fills="generate.sampling.presence_penalty",
    ),
    Setting(
        "answer", "seed", "whole", AUTO, mark("Seed"),
        mark("With ik_llama.cpp, the same seed gives the same answer to the same chat; with llama.cpp, rounding can "
             "change it. Automatic: a new seed each time."),
        low=0, high=MOST_SEED, auto=True, scope="chat", fills="generate.sampling.seed",
        flag=Flag("--seed", "random seed; with ik_llama.cpp the same seed gives the same answer, with llama.cpp "
                            "rounding can change it", "S"),
    ),
    Setting(
        "answer", "max_tokens", "whole", AUTO, mark("Maximum answer length"),
        mark("An answer ends after this many tokens. Automatic: when the model ends it, or the context is full."),
        low=1, high=10_000_000, auto=True, scope="chat", fills="generate.max_tokens",
        flag=Flag("--max-tokens", "maximum length of an answer, in tokens", "N"),
    ),
    Setting(
        "answer", "thinking", "choice", THINKING.mode, mark("Think first"),
        mark("Whether the model thinks before it answers. Only for models that offer the choice. Automatic: as the "
             "model's makers suggest."),
        choices=((AUTO, mark("Automatic")), ("on", mark("On")), ("off", mark("Off"))),
        scope="chat", per_model=True, fills="generate.thinking.mode",
        flag=Flag("--think", "whether the model thinks before it answers, if it offers the choice (default: as its "
                             "chat template says)"),
    ),
    Setting(
        "answer", "thinking_effort", "choice", THINKING.effort, mark("Thinking effort"),
        mark("How much the model thinks. Only for models that offer the choice, such as gpt-oss. Automatic: as the "
             "model's makers suggest."),
        choices=(
            (AUTO, mark("Automatic")), ("low", mark("Low")), ("medium", mark("Medium")), ("high", mark("High")),
        ),
        scope="chat", per_model=True, fills="generate.thinking.effort",
        flag=Flag("--effort", "how much the model thinks, if it offers the choice (default: as its chat template "
                              "says)"),
    ),
    Setting(
        "answer", "thinking_budget", "whole", THINKING.budget, mark("Thinking limit"),
        mark("After this many tokens of thinking the model must answer. 0: no limit."),
        high=10_000_000, scope="chat", per_model=True, fills="generate.thinking.budget",
        flag=Flag("--thinking-budget", "after this many tokens of thinking the model must answer (default: 0, no "
                                       "limit)", "N"),
    ),
)  # fmt: skip
PUBLISHED = "options for --draft history-published"
ENGINE = (
    Setting(
        "engine", "context", "whole", AUTO, mark("Context"),
        mark("How many tokens of a chat the model can see at once. Automatic: as many as fit into memory."),
        low=64, high=100_000_000, auto=True, scope="model",
        own_help=mark("How many tokens of a chat this model can see at once. Automatic: the global setting."),
        fills="load.n_ctx",
        flag=Flag("--ctx", "context in tokens (default: what fits, up to 32768)", "N"),
    ),
    Setting(
        "engine", "threads", "whole", AUTO, mark("Threads"),
        mark("Processor threads to use. Automatic: the number that suits this computer."),
        low=1, high=512, auto=True, advanced=True, scope="model",
        own_help=mark("Processor threads used for this model. Automatic: the global setting."),
        fills="load.threads",
        flag=Flag("--threads", "threads (default: physical cores)", "N"),
    ),
    Setting(
        "engine", "power", "choice", SUGGESTED.power, mark("Save power"),
        mark("Uses fewer threads where that costs little speed, and leaves work for idle time until the computer is "
             "plugged in."),
        choices=((AUTO, mark("Automatic (on battery)")), ("save", mark("Always")), ("full", mark("Never"))),
        fills="generate.power",
        flag=Flag(
            "--power",
            "save: fewer threads where that costs little speed; full: as many as are fastest (default: auto, which "
            "saves power on battery)",
        ),
    ),
    Setting(
        "engine", "memory", "size", AUTO, mark("Memory"),
        mark("The most memory the engine may use, for example 4GB. Automatic: free memory, less a reserve."),
        low=128 * MB, high=1000 * GB, auto=True, fills="load.memory_bytes",
        flag=Flag("--memory", "use at most this much, for example 4GB (default: what is free)", "SIZE"),
    ),
    Setting(
        "engine", "backend", "choice", AUTO, mark("Backend"),
        mark("The library that runs models. Automatic: the faster one for each model, timed while the computer is "
             "idle."),
        choices=(
            (AUTO, mark("Automatic")), ("llama", "llama.cpp"), ("ik", "ik_llama.cpp"),
            ("graph", mark("Built-in engine (experimental)")),
        ),
        advanced=True, scope="model", fills="load.backend",
        flag=Flag("--backend", "what runs the model: llama.cpp, ik_llama.cpp, the built-in engine, or the faster "
                               "library (default: auto)"),
    ),
    Setting(
        "engine", "device", "name", AUTO, mark("Graphics processor"),
        mark("What may compute beside the processor. Automatic: a graphics processor that was timed to be faster."),
        low=1, high=MOST_DEVICE_NAME, choices=((AUTO, mark("Automatic")), ("off", mark("Off"))), fills="load.device",
        flag=Flag("--device", "graphics processor that may compute: a part of its name, off, or auto for one that was "
                              "timed to be faster (default: auto)", "NAME"),
    ),
    Setting(
        "engine", "kv_type", "choice", AUTO, mark("KV cache precision"),
        mark("How exactly the model remembers the chat. Fewer bits leave room for a longer context and need flash "
             "attention."),
        choices=(
            (AUTO, mark("Automatic")), ("f16", mark("16 bits (f16)")),
            ("q8_0", mark("8 bits (q8_0)")), ("q4_0", mark("4 bits (q4_0)")),
        ),
        scope="model", fills="load.kv_type",
        flag=Flag("--kv-type", "precision of the KV cache (default: f16, or q8_0 where f16 does not fit)"),
    ),
    Setting(
        "engine", "draft_model", "file", NONE, mark("Draft model"),
        mark("A small model of the same family that drafts tokens for this model to check."),
        choices=((NONE, mark("None")),),
        scope="model", shared=False, fills="load.draft_model",
        flag=Flag("--draft-model", "GGUF file of a draft model", "PATH"),
    ),
    Setting(
        "engine", "flash_attention", "choice", AUTO, mark("Flash attention"),
        mark("Computes attention without storing all scores. Uses less memory, and an 8-bit or 4-bit KV cache needs "
             "it. Off is for comparison."),
        choices=((AUTO, mark("Automatic (on)")), ("on", mark("On")), ("off", mark("Off"))),
        advanced=True, scope="model", fills="load.flash_attention",
        flag=Flag("--flash-attention", "off stores all attention scores: more memory, f16 only, for comparison "
                                       "(default: auto, which is on)"),
    ),
    Setting(
        "engine", "kv_mode", "choice", "exact", mark("Head compression"),
        mark("Lossy: part of the model remembers less, so that long chats take less memory. Needs the built-in "
             "engine and a ranking of the model's heads, which benchmarks.rank_heads in Chickadee's source code "
             "makes."),
        choices=(
            ("exact", mark("Off (exact)")), ("merged", mark("Merged tokens (lossy)")),
            ("window", mark("Sliding window (lossy)")), ("published", mark("Published method (lossy)")),
        ),
        advanced=True, listed=False, scope="model", baselines=("published",), fills="load.kv_mode",
        flag=Flag("--kv", "keep the whole KV cache (exact), or compress a share of the heads (lossy; default: exact)"),
    ),
    Setting(
        "engine", "kv_share", "number", AUTO, mark("Share of heads to compress"),
        mark("The share of attention heads to compress, from 0.01 to 1. Automatic: a quarter."),
        low=0.01, high=1, auto=True, advanced=True, listed=False, scope="model",
        own_help=mark("The share of this model's attention heads to compress, from 0.01 to 1. Automatic: the global "
                      "setting."),
        fills="load.kv_share",
        flag=Flag("--kv-share", "share of the heads that --kv compresses, up to 1 (default: 0.25)", "S"),
    ),
    Setting(
        "engine", "kv_policy", "choice", SUGGESTED.kv_policy, mark("KV cache policy"),
        mark("Which tokens stay in the KV cache: all of them, or those chosen by measurements on this computer or "
             "by a published rule."),
        choices=(
            ("measured", mark("Measured")), ("always", mark("Keep all")), ("published", mark("Published rule")),
        ),
        advanced=True, listed=False, scope="model", baselines=("published",), fills="generate.kv_policy",
        flag=Flag("--kv-policy", "which tokens stay in the KV cache (default: measured)"),
    ),
    Setting(
        "engine", "draft", "choice", SUGGESTED.draft, mark("Speculative decoding"),
        mark("Drafts several tokens ahead and lets the model check them at once, which can make answers faster. "
             "Tokens are drafted from the chat's own text, from common phrases, by layers that some models bring "
             "along for this, by a draft model (chosen in the options of a model) or by the model's own early layers "
             "(built-in engine only). If the chosen form is not available, “When faster” is used."),
        choices=(
            (AUTO, mark("When faster")), ("off", mark("Off")), ("history", mark("Prompt lookup, when faster")),
            ("history-published", mark("Prompt lookup (published)")),
            ("phrases", mark("Common phrases, when faster")),
            ("mtp", mark("The model's own drafter, when faster")),
            ("model", mark("Draft model, when faster")),
            ("model-published", mark("Draft model (published)")),
            ("midlayer", mark("Early layers, when faster")),
            ("midlayer-published", mark("Early layers (published)")),
        ),
        advanced=True, scope="model", baselines=("history-published", "model-published", "midlayer-published"),
        fills="generate.draft",
        flag=Flag("--draft", "speculative decoding: drafts from the chat's own text (history), from common phrases "
                             "(phrases), by layers that a model brings along for it (mtp), by a draft model (model), "
                             "by the model's early layers (midlayer), or by whichever is faster (default: auto)"),
    ),
    Setting(
        "engine", "exit_layers", "whole", AUTO, mark("Draft layers"),
        mark("How many of the model's early layers draft tokens. Automatic: the fastest number that "
             "benchmarks.midlayer in Chickadee's source code has measured."),
        low=1, high=4096, auto=True, advanced=True, listed=False, fills="generate.exit_layers",
        flag=Flag("--layer", "with --draft midlayer: how many layers draft (default: the fastest number measured)",
                  "L"),
    ),
    Setting(
        "engine", "lookup_match", "whole", LOOKUP.match, mark("Prompt lookup: match length"),
        mark("Prompt lookup (published): how many of the last tokens must match earlier text."),
        low=1, high=16, advanced=True, baseline=True, fills="generate.lookup.match",
        flag=Flag("--match", "how many of the last tokens must match (default: 1)", "N", PUBLISHED),
    ),
    Setting(
        "engine", "lookup_m", "whole", LOOKUP.m, mark("Prompt lookup: matches (m)"),
        mark("Prompt lookup (published): how many earlier matches are tried at once. Together with the tokens of "
             "each match, at most 64 tokens in all."),
        low=1, high=MOST_SEQUENCES, advanced=True, baseline=True, fills="generate.lookup.m",
        flag=Flag("--m", "matches tried at once (default: 1)", "M", PUBLISHED),
    ),
    Setting(
        "engine", "lookup_n", "whole", LOOKUP.n, mark("Prompt lookup: tokens per match (n)"),
        mark("Prompt lookup (published): how many tokens are drafted from each match."),
        low=2, high=MOST_LOOKUP, advanced=True, baseline=True, fills="generate.lookup.n",
        flag=Flag("--n", "tokens per match (default: 4)", "N", PUBLISHED),
    ),
    Setting(
        "engine", "lookup_select", "choice", LOOKUP.select, mark("Prompt lookup: which matches"),
        mark("Prompt lookup (published): which earlier matches are tried."),
        choices=(("recent", mark("Most recent")), ("random", mark("Any"))),
        advanced=True, baseline=True, fills="generate.lookup.select",
        flag=Flag("--select", "which matches (default: recent)", None, PUBLISHED),
    ),
)  # fmt: skip
CACHE = (
    Setting(
        "cache", "saved_chats", "size", 2 * GB, mark("Disk space"),
        mark("Space for cached context, which lets long chats open quickly. 0 turns caching off and deletes the "
             "cache."),
        high=1000 * GB, fills="load.saved_chats_bytes",
    ),
)  # fmt: skip
OF_REQUESTS = {setting.name: setting for setting in (*ANSWER, *ENGINE, *CACHE)}


def filled(target: T, values: Mapping[str, object]) -> T:
    """Return a copy of a request with these values in its fields; the name `sampling.seed` means a field of a field."""
    own_fields: dict[str, Any] = {}
    nested: dict[str, dict[str, object]] = {}
    for field, value in values.items():
        name, _, nested_field = field.partition(".")
        if nested_field:
            nested.setdefault(name, {})[nested_field] = value
        else:
            own_fields[name] = value
    own_fields |= {name: filled(getattr(target, name), parts) for name, parts in nested.items()}
    return replace(target, **own_fields)  # type: ignore[type-var]
