"""Requests made from the settings: they lack only what changes with each request.

Also the options of one chat: instructions, sampling, length of answers, and the persona's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from app.settings.schema import SETTINGS, for_chat
from app.settings.values import check
from common.files import is_file
from common.paths import path_of, path_text
from engine.protocol.requests import MOST_LOOKUP, Generate, Load
from engine.protocol.settings import AUTO, Setting, Value, filled

PROMPT = "answer.system_prompt"
Values = Mapping[str, Value]  # by the settings' names
NOTHING: Values = {}


@dataclass(frozen=True, slots=True)
class Options:
    """Requests and instructions made from the settings.

    `load` has no path and `generate` no messages yet; `system_prompt` is put before a chat's messages unless empty.
    """

    load: Load = field(default_factory=lambda: Load(0, ""))
    generate: Generate = field(default_factory=lambda: Generate(0, ()))
    system_prompt: str = ""


def resolve(global_values: Values, model: Values = NOTHING, chat: Values = NOTHING) -> Options:
    """Merge the values into requests: a chat's value wins over the model's, and the model's over the global one.

    If the winning value is AUTO or missing, the request keeps its default and the engine decides.
    """
    values = {**global_values, **model, **chat}
    fields: dict[str, object] = {}
    for setting in SETTINGS.values():
        value = _as_the_request_has_it(setting, values.get(setting.name, AUTO))
        if setting.fills and value is not None:
            fields[setting.fills] = value
    return _with_available_drafter(filled(Options(), _within_a_pass(fields)))


def _as_the_request_has_it(setting: Setting, value: Value) -> Value | None:
    """Return the value in the form the request takes; None leaves the field at the request's default."""
    if value == AUTO:
        return None
    if setting.kind == "file":  # a file that was deleted since must not make loading fail
        file = path_of(str(value))
        return path_text(file) if is_file(file) else None
    return str(value).strip() if setting.kind == "text" else value


def _within_a_pass(fields: dict[str, object]) -> dict[str, object]:
    """Limit the matches of prompt lookup, so that all of them together draft at most MOST_LOOKUP tokens."""
    match fields:
        case {"generate.lookup.n": int(n), "generate.lookup.m": int(m)}:
            return fields | {"generate.lookup.m": min(m, MOST_LOOKUP // n)}
    return fields


def _with_available_drafter(options: Options) -> Options:
    """Replace a way to draft that this model or library lacks by 'auto'.

    `engine.draft` may be a global value, and not every model can draft in every way.
    """
    draft, load = options.generate.draft, options.load
    if draft.startswith("model") and not load.draft_model:
        return replace(options, generate=replace(options.generate, draft="auto"))
    if not draft.startswith("midlayer"):
        return options
    # An early layer can draft only in the built-in engine (own graph), which is chosen unless a library is named.
    if load.backend in (None, "auto", "graph"):
        return replace(options, load=replace(load, backend="graph"))
    return replace(options, generate=replace(options.generate, draft="auto"))


# --- one chat ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The options of one chat: the persona's name and the chat's own values by the settings' names."""

    persona: str = ""
    values: Values = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the options as JSON, "" if the chat has none."""
        if not self.persona and not self.values:
            return ""
        return msgspec.json.encode({"persona": self.persona, "values": dict(self.values)}).decode()

    def changed(self, name: str, value: Value | None) -> ChatOptions:
        """Return a copy with another value for setting `name`; None removes the chat's own value."""
        values = {key: own for key, own in self.values.items() if key != name}
        return replace(self, values=values if value is None else values | {name: value})


def chat_options_from_json(text: str) -> ChatOptions:
    """Read what `ChatOptions.to_json` wrote; drop values that are not allowed or no longer allowed."""
    try:
        raw = msgspec.json.decode(text, type=dict[str, object]) if text else {}
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
                continue  # the global value applies instead
    return ChatOptions(persona if isinstance(persona, str) else "", checked)
