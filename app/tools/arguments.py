"""Checks a call's arguments against the tool's JSON schema: with a grammar they fit, other answers need the check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 60
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip


def read_arguments(text: str, schema: str) -> dict[str, Any]:
    """Return a call's arguments; raise ValueError, in words for the model, if they do not fit the schema."""
    try:
        arguments = json.loads(text or "{}")
        problem = next(_problems(arguments, {"type": "object"} | json.loads(schema or "{}"), "the arguments"), "")
    except RecursionError as error:
        raise ValueError("the arguments are nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"the arguments are not valid JSON: {error}") from error
    if problem:
        raise ValueError(problem)
    assert isinstance(arguments, dict)
    return arguments


def _problems(value: Any, schema: Any, name: str, depth: int = 0) -> Iterator[str]:
    """Yield what is wrong with a value; of JSON schema the parts that nearly all tools use are checked."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return
    wanted = schema.get("type")
    kinds = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if kinds and not any(_is_of(value, kind) for kind in kinds):
        yield f"{name} must be of type {' or '.join(map(str, kinds))}"
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield f"{name} must be one of {json.dumps(choices)}"
    if isinstance(value, dict):
        properties = schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required")
        yield from (f"{each} is missing" for each in required or () if each not in value)
        if schema.get("additionalProperties") is False:
            yield from (f"there is no argument {each}" for each in value if each not in known)
        for key, each in value.items():
            yield from _problems(each, known.get(key), key, depth + 1)
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _problems(each, schema.get("items"), f"{name}[{number}]", depth + 1)


def _is_of(value: Any, kind: Any) -> bool:
    types = TYPES.get(kind) if isinstance(kind, str) else None
    if isinstance(value, bool):
        return kind == "boolean" or types is None
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return types is None or isinstance(value, types)
