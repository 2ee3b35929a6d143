"""Grammars of answers in llguidance's notation: JSON by a schema, GBNF, and calls that a model's tools accept.

The notation: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from common.failures import Failure
from engine.generation.gbnf import GrammarError, convert_gbnf
from engine.protocol.requests import Constraint, Tool
from engine.tokenization.tokens import ModelVocabulary
from engine.tokenization.tool_formats import HARMONY, MARKER, QUOTE, ToolFormat, schema_of

MOST_CHARACTERS = 1 << 18  # of a schema or grammar: the largest takes about a second to compile
# Blanks within JSON: one, or a line break with an indentation. Where any number may come small models write no end.
BLANKS = r"[ ]|\n[ \t]{0,20}"
ANY_OBJECT = '{"type": "object"}'
JSON_OPTIONS = {"whitespace_pattern": BLANKS, "coerce_one_of": True, "lenient": True}
NOTHING = '""'
# Between a tool's name and its arguments in gpt-oss's notation. The channel may stand before the name instead.
HARMONY_MIDDLE = 'harmony: "<|channel|>commentary"? (" <|constrain|>json" | " json")? "<|message|>"'
SHARED = ("$defs", "definitions")  # parts of a schema that its properties refer to
# Values in Gemma's notation, in which strings stand between marks of their own.
GEMMA_RULES = """
gemma_value: gemma_string | NUMBER | "true" | "false" | "null" | gemma_list | gemma_object
gemma_list: "[" (gemma_value ("," gemma_value)*)? "]"
gemma_object: "{" (gemma_pair ("," gemma_pair)*)? "}"
gemma_pair: /[A-Za-z0-9_.-]+/ ":" gemma_value
NUMBER: /-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?/
gemma_string: QUOTE /[^<]*/ QUOTE
"""


def json_rule(schema: str) -> str:
    """Return the part of a grammar that stands for JSON by a schema. Raises Failure for a text that is no schema."""
    try:
        fields: Any = json.loads(schema)
        if isinstance(fields, bool):
            fields = {} if fields else {"enum": []}
        if not isinstance(fields, dict):
            raise ValueError("it must be a JSON object")
        return "%json " + json.dumps(closed(fields) | {"x-guidance": JSON_OPTIONS})
    except (ValueError, RecursionError) as error:
        raise Failure("bad_constraint.schema", reason=str(error)) from error


def closed(schema: Any) -> Any:
    """Return a schema whose objects have only the properties that it names, unless it says that they may have others.

    By the standard any others are allowed, and small models would invent some.
    """
    if not isinstance(schema, dict) or "allOf" in schema or "$ref" in schema:
        return schema
    changed = dict(schema)
    if isinstance(schema.get("properties"), dict) and "patternProperties" not in schema:
        changed.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties"):
        if key in schema:
            changed[key] = closed(schema[key])
    for key in ("anyOf", "oneOf", "prefixItems"):
        if isinstance(schema.get(key), list):
            changed[key] = [closed(part) for part in schema[key]]
    for key in ("properties", *SHARED):
        if isinstance(schema.get(key), dict):
            changed[key] = {name: closed(part) for name, part in schema[key].items()}
    return changed


def grammar_of(constraint: Constraint) -> str:
    """Return a constraint in llguidance's notation. Raises Failure if it cannot be understood."""
    if len(constraint.text) > MOST_CHARACTERS:
        raise Failure("bad_constraint.long", most=MOST_CHARACTERS)
    match constraint.kind:
        case "json_object":
            return f"start: {json_rule(ANY_OBJECT)}\n"
        case "json_schema":
            return f"start: {json_rule(constraint.text)}\n"
        case "grammar":
            try:
                return convert_gbnf(constraint.text)
            except GrammarError as error:
                raise Failure("bad_constraint.grammar", reason=str(error)) from error


def calls_grammar(
    found: ToolFormat, tools: Sequence[Tool], vocabulary: ModelVocabulary, parallel: bool, after_opening: bool
) -> str:
    """Return the grammar of an answer that calls tools; `after_opening`: from behind the text that calls begin with.

    Raises Failure if the parameters of a tool are no schema, or if the schemas are too long.
    """
    return "start: calls\n" + "\n".join(call_rules(found, tools, vocabulary, parallel, after_opening))


def calls_or_answer_grammar(found: ToolFormat, tools: Sequence[Tool], vocabulary: ModelVocabulary, schema: str) -> str:
    """Return the grammar of an answer that calls tools or is JSON by a schema. Raises Failure as `calls_grammar`."""
    return f"start: calls | answer\nanswer: {json_rule(schema)}\n" + "\n".join(
        call_rules(found, tools, vocabulary, parallel=True, after_opening=False)
    )


