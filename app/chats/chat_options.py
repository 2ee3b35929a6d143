"""What one chat has other than the settings: instructions, sampling, length of answers, and the persona's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from app.settings.options import SAMPLING, Options, or_none
from app.settings.schema import ANSWER
from app.settings.setting import Value

BY_NAME = {setting.name: setting for setting in ANSWER}
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
    checked: dict[str, Value] = {}
    for name, value in values.items() if isinstance(values, dict) else ():
        if name in BY_NAME:
            try:
                checked[name] = BY_NAME[name].check(value)
            except ValueError:
                continue  # the settings' own value is as good
    return ChatOptions(persona if isinstance(persona, str) else "", checked)


def applied(options: Options, packed: str) -> Options:
    """The options to answer a chat with."""
    if not packed:
        return options
    values = unpacked(packed).values
    sampling = {name: or_none(values[f"answer.{name}"]) for name in SAMPLING if f"answer.{name}" in values}
    generate = replace(options.generate, sampling=replace(options.generate.sampling, **sampling))  # type: ignore[arg-type]
    if "answer.max_tokens" in values:
        generate = replace(generate, max_tokens=or_none(values["answer.max_tokens"]))  # type: ignore[arg-type]
    prompt = str(values.get(PROMPT, options.system_prompt)).strip()
    return replace(options, generate=generate, system_prompt=prompt)
