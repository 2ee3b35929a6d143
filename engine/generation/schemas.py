"""JSON schemas in the form in which llguidance compiles them fast, and in which small models answer well.

References are collected, objects are closed, integers are bounded. A keyword that llguidance lacks is left out; one
that it would compile slowly, or not at all, is left out or refused, as the caller wishes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from engine.tokenization.tool_formats import parts_of

MOST_INTEGER = 2**53 - 1  # numbers beyond are not exact in JavaScript and most other readers of JSON
# A divisor costs a state for each remainder. Divisors of schemas that are combined are multiplied with each other.
MOST_DIVISOR, MOST_DIVISORS, MOST_COMBINED_DIVISORS = 10_000, 100_000, 100
MOST_NUMBER = 10**18  # llguidance computes with 64 bits, and calls itself for ever where that is not enough
MOST_DECIMALS = 9  # of a divisor: llguidance computes with 32 bits
# Properties of one object: the time grows with the square of their number, and patterns are compared with each other.
MOST_NAMED = {"properties": 2_000, "required": 2_000, "patternProperties": 20}
OF_OBJECTS = (
    "properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties",
)  # fmt: skip
# Keywords without schemas in them, in the order in which they are suspected.
LEAVES = (
    "pattern", "format", "multipleOf", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minItems", "maxItems", "minProperties", "maxProperties", "required", "type", "enum", "const",
)  # fmt: skip
VALUES = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const")
ENFORCED = frozenset((
    *OF_OBJECTS, *LEAVES, "$ref", "allOf", "anyOf", "oneOf", "items", "additionalItems", "prefixItems",
))  # fmt: skip
# Keywords that may concern properties which `properties` does not name.
OPENING = ("additionalProperties", "patternProperties", "if", "dependentSchemas", "$dynamicRef")
Refusal = Callable[[dict[str, Any]], str]


class SchemaError(ValueError):
    """Error in a schema; the text names the keyword and the property."""


def compilable(
    schema: Any, root: Mapping[str, Any] | None = None, *, drops: bool = False, refusal: Refusal | None = None
) -> dict[str, Any]:
    """Return a schema as llguidance compiles it.

    `root`: the schema that references are looked up in, if this is a part of it. `drops`: leave out the keywords that
    cannot be enforced, instead of raising SchemaError. `refusal`: returns why a schema cannot be compiled, or ""; with
    it each part is tried.
    """
    return _Preparation(schema if root is None else root, drops, refusal).run(schema)


class _Preparation:
    """Conversion of one schema. `path`s are names of properties, joined by dots, for sentences."""

    def __init__(self, root: Any, drops: bool, refusal: Refusal | None) -> None:
        self.root, self.drops, self.refusal = root, drops, refusal
        self.names: dict[tuple[int, bool], str] = {}  # (id of a schema that is referred to, is combined) → its name
        self.waiting: deque[tuple[str, Any, str, bool]] = deque()
        self.divisors, self.combined_divisors = 0, 1

    def run(self, schema: Any) -> dict[str, Any]:
        if schema is False:
            schema = {"enum": []}
        result = self.part(schema, "", False)
        definitions: dict[str, Any] = {}
        while self.waiting:
            name, target, path, combined = self.waiting.popleft()
            definitions[name] = self.part(target, path, combined)
        result = {} if result is True else result
        return result | {"$defs": definitions} if definitions else result

    def part(self, schema: Any, path: str, combined: bool) -> Any:
        """Convert a schema within the schema; `combined`: its value must fit another one as well."""
        if not isinstance(schema, dict):
            return schema
        if "$id" in schema and schema is not self.root:
            self.refuse("$id", path, "only the outermost schema may have one")
        kept = {key: whole_number(key, value) for key, value in schema.items() if key in ENFORCED}
        for key, reason in self.costly(kept, combined) or self.uncompilable(kept):
            self.refuse(key, path, reason)
            kept.pop(key, None)
        parts = parts_in_place(kept)
        combines = len(parts) + any(key in kept for key in OF_OBJECTS) > 1
        if "properties" in kept:
            kept.setdefault("type", "object")
        if not combined and (combines or "properties" in kept):
            self.close(kept, schema)
        if not combined and not parts and not {"enum", "const"} & kept.keys():
            bound_integers(kept)
        combined = combined or combines
        for key, value in kept.items():
            kept[key] = self.inner(key, value, path, combined)
        if kept.get("$ref", "") is None:
            del kept["$ref"]
        return kept

    def close(self, kept: dict[str, Any], schema: Mapping[str, Any]) -> None:
        """Let an object have the properties only that its schema, and what is combined with it, names.

        By the standard it may have any others unless the schema says otherwise, and small models invent them.
        """
        names, least = self.names_in(schema), kept.get("minProperties", 0)
        if names is None or len(names) > MOST_NAMED["properties"] or not isinstance(least, int) or least > len(names):
            return
        if names or "properties" in kept:
            kept["properties"] = dict.fromkeys(names, True) | kept.get("properties", {})
            kept["additionalProperties"] = False

    def names_in(self, schema: Any) -> list[str] | None:
        """Return the properties that an object's schema names; None if the object may have others."""
        names: list[str] = []
        waiting, seen = deque([schema]), set[int]()
        while waiting:
            part = waiting.popleft()
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            own, required = part.get("properties", {}), part.get("required", [])
            if any(key in part for key in OPENING) or part.get("unevaluatedProperties"):
                return None
            if not isinstance(own, dict) or not isinstance(required, list):
                return None
            names += [name for name in (*own, *required) if isinstance(name, str)]
            for key, value in parts_in_place(part):
                inner = [find(self.root, value)] if key == "$ref" else value
                waiting.extend(inner if isinstance(inner, list) else [])
        return list(dict.fromkeys(names))

    def inner(self, key: str, value: Any, path: str, combined: bool) -> Any:
        """Convert a keyword's value."""
        match key, value:
            case "$ref", _:
                return self.reference(value, path, combined)
            case (("properties" | "patternProperties"), dict()):
                return {name: self.part(item, f"{path}.{name}".strip("."), combined) for name, item in value.items()}
            case (("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items"), list()):
                return [self.part(item, path, combined) for item in value]
            case (("items" | "additionalItems" | "additionalProperties"), _):
                return self.part(value, path, combined)
        return value

    def reference(self, pointer: Any, path: str, combined: bool) -> str | None:
        """Return a reference to the converted form of what a pointer leads to; None if that is left out."""
        target = find(self.root, pointer)
        if target is None:
            self.refuse("$ref", path, f"{pointer!r:.80} leads to nothing in this schema")
            return None
        name = self.names.get((id(target), combined))
        if name is None:
            name = self.names[id(target), combined] = str(len(self.names))
            self.waiting.append((name, target, path or str(pointer), combined))
        return f"#/$defs/{name}"

    def costly(self, kept: dict[str, Any], combined: bool) -> list[tuple[str, str]]:
        """Return the keywords that would take too long to compile, each with the reason."""
        refused = [
            (key, f"it names more than {most:,}")
            for key, most in MOST_NAMED.items()
            if isinstance(kept.get(key), dict | list) and len(kept[key]) > most
        ]
        refused += [(key, "a number has more than 18 digits") for key in VALUES if has_large_number(kept.get(key))]
        if "multipleOf" in kept and not self.affords(kept["multipleOf"], combined):
            refused.append(("multipleOf", f"the number has too many digits, or is above {MOST_DIVISOR:,}"))
        return refused

    def affords(self, number: Any, combined: bool) -> bool:
        """Return whether one more divisor can be compiled in a moment."""
        cost = cost_of_divisor(number)
        if combined:
            self.combined_divisors *= cost
            return self.combined_divisors <= MOST_COMBINED_DIVISORS
        self.divisors += cost
        return cost <= MOST_DIVISOR and self.divisors <= MOST_DIVISORS

    def uncompilable(self, kept: dict[str, Any]) -> list[tuple[str, str]]:
        """Return the keywords that llguidance refuses, each with the reason."""
        leaves = {key: kept[key] for key in LEAVES if key in kept}
        if self.refusal is None or not leaves or not (reason := self.refusal(leaves)):
            return []
        for key in leaves:
            if not self.refusal({other: value for other, value in leaves.items() if other != key}):
                return [(key, reason)]
        return [(key, reason) for key in leaves]

    def refuse(self, key: str, path: str, reason: str) -> None:
        """Raise SchemaError about a keyword, unless keywords are to be left out."""
        if not self.drops:
            raise SchemaError(f"“{key}”{f' of “{path:.80}”' if path else ''} cannot be enforced: {reason}")


