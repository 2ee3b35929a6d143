"""The settings there are, in the order the window shows them."""

from __future__ import annotations

from app.settings.setting import AUTO, Setting
from app.words import mark, tr
from engine.protocol import MOST_LOOKUP, MOST_SEED, MOST_SEQUENCES, Generate
from models.network import ALLOWED

GIB = 1 << 30
SUGGESTED = Generate(0, ())  # the protocol's own defaults
LOOKUP = SUGGESTED.lookup
SECTIONS = {
    "window": mark("Window"),
    "answer": mark("Answers"),
    "engine": mark("Engine"),
    "cache": mark("Saved chats"),
    "models": mark("Models"),
}

WINDOW = (
    Setting(
        "window", "language", "choice", AUTO, mark("Language"),
        mark("What menus, buttons and messages of Chickadee are written in; models answer in the language you write."),
        choices=((AUTO, mark("As the system")), ("en", "English"), ("zh_CN", "简体中文")),
    ),
    Setting(
        "window", "theme", "choice", AUTO, mark("Theme"),
        mark("Light or dark; automatic: as the system has it, also when that changes."),
        choices=((AUTO, mark("As the system")), ("light", mark("Light")), ("dark", mark("Dark"))),
    ),
    Setting(
        "window", "text_size", "whole", 100, mark("Text size"),
        mark("In percent, from 80 to 200. Ctrl and + or - change it too, Ctrl+0 goes back."),
        low=80, high=200,
    ),
)  # fmt: skip