def call_rules(
    found: ToolFormat, tools: Sequence[Tool], vocabulary: ModelVocabulary, parallel: bool, after_opening: bool
) -> Iterator[str]:
    """Yield the rules of `calls`. Raises Failure as `calls_grammar`."""

    def literal(text: str) -> str:
        return spell(text, vocabulary)

    if sum(len(tool.parameters) for tool in tools) > MOST_CHARACTERS:
        raise Failure("bad_tools.long", most=MOST_CHARACTERS)
    opening = "" if after_opening else found.opening
    more = f" ({literal(found.more)} call)*" if parallel and found.more is not None else ""
    if found is HARMONY:
        yield f"calls: {literal(found.first)}? call"
        heads = [f"{literal(found.lead + tool.name)} harmony" for tool in tools]
        yield HARMONY_MIDDLE
    else:
        yield f"calls: {literal(opening + found.first)} call{more} {literal(found.end)}"
        heads = [literal(found.lead + tool.name + found.middle) for tool in tools]
    names = " | ".join(f"{head} tool_{i}" for i, head in enumerate(heads))
    yield f"call: ({names}) {literal(found.after)}"
    for i, tool in enumerate(tools):
        schema = schema_of(tool)
        match found.arguments:
            case "json":
                yield f"tool_{i}: {json_rule(json.dumps(schema))}"
            case "xml":
                yield from xml_rules(f"tool_{i}", schema)
            case "python":
                yield from listed_rules(f"tool_{i}", schema, "=", ", ", lambda value: json_rule(json.dumps(value)))
            case "gemma":
                yield from listed_rules(f"tool_{i}", schema, ":", ",", lambda value: gemma_value(value, literal(QUOTE)))
    if found.arguments == "xml":
        yield 'xml_text[suffix="\\n</parameter>\\n"]: /(.|\\n)*/'
    if found.arguments == "gemma":
        yield GEMMA_RULES.replace("QUOTE", literal(QUOTE))


def spell(text: str, vocabulary: ModelVocabulary) -> str:
    """Return a text as a part of a rule; markers that are control tokens become those tokens."""
    parts: list[str] = []
    at = 0
    for marker in MARKER.finditer(text):
        tokens = vocabulary.tokenize(marker[0], special=True)
        if len(tokens) == 1 and vocabulary.is_control(tokens[0]):
            parts += [json.dumps(text[at : marker.start()], ensure_ascii=False), f"<[{tokens[0]}]>"]
            at = marker.end()
    parts.append(json.dumps(text[at:], ensure_ascii=False))
    return " ".join(part for part in parts if part != NOTHING) or NOTHING


def properties_of(schema: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    """Return the properties of an object's schema, each with its schema and whether it is required, those first."""
    properties, required = schema.get("properties"), schema.get("required")
    shared = {name: schema[name] for name in SHARED if name in schema}
    found = [
        (name, (value if isinstance(value, dict) else {}) | shared, isinstance(required, list) and name in required)
        for name, value in (properties.items() if isinstance(properties, dict) else ())
    ]
    return sorted(found, key=lambda entry: not entry[2])


def xml_rules(rule: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rules of arguments that stand in tags, one after the other, strings as they are."""
    parts: list[str] = []
    for i, (name, value, required) in enumerate(properties_of(schema)):
        choices = value.get("enum")
        content = "xml_text"
        if value.get("type") != "string":
            content = f'{rule}_{i} "\\n</parameter>\\n"'
            yield f"{rule}_{i}: {json_rule(json.dumps(value))}"
        elif isinstance(choices, list) and choices:
            texts = " | ".join(json.dumps(f"{choice}\n</parameter>\n", ensure_ascii=False) for choice in choices)
            content = f"({texts})"
        tag = json.dumps(f"<parameter={name}>\n", ensure_ascii=False)
        parts.append(f"{tag} {content}" if required else f"({tag} {content})?")
    yield f"{rule}: {' '.join(parts) or NOTHING}"


def listed_rules(
    rule: str, schema: Mapping[str, Any], equals: str, comma: str, value_of: Callable[[dict[str, Any]], str]
) -> Iterator[str]:
    """Yield the rules of arguments in a list: the required ones, then others; `value_of` returns a value's rule."""
    parts: list[tuple[str, bool]] = []
    for i, (name, value, required) in enumerate(properties_of(schema)):
        yield f"{rule}_{i}: {value_of(value)}"
        parts.append((f"{json.dumps(name + equals, ensure_ascii=False)} {rule}_{i}", required))
    separator = json.dumps(comma)
    for i, (part, required) in enumerate(parts):  # rule_rest_i: what may follow before part i
        more = f"{separator} {part}" if required else f"({separator} {part})?"
        yield f"{rule}_rest_{i}: {more} {rule}_rest_{i + 1}"
    yield f"{rule}_rest_{len(parts)}: {NOTHING}"
    if parts and parts[0][1]:
        yield f"{rule}: {parts[0][0]} {rule}_rest_1"
    else:
        choices = [f"{part} {rule}_rest_{i + 1}" for i, (part, _) in enumerate(parts)]
        yield f"{rule}: {' | '.join([*choices, NOTHING])}"


def gemma_value(schema: Mapping[str, Any], quote: str) -> str:
    """Return the rule of a value in Gemma's notation; `quote`: the mark around strings."""
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        return " | ".join(f"{quote} {json.dumps(choice, ensure_ascii=False)} {quote}" for choice in choices)
    match schema.get("type"):
        case "string":
            return "gemma_string"
        case "integer":
            return "/-?(0|[1-9][0-9]*)/"
        case "number":
            return "NUMBER"
        case "boolean":
            return '"true" | "false"'
        case "array":
            return "gemma_list"
        case "object":
            return "gemma_object"
    return "gemma_value"
