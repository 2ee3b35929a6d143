"""What one chat has other than the settings: instructions, sampling, length of answers, and the persona's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from app.settings.schema import for_chat
from app.settings.values import check
from engine.protocol.settings import Value

PROMPT = "answer.system_prompt"


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """`values` by the settings' names, only those that the chat has of its own."""

    persona: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)

    def packed(self) -> str:
        """JSON, empty where there is nothing to remember."""
        if not self.persona and not self.values:
            return ""
        return msgspec.json.encode({"persona": self.persona, "values": dict(self.values)}).decode()

    def changed(self, name: str, value: Value | None) -> ChatOptions:
        """With another value; None: what the settings say."""
        values = {key: kept for key, kept in self.values.items() if key != name}
        return replace(self, values=values if value is None else values | {name: value})


def unpacked(packed: str) -> ChatOptions:
    """What `packed` says, without values that are not allowed (any more)."""
    try:
        raw = msgspec.json.decode(packed, type=dict[str, object]) if packed else {}
    except msgspec.DecodeError:  # from a damaged file
        raw = {}
    persona, values = raw.get("persona", ""), raw.get("values", {})
    values = values if isinstance(values, dict) else {}
    checked: dict[str, Value] = {}
    for setting in for_chat():
        if setting.name in values:
            try:
                checked[setting.name] = check(setting, values[setting.name])
            except ValueError:
                continue  # the settings' own value is as good
    return ChatOptions(persona if isinstance(persona, str) else "", checked)
