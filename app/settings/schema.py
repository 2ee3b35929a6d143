"""The settings there are, in the order the window shows them."""

from __future__ import annotations

from app.settings.setting import ADVANCED, AUTO, Setting
from app.words import mark, tr
from engine.protocol import MOST_LOOKUP, MOST_SEED, MOST_SEQUENCES, Generate
from models.network import ALLOWED

MB, GB = 10**6, 10**9
SUGGESTED = Generate(0, ())  # the protocol's own defaults
LOOKUP = SUGGESTED.lookup
SECTIONS = {
    "window": mark("General"),
    "answer": mark("Answers"),
    "engine": mark("Engine"),
    "cache": mark("Cached context"),
    "models": mark("Models"),
}
GROUPS = SECTIONS | {ADVANCED: mark("Advanced")}  # as the window shows them

WINDOW = (
    Setting(
        "window", "language", "choice", AUTO, mark("Language"),
        mark("The language of Chickadee's menus, buttons and messages. Models answer in the language you write in."),
        choices=((AUTO, mark("System default")), ("en", "English"), ("zh_CN", "简体中文")),
    ),
    Setting(
        "window", "theme", "choice", AUTO, mark("Theme"),
        mark("Light or dark. System default follows the system, also when it changes."),
        choices=((AUTO, mark("System default")), ("light", mark("Light")), ("dark", mark("Dark"))),
    ),
    Setting(
        "window", "text_size", "whole", 100, mark("Text size"),
        mark("In percent, from 80 to 200. Ctrl and + or - change it too; Ctrl+0 resets it."),
        low=80, high=200,
    ),
)  # fmt: skip