ANSWER = (
    Setting(
        "answer", "system_prompt", "text", "", mark("Instructions"),
        mark("Standing instructions that the model reads before every chat."),
        high=20_000,
    ),
    Setting(
        "answer", "temperature", "number", SUGGESTED.sampling.temperature, mark("Temperature"),
        mark("How freely words are chosen: 0 always takes the likeliest one, more is livelier."),
        high=10,
    ),
    Setting(
        "answer", "top_k", "whole", SUGGESTED.sampling.top_k, mark("Top-k"),
        mark("Only so many of the likeliest tokens are chosen from; 0 switches this off."),
        high=1_000_000,
    ),
    Setting(
        "answer", "top_p", "number", SUGGESTED.sampling.top_p, mark("Top-p"),
        mark("Only the likeliest tokens that together have this probability are chosen from; 1 switches this off."),
        low=0.01, high=1,
    ),
    Setting(
        "answer", "min_p", "number", SUGGESTED.sampling.min_p, mark("Min-p"),
        mark("Tokens with less than this share of the likeliest one's probability are left out; 0 switches this off."),
        high=1,
    ),
    Setting(
        "answer", "repeat_penalty", "number", SUGGESTED.sampling.repeat_penalty, mark("Repeat penalty"),
        mark("Above 1, recent words are less likely to come again; small models fall into loops at 1."),
        low=0.1, high=10,
    ),
    Setting(
        "answer", "seed", "whole", AUTO, mark("Seed"),
        mark("The same seed gives the same answer to the same chat; automatic: another one each time."),
        low=0, high=MOST_SEED, auto=True,
    ),
    Setting(
        "answer", "max_tokens", "whole", AUTO, mark("Longest answer"),
        mark("An answer ends after so many tokens; automatic: when the model ends it, or the context is full."),
        low=1, high=10_000_000, auto=True,
    ),
)  # fmt: skip
ENGINE = (
    Setting(
        "engine", "context", "whole", AUTO, mark("Context"),
        mark("How many tokens of a chat the model can see at once; automatic: what fits into memory."),
        low=64, high=100_000_000, auto=True,
    ),
    Setting(
        "engine", "threads", "whole", AUTO, mark("Threads"),
        mark("How many of the processor's threads compute; automatic: as many as suit this computer."),
        low=1, high=512, auto=True,
    ),
    Setting(
        "engine", "memory", "size", AUTO, mark("Memory"),
        mark("The most memory the engine may take, like 4GiB; automatic: what is free, less a reserve."),
        low=128 << 20, high=1024 * GIB, auto=True,
    ),
    Setting(
        "engine", "backend", "choice", AUTO, mark("Library"),
        mark("Which library computes; automatic: the faster one for the model, once both were timed in idle time."),
        choices=(
            (AUTO, mark("Automatic")), ("llama", "llama.cpp"), ("ik", "ik_llama.cpp"), ("graph", mark("Own graph")),
        ),
    ),
    Setting(
        "engine", "kv_type", "choice", AUTO, mark("Keys and values"),
        mark("How exactly the model remembers what it has read: fewer bits make room for a longer context, and need "
             "flash attention."),
        choices=(
            (AUTO, mark("Automatic")), ("f16", mark("16 bits (f16)")),
            ("q8_0", mark("8 bits (q8_0)")), ("q4_0", mark("4 bits (q4_0)")),
        ),
    ),
    Setting(
        "engine", "flash_attention", "choice", AUTO, mark("Flash attention"),
        mark("Attention without a table of all scores: less memory, and what keys and values in 8 or 4 bits need. Off "
             "is for comparing."),
        choices=((AUTO, mark("Automatic (on)")), ("on", mark("On")), ("off", mark("Off"))),
    ),
    Setting(
        "engine", "kv_mode", "choice", "exact", mark("Heads that keep less"),
        mark("Lossy: part of the model forgets more, so that a long chat takes less memory. Needs the own graph and a "
             "ranking of the model's heads (python -m engine rank-heads)."),
        choices=(
            ("exact", mark("None (exact)")), ("merged", mark("Merged by token (lossy)")),
            ("window", mark("A window (lossy)")), ("published", mark("As published (lossy)")),
        ),
    ),
    Setting(
        "engine", "kv_share", "number", AUTO, mark("Share of these heads"),
        mark("How many of the heads keep less, from 0.01 to 1; automatic: a quarter."),
        low=0.01, high=1, auto=True,
    ),
    Setting(
        "engine", "kv_policy", "choice", SUGGESTED.kv_policy, mark("Which tokens are kept"),
        mark("Whose keys and values stay in memory: every token's, or what a published rule or measurements here say."),
        choices=(
            ("measured", mark("As measured here")), ("always", mark("All of them")),
            ("published", mark("By the published rule")),
        ),
    ),
    Setting(
        "engine", "draft", "choice", SUGGESTED.draft, mark("Drafting"),
        mark("Guesses the next words, from the chat's own text, from usual phrases, by a draft model, which one "
             "chooses in a model's options, or by the model's own lower layers, which needs the own graph; without "
             "these, those that need them are as the first."),
        choices=(
            (AUTO, mark("Where it pays")), ("off", mark("Off")), ("history", mark("From the text, where it pays")),
            ("history-published", mark("From the text, as published")),
            ("phrases", mark("From usual phrases, where it pays")),
            ("model", mark("By a draft model, where it pays")),
            ("model-published", mark("By a draft model, as published")),
            ("midlayer", mark("By a layer of the model, where it pays")),
            ("midlayer-published", mark("By a layer of the model, as published")),
        ),
    ),
    Setting(
        "engine", "exit_layers", "whole", AUTO, mark("Layers that draft"),
        mark("How many of a model's lower layers guess the next words; automatic: as many as were measured to be best "
             "(python -m engine calibrate --midlayer)."),
        low=1, high=4096, auto=True,
    ),
    Setting(
        "engine", "lookup_match", "whole", LOOKUP.match, mark("Published: match"),
        mark("How many last tokens must have come before, of drafting from the text as published."),
        low=1, high=16,
    ),
    Setting(
        "engine", "lookup_m", "whole", LOOKUP.m, mark("Published: places"),
        mark("How many earlier places are tried at once, of drafting from the text as published; with the tokens of "
             "each at most 64 tokens in all."),
        low=1, high=MOST_SEQUENCES,
    ),
    Setting(
        "engine", "lookup_n", "whole", LOOKUP.n, mark("Published: tokens"),
        mark("How many tokens of each place are tried, of drafting from the text as published."),
        low=2, high=MOST_LOOKUP,
    ),
    Setting(
        "engine", "lookup_select", "choice", LOOKUP.select, mark("Published: which places"),
        mark("Which of the earlier places are tried, of drafting from the text as published."),
        choices=(("recent", mark("The latest")), ("random", mark("Any"))),
    ),
)  # fmt: skip
CACHE = (
    Setting(
        "cache", "saved_chats", "size", 2 * GIB, mark("Space on the disk"),
        mark("For chats that are saved so that they open fast; 0 saves none and deletes those that were saved."),
        high=1024 * GIB,
    ),
)  # fmt: skip
MODELS = (
    Setting(
        "models", "network", "choice", ALLOWED, mark("Connections"),
        mark("Chickadee connects only when you search or download models; this forbids that too."),
        choices=((ALLOWED, mark("When I ask for it")), ("forbidden", mark("Never"))),
    ),
)  # fmt: skip
SETTINGS = (*WINDOW, *ANSWER, *ENGINE, *CACHE, *MODELS)
NAMES = {setting.key: dict(setting.choices) for setting in ENGINE}  # of choices, by the keys of settings


def choice_words(key: str, value: str) -> str:
    """What a choice of a setting is called; one that only a newer engine knows, as that calls it."""
    words = NAMES[key].get(value)
    return value if words is None else tr(words)