def whole_number(key: str, value: Any) -> Any:
    """Return a keyword's value; the numbers that count something, such as 2.0, as integers."""
    counts = key.endswith(("Length", "Items", "Properties")) and isinstance(value, float) and value.is_integer()
    return int(value) if counts else value


def parts_in_place(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what is combined with a schema: an `anyOf` is one thing, and each schema of `allOf` is one."""
    all_of = schema.get("allOf")
    parts = [(key, schema[key]) for key in ("anyOf", "oneOf", "$ref") if key in schema]
    return [*parts, *(("allOf", [part]) for part in (all_of if isinstance(all_of, list) else ()))]


def bound_integers(schema: dict[str, Any]) -> None:
    """Give a schema of integers both bounds: without them small models write digits without end."""
    types = schema.get("type")
    types = types if isinstance(types, list) else [types]
    if "integer" not in types or "number" in types:
        return
    numbers = {key: value for key, value in schema.items() if isinstance(value, int | float)}
    if max(numbers.get("minimum", 0), numbers.get("exclusiveMinimum", 0)) < MOST_INTEGER:
        schema.setdefault("maximum", MOST_INTEGER)
    if min(numbers.get("maximum", 0), numbers.get("exclusiveMaximum", 0)) > -MOST_INTEGER:
        schema.setdefault("minimum", -MOST_INTEGER)


def has_large_number(value: Any) -> bool:
    """Return whether a JSON value is or contains a number that llguidance cannot compute with."""
    if isinstance(value, int | float):
        return abs(value) >= MOST_NUMBER
    return any(map(has_large_number, parts_of(value)))


def cost_of_divisor(number: Any) -> int:
    """Return the states that `multipleOf` needs: its digits as an integer, counted as llguidance does."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < abs(number) < MOST_INTEGER:
        return 1  # it will be refused for what it is, or is an integer that it refuses as too large
    digits, decimals = abs(float(number)), 0
    while digits % 1:
        digits, decimals = digits * 10, decimals + 1
    return int(digits) if decimals <= MOST_DECIMALS else MOST_INTEGER


def find(root: Any, reference: Any) -> Any:
    """Return what a reference leads to within its schema, or None if that is no schema.

    References begin with the schema's own `$id`, if with anything; then comes a path (`#/…`) or an `$anchor`.
    """
    if not isinstance(reference, str) or not isinstance(root, dict):
        return None
    resource, _, fragment = reference.partition("#")
    if resource and resource != str(root.get("$id")).rstrip("#"):
        return None
    if fragment and not fragment.startswith("/"):
        return find_anchor(root, fragment)
    part: Any = root
    for step in fragment.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(part, list) and name.isdecimal() and int(name) < len(part):
            part = part[int(name)]
        elif isinstance(part, dict) and name in part:
            part = part[name]
        else:
            return None
    return part if isinstance(part, dict | bool) else None


def find_anchor(root: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the schema within a schema that has an `$anchor`; None if there is none."""
    level: list[Any] = [root]
    while level:
        for part in level:
            if isinstance(part, dict) and part.get("$anchor") == name:
                return part
        level = [part for value in level for part in parts_of(value)]
    return None
