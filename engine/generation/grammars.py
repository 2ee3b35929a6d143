"""Grammars of answers in llguidance's notation: JSON by a schema, GBNF, and calls that a model's tools accept.

The notation: https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from common.failures import Failure
from engine.generation.gbnf import GrammarError, convert_gbnf
from engine.generation.schemas import Refusal, compilable
from engine.protocol.requests import Constraint, Generate, Tool
from engine.tokenization.tokens import ModelVocabulary
from engine.tokenization.tool_formats import HARMONY, MARKER, QUOTE, ToolFormat, read_schema, schema_of

MOST_CHARACTERS = 1 << 18  # of a schema or grammar: the largest takes about a second to compile
# Blanks within JSON: one, or a line break with an indentation. Where any number may come small models write no end.
BLANKS = r"[ ]|\n[ \t]{0,20}"
ANY_OBJECT = '{"type": "object"}'
JSON_OPTIONS = {"whitespace_pattern": BLANKS, "coerce_one_of": True, "lenient": True}
NOTHING = '""'
# Between a tool's name and its arguments in gpt-oss's notation. The channel may stand before the name instead.
HARMONY_MIDDLE = 'harmony: "<|channel|>commentary"? (" <|constrain|>json" | " json")? "<|message|>"'
ValueRule = Callable[[Mapping[str, Any]], str]  # returns the rule of a value by its schema
# Values in Gemma's notation, in which strings stand between marks of their own.
GEMMA_RULES = """
gemma_value: gemma_string | NUMBER | "true" | "false" | "null" | gemma_list | gemma_object
gemma_list: "[" (gemma_value ("," gemma_value)*)? "]"
gemma_object: "{" (gemma_pair ("," gemma_pair)*)? "}"
gemma_pair: /[A-Za-z0-9_.-]+/ ":" gemma_value
NUMBER: /-?(0|[1-9][0-9]{0,15})(\\.[0-9]{1,16})?([eE][-+]?[0-9]{1,2})?/
gemma_string: QUOTE /[^<]*/ QUOTE
"""


def json_rule(schema: Any, root: Mapping[str, Any] | None = None, *, refusal: Refusal | None = None) -> str:
    """Return the part of a grammar that stands for JSON that a tool accepts; what cannot be enforced is left out.

    `root`: the tool's schema if this is a part of it. `refusal`: returns why a schema cannot be compiled, or "".
    """
    enforced = compilable(schema, root, drops=True, refusal=refusal)
    if refusal and refusal(enforced):
        enforced = json.loads(ANY_OBJECT) if enforced.get("type") == "object" else {}
    return written_rule(enforced)


def written_rule(schema: Mapping[str, Any]) -> str:
    """Return a schema as a part of a grammar. Raises ValueError for numbers that JSON cannot write."""
    return "%json " + json.dumps({**schema, "x-guidance": JSON_OPTIONS}, allow_nan=False)


def answer_rule(schema: str, refusal: Refusal | None = None) -> str:
    """Return the part of a grammar that stands for an answer by a JSON schema.

    Raises Failure for a text that is no schema and for a keyword that cannot be enforced.
    """
    try:
        fields = read_schema(schema)
        if not isinstance(fields, dict | bool):
            raise ValueError("it must be a JSON object")
        return written_rule(compilable(fields, refusal=refusal))
    except ValueError as error:
        raise Failure("bad_constraint.schema", reason=str(error)) from error


def grammar_of(constraint: Constraint, refusal: Refusal | None = None) -> str:
    """Return a constraint in llguidance's notation; `refusal` as in `json_rule`.

    Raises Failure if the constraint cannot be understood or enforced.
    """
    if len(constraint.text) > MOST_CHARACTERS:
        raise Failure("bad_constraint.long", most=MOST_CHARACTERS)
    match constraint.kind:
        case "json_object":
            return f"start: {answer_rule(ANY_OBJECT)}\n"
        case "json_schema":
            return f"start: {answer_rule(constraint.text, refusal)}\n"
        case "grammar":
            try:
                return convert_gbnf(constraint.text)
            except GrammarError as error:
                raise Failure("bad_constraint.grammar", reason=str(error)) from error


def answer_grammar(
    request: Generate, notation: ToolFormat, vocabulary: ModelVocabulary, refusal: Refusal | None = None
) -> str:
    """Return the grammar of an answer to a request with a constraint or tools. `refusal` as in `json_rule`.

    Raises Failure for a constraint that cannot be understood or enforced, and as `calls_grammar`.
    """
    wanted, required = request.constraint, request.tool_choice == "required"
    if not request.tools or request.tool_choice == "none":
        assert wanted
        return grammar_of(wanted, refusal)
    tools = [tool for tool in request.tools if not required or request.tool in ("", tool.name)]
    if required:
        return calls_grammar(notation, tools, vocabulary, request.parallel_tool_calls, refusal)
    if wanted is None:  # the grammar begins behind the opening of calls
        notation = replace(notation, opening="") if notation.opening else notation
        return calls_grammar(notation, tools, vocabulary, request.parallel_tool_calls, refusal)
    if wanted.kind == "grammar":
        raise Failure("bad_constraint.with_tools")
    return calls_grammar(notation, tools, vocabulary, True, refusal, answer_rule(wanted.text or ANY_OBJECT, refusal))


def calls_grammar(
    notation: ToolFormat,
    tools: Sequence[Tool],
    vocabulary: ModelVocabulary,
    parallel: bool,
    refusal: Refusal | None = None,
    answer: str = "",
) -> str:
    """Return the grammar of an answer that calls tools, several of them in a row if `parallel`.

    `refusal` as in `json_rule`. `answer`: the rule of an answer that calls none, if it may do that. Raises Failure if
    the parameters of a tool are no schema, or if they are too long.
    """

    def literal(text: str) -> str:
        return spell(text, vocabulary)

    if sum(len(tool.parameters) for tool in tools) > MOST_CHARACTERS:
        raise Failure("bad_tools.long", most=MOST_CHARACTERS)
    rules = ["start: calls | answer", f"answer: {answer}"] if answer else ["start: calls"]
    if notation is HARMONY:
        rules += [f"calls: {literal(notation.first)}? call", HARMONY_MIDDLE]
        heads = [f"{literal(notation.lead + tool.name)} harmony" for tool in tools]
    else:
        more = f" ({literal(notation.more)} call)*" if parallel and notation.more is not None else ""
        rules.append(f"calls: {literal(notation.opening + notation.first)} call{more} {literal(notation.end)}")
        heads = [literal(notation.lead + tool.name + notation.middle) for tool in tools]
    names = " | ".join(f"{head} tool_{i}" for i, head in enumerate(heads))
    rules.append(f"call: ({names}) {literal(notation.after)}")
    for i, tool in enumerate(tools):
        schema = schema_of(tool)
        json_value = partial(json_rule, root=schema, refusal=refusal)
        match notation.arguments:
            case "json":
                rules.append(f"tool_{i}: {json_value(schema)}")
            case "xml":
                rules += xml_rules(f"tool_{i}", schema, json_value)
            case "python":
                rules += listed_rules(f"tool_{i}", schema, "=", ", ", json_value)
            case "gemma":
                gemma = partial(gemma_value, quote=literal(QUOTE), json_value=json_value)
                rules += listed_rules(f"tool_{i}", schema, ":", ",", gemma)
    if notation.arguments == "xml":
        rules.append('xml_text[suffix="\\n</parameter>\\n"]: /(.|\\n)*/')
    if notation.arguments == "gemma":
        rules.append(GEMMA_RULES.replace("QUOTE", literal(QUOTE)))
    return "\n".join(rules)


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
    listed = [
        (name, value if isinstance(value, dict) else {}, isinstance(required, list) and name in required)
        for name, value in (properties.items() if isinstance(properties, dict) else ())
    ]
    return sorted(listed, key=lambda entry: not entry[2])


def xml_rules(rule: str, schema: Mapping[str, Any], json_value: ValueRule) -> Iterator[str]:
    """Yield the rules of arguments that stand in tags, one after the other, strings as they are.

    `json_value` returns the rule of a value in JSON.
    """
    parts: list[str] = []
    for i, (name, value, required) in enumerate(properties_of(schema)):
        choices = value.get("enum")
        content = "xml_text"
        if value.get("type") != "string":
            content = f'{rule}_{i} "\\n</parameter>\\n"'
            yield f"{rule}_{i}: {json_value(value)}"
        elif isinstance(choices, list) and choices:
            texts = " | ".join(json.dumps(f"{choice}\n</parameter>\n", ensure_ascii=False) for choice in choices)
            content = f"({texts})"
        tag = json.dumps(f"<parameter={name}>\n", ensure_ascii=False)
        parts.append(f"{tag} {content}" if required else f"({tag} {content})?")
    yield f"{rule}: {' '.join(parts) or NOTHING}"


def listed_rules(rule: str, schema: Mapping[str, Any], equals: str, comma: str, value_of: ValueRule) -> Iterator[str]:
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


def gemma_value(schema: Mapping[str, Any], quote: str, json_value: ValueRule) -> str:
    """Return the rule of a value in Gemma's notation, which has numbers and words as JSON has them (`json_value`).

    `quote`: the mark around strings.
    """
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        return " | ".join(f"{quote} {json.dumps(choice, ensure_ascii=False)} {quote}" for choice in choices)
    match schema.get("type"):
        case "string":
            return "gemma_string"
        case "integer" | "number" | "boolean":
            return json_value(schema)
        case "array":
            return "gemma_list"
        case "object":
            return "gemma_object"
    return "gemma_value"
