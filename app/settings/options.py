"""What the engine is told of the settings: requests that lack only what changes with each. Knows no Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from app.settings.setting import AUTO, Value
from engine.protocol import MOST_LOOKUP, Generate, Load

LOAD = {
    "engine.context": "n_ctx",
    "engine.threads": "threads",
    "engine.memory": "memory_bytes",
    "engine.backend": "backend",
    "engine.kv_type": "kv_type",
    "engine.flash_attention": "flash_attention",
    "engine.kv_mode": "kv_mode",
    "engine.kv_share": "kv_share",
    "cache.saved_chats": "saved_chats_bytes",
}
OWN_AUTO = {"flash_attention"}  # of a Load: there auto is the engine's own word
SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "seed")


@dataclass(frozen=True, slots=True)
class Options:
    """`load` has no path and `generate` no messages; `system_prompt` goes before a chat's messages if there is one."""

    load: Load = field(default_factory=lambda: Load(0, ""))
    generate: Generate = field(default_factory=lambda: Generate(0, ()))
    system_prompt: str = ""


def options_of(values: Mapping[str, Value], max_tokens: int | None = None) -> Options:
    """`max_tokens` goes above the setting."""
    load = {wish: values[name] if wish in OWN_AUTO else or_none(values[name]) for name, wish in LOAD.items()}
    generate = {
        "sampling": {name: or_none(values[f"answer.{name}"]) for name in SAMPLING},
        "max_tokens": max_tokens or or_none(values["answer.max_tokens"]),
        "kv_policy": values["engine.kv_policy"],
        "draft": values["engine.draft"],  # its auto is the engine's own word
        "lookup": _lookup(values),
        "exit_layers": or_none(values["engine.exit_layers"]),
    }
    return Options(
        msgspec.convert({"id": 0, "path": ""} | load, Load),
        msgspec.convert({"id": 0, "messages": ()} | generate, Generate),
        str(values["answer.system_prompt"]).strip(),
    )


def _lookup(values: Mapping[str, Value]) -> dict[str, Value]:
    """Of places only so many as the tokens of each leave room for."""
    lookup = {name: values[f"engine.lookup_{name}"] for name in ("match", "m", "n", "select")}
    most = MOST_LOOKUP // int(lookup["n"])
    return lookup | {"m": min(int(lookup["m"]), most)}


def or_none(value: Value) -> Value | None:
    """The protocol leaves the choice to the engine with None."""
    return None if value == AUTO else value
