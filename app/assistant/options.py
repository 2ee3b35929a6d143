"""What the engine is told of the settings: requests that lack only what changes with each. Knows no Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from app.settings.setting import AUTO, Value
from engine.protocol import Generate, Load

LOAD = {
    "engine.context": "n_ctx",
    "engine.threads": "threads",
    "engine.memory": "memory_bytes",
    "engine.backend": "backend",
    "engine.kv_type": "kv_type",
    "engine.kv_mode": "kv_mode",
    "engine.kv_share": "kv_share",
    "cache.saved_chats": "saved_chats_bytes",
}
SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty")


@dataclass(frozen=True, slots=True)
class Options:
    """`load` has no path and `generate` no messages; `system_prompt` goes before a chat's messages if there is one."""

    load: Load = field(default_factory=lambda: Load(0, ""))
    generate: Generate = field(default_factory=lambda: Generate(0, ()))
    system_prompt: str = ""


def options_of(values: Mapping[str, Value], max_tokens: int | None = None) -> Options:
    """`max_tokens` goes above the setting."""
    load = {wish: _or_none(values[name]) for name, wish in LOAD.items()}
    generate = {
        "sampling": {name: values[f"answer.{name}"] for name in SAMPLING},
        "max_tokens": max_tokens or _or_none(values["answer.max_tokens"]),
        "kv_policy": values["engine.kv_policy"],
        "draft": values["engine.draft"],  # its auto is the engine's own word
    }
    return Options(
        msgspec.convert({"id": 0, "path": ""} | load, Load),
        msgspec.convert({"id": 0, "messages": ()} | generate, Generate),
        str(values["answer.system_prompt"]).strip(),
    )


def _or_none(value: Value) -> Value | None:
    """The protocol leaves the choice to the engine with None."""
    return None if value == AUTO else value