ANSWER = (
    Setting(
        "answer", "system_prompt", "text", "", mark("Instructions"),
        mark("Instructions that the model reads before every chat."),
        high=20_000,
    ),
    Setting(
        "answer", "temperature", "number", SUGGESTED.sampling.temperature, mark("Temperature"),
        mark("How varied the wording is. 0 always takes the most likely token; higher values are more creative."),
        high=10,
    ),
    Setting(
        "answer", "top_k", "whole", SUGGESTED.sampling.top_k, mark("Top-k"),
        mark("Only this many of the most likely tokens are considered. 0 turns this off."),
        high=1_000_000,
    ),
    Setting(
        "answer", "top_p", "number", SUGGESTED.sampling.top_p, mark("Top-p"),
        mark("Only the most likely tokens that together reach this probability are considered. 1 turns this off."),
        low=0.01, high=1,
    ),
    Setting(
        "answer", "min_p", "number", SUGGESTED.sampling.min_p, mark("Min-p"),
        mark("Tokens below this share of the most likely token's probability are not considered. 0 turns this off."),
        high=1,
    ),
    Setting(
        "answer", "repeat_penalty", "number", SUGGESTED.sampling.repeat_penalty, mark("Repeat penalty"),
        mark("Above 1, recent words are less likely to be repeated. At 1, small models can get stuck in loops."),
        low=0.1, high=10,
    ),
    Setting(
        "answer", "seed", "whole", AUTO, mark("Seed"),
        mark("The same seed gives the same answer to the same chat. Automatic: a new seed each time."),
        low=0, high=MOST_SEED, auto=True,
    ),
    Setting(
        "answer", "max_tokens", "whole", AUTO, mark("Maximum answer length"),
        mark("An answer ends after this many tokens. Automatic: when the model ends it, or the context is full."),
        low=1, high=10_000_000, auto=True,
    ),
)  # fmt: skip
ENGINE = (
    Setting(
        "engine", "context", "whole", AUTO, mark("Context"),
        mark("How many tokens of a chat the model can see at once. Automatic: as many as fit into memory."),
        low=64, high=100_000_000, auto=True,
    ),
    Setting(
        "engine", "threads", "whole", AUTO, mark("Threads"),
        mark("Processor threads to use. Automatic: the number that suits this computer."),
        low=1, high=512, auto=True, advanced=True,
    ),
    Setting(
        "engine", "memory", "size", AUTO, mark("Memory"),
        mark("The most memory the engine may use, for example 4GB. Automatic: free memory, less a reserve."),
        low=128 * MB, high=1000 * GB, auto=True,
    ),
    Setting(
        "engine", "backend", "choice", AUTO, mark("Backend"),
        mark("The library that runs models. Automatic: the faster one for each model, timed while the computer is "
             "idle."),
        choices=(
            (AUTO, mark("Automatic")), ("llama", "llama.cpp"), ("ik", "ik_llama.cpp"),
            ("graph", mark("Built-in engine (experimental)")),
        ),
        advanced=True,
    ),
    Setting(
        "engine", "kv_type", "choice", AUTO, mark("KV cache precision"),
        mark("How exactly the model remembers the chat. Fewer bits leave room for a longer context and need flash "
             "attention."),
        choices=(
            (AUTO, mark("Automatic")), ("f16", mark("16 bits (f16)")),
            ("q8_0", mark("8 bits (q8_0)")), ("q4_0", mark("4 bits (q4_0)")),
        ),
    ),
    Setting(
        "engine", "flash_attention", "choice", AUTO, mark("Flash attention"),
        mark("Computes attention without storing all scores. Uses less memory, and an 8-bit or 4-bit KV cache needs "
             "it. Off is for comparison."),
        choices=((AUTO, mark("Automatic (on)")), ("on", mark("On")), ("off", mark("Off"))),
        advanced=True,
    ),
    Setting(
        "engine", "kv_mode", "choice", "exact", mark("Head compression"),
        mark("Lossy: part of the model remembers less, so that long chats take less memory. Needs the built-in "
             "engine and a ranking of the model's heads (python -m engine rank-heads)."),
        choices=(
            ("exact", mark("Off (exact)")), ("merged", mark("Merged tokens (lossy)")),
            ("window", mark("Sliding window (lossy)")), ("published", mark("Published method (lossy)")),
        ),
        advanced=True,
    ),
    Setting(
        "engine", "kv_share", "number", AUTO, mark("Share of heads to compress"),
        mark("The share of attention heads to compress, from 0.01 to 1. Automatic: a quarter."),
        low=0.01, high=1, auto=True, advanced=True,
    ),
    Setting(
        "engine", "kv_policy", "choice", SUGGESTED.kv_policy, mark("KV cache policy"),
        mark("Which tokens stay in the KV cache: all of them, or those chosen by measurements on this computer or "
             "by a published rule."),
        choices=(
            ("measured", mark("Measured")), ("always", mark("Keep all")), ("published", mark("Published rule")),
        ),
        advanced=True,
    ),
    Setting(
        "engine", "draft", "choice", SUGGESTED.draft, mark("Speculative decoding"),
        mark("Drafts several tokens ahead and lets the model check them at once, which can make answers faster. "
             "Tokens are drafted from the chat's own text, from common phrases, by a draft model (chosen in the "
             "options of a model) or by the model's own early layers (built-in engine only). If the chosen form is "
             "not available, “When faster” is used."),
        choices=(
            (AUTO, mark("When faster")), ("off", mark("Off")), ("history", mark("Prompt lookup, when faster")),
            ("history-published", mark("Prompt lookup (published)")),
            ("phrases", mark("Common phrases, when faster")),
            ("model", mark("Draft model, when faster")),
            ("model-published", mark("Draft model (published)")),
            ("midlayer", mark("Early layers, when faster")),
            ("midlayer-published", mark("Early layers (published)")),
        ),
        advanced=True,
    ),
    Setting(
        "engine", "exit_layers", "whole", AUTO, mark("Draft layers"),
        mark("How many of the model's early layers draft tokens. Automatic: the fastest number measured (python -m "
             "engine calibrate --midlayer)."),
        low=1, high=4096, auto=True, advanced=True,
    ),
    Setting(
        "engine", "lookup_match", "whole", LOOKUP.match, mark("Prompt lookup: match length"),
        mark("Prompt lookup (published): how many of the last tokens must match earlier text."),
        low=1, high=16, advanced=True,
    ),
    Setting(
        "engine", "lookup_m", "whole", LOOKUP.m, mark("Prompt lookup: matches (m)"),
        mark("Prompt lookup (published): how many earlier matches are tried at once. Together with the tokens of "
             "each match, at most 64 tokens in all."),
        low=1, high=MOST_SEQUENCES, advanced=True,
    ),
    Setting(
        "engine", "lookup_n", "whole", LOOKUP.n, mark("Prompt lookup: tokens per match (n)"),
        mark("Prompt lookup (published): how many tokens are drafted from each match."),
        low=2, high=MOST_LOOKUP, advanced=True,
    ),
    Setting(
        "engine", "lookup_select", "choice", LOOKUP.select, mark("Prompt lookup: which matches"),
        mark("Prompt lookup (published): which earlier matches are tried."),
        choices=(("recent", mark("Most recent")), ("random", mark("Any"))),
        advanced=True,
    ),
)  # fmt: skip
CACHE = (
    Setting(
        "cache", "saved_chats", "size", 2 * GB, mark("Disk space"),
        mark("Space for cached context, which lets long chats open quickly. 0 turns caching off and deletes the "
             "cache."),
        high=1000 * GB,
    ),
)  # fmt: skip
MODELS = (
    Setting(
        "models", "network", "choice", ALLOWED, mark("Connections"),
        mark("Chickadee connects only when you search for or download models. “Never” blocks that too."),
        choices=((ALLOWED, mark("When I ask for it")), ("forbidden", mark("Never"))),
    ),
)  # fmt: skip
SETTINGS = (*WINDOW, *ANSWER, *ENGINE, *CACHE, *MODELS)
NAMES = {setting.key: dict(setting.choices) for setting in ENGINE}  # of choices, by the keys of settings


def choice_words(key: str, value: str) -> str:
    """What a choice of a setting is called; one that only a newer engine knows, as that calls it."""
    words = NAMES[key].get(value)
    return value if words is None else tr(words)
