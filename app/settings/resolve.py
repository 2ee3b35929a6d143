"""What the engine is told of the settings: requests that lack only what changes with each.

And what one chat has other than the settings: instructions, sampling, length of answers, and the persona's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from app.settings.schema import SETTINGS, for_chat
from app.settings.values import check
from common.files import is_file
from common.paths import path_of, path_text
from engine.protocol import MOST_LOOKUP, Generate, Load
from engine.protocol.settings import AUTO, Setting, Value, filled

PROMPT = "answer.system_prompt"
Values = Mapping[str, Value]  # by the settings' names
NOTHING: Values = {}


@dataclass(frozen=True, slots=True)
class Options:
    """`load` has no path and `generate` no messages; `system_prompt` goes before a chat's messages if there is one."""

    load: Load = field(default_factory=lambda: Load(0, ""))
    generate: Generate = field(default_factory=lambda: Generate(0, ()))
    system_prompt: str = ""


def resolve(everywhere: Values, model: Values = NOTHING, chat: Values = NOTHING) -> Options:
    """What holds of the values for everything, of those of one model and of those of one chat: the last that is there.

    AUTO leaves the choice to the engine."""
    values = {**everywhere, **model, **chat}
    fields: dict[str, object] = {}
    for setting in SETTINGS.values():
        value = _as_the_request_has_it(setting, values.get(setting.name, AUTO))
        if setting.fills and value is not None:
            fields[setting.fills] = value
    return _with_a_drafter_that_is_there(filled(Options(), _within_a_pass(fields)))


def _as_the_request_has_it(setting: Setting, value: Value) -> Value | None:
    """None: as the request has it by itself."""
    if value == AUTO:
        return None
    if setting.kind == "file":  # one that was deleted since must not be in the way
        file = path_of(str(value))
        return path_text(file) if is_file(file) else None
    return str(value).strip() if setting.kind == "text" else value


def _within_a_pass(fields: dict[str, object]) -> dict[str, object]:
    """Prompt lookup tries only so many places as the tokens of each leave room for."""
    match fields:
        case {"generate.lookup.n": int(n), "generate.lookup.m": int(m)}:
            return fields | {"generate.lookup.m": min(m, MOST_LOOKUP // n)}
    return fields


def _with_a_drafter_that_is_there(options: Options) -> Options:
    """The way to draft is a setting of all models, and not every model can do all."""
    draft, load = options.generate.draft, options.load
    if draft.startswith("model") and not load.draft_model:
        return replace(options, generate=replace(options.generate, draft="auto"))
    if not draft.startswith("midlayer"):
        return options
    # A layer can draft only where the own graph computes, which is taken unless a library is named.
    if load.backend in (None, "auto", "graph"):
        return replace(options, load=replace(load, backend="graph"))
    return replace(options, generate=replace(options.generate, draft="auto"))


# --- one chat ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """`values` by the settings' names, only those that the chat has of its own."""

    persona: str = ""
    values: Values = field(default_factory=dict)

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
