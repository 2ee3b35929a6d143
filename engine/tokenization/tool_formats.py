"""Notations in which models call tools, and how a model's own chat template takes tools, calls and results.

Models that can call tools were trained with one notation each; their chat templates tell them the tools. A model whose
template knows no tools, or none of these notations, is told of them by a system text (`GENERIC`).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from common.failures import Failure
from engine.protocol.requests import Message, Tool, ToolCall

Arguments = Literal["json", "xml", "python", "gemma"]
Escape = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """A notation: `opening first lead NAME middle ARGUMENTS after more lead NAME … end`.

    `opening`: what calls begin with; empty: the answer is the call. `more`: what stands between two calls; None: an
    answer has one call only. `sign`: what templates for this notation contain. `arguments`: how they are written.
    `whole`: pattern of the beginning of an answer that is a call; its group is where the call begins. `head`: pattern
    of a call up to its arguments, with NAME for the name, if it is written in several ways.
    """

    name: str
    sign: tuple[str, ...]
    opening: str
    lead: str
    middle: str
    after: str
    first: str = ""
    more: str | None = ""
    end: str = ""
    arguments: Arguments = "json"
    whole: str = r'\s*(\{\s*"name"\s*:)'
    head: str = ""

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts in angle or square brackets that may be control tokens."""
        text = " ".join(
            (self.opening, self.first, self.lead, self.middle, self.after, self.more or "", self.end, QUOTE)
        )
        return tuple(dict.fromkeys(MARKER.findall(text)))

    def head_of(self, name: str) -> str:
        """Return a pattern for a call up to its arguments; `name`: the pattern of its name."""
        if self.head:
            return self.head.replace("NAME", name)
        first = f"(?:{loose(self.first)})?" if self.first else ""
        return rf"{first}{loose(self.lead)}\s*{name}{loose(self.middle)}"


DEEPEST_SCHEMA = 120  # lists and objects within each other: llguidance reads 127
QUOTE = '<|"|>'  # around Gemma's strings
MARKER = re.compile(r'<\|"\|>|</?\|?\w+\|?>|\[[A-Z_]+\]')
JSON_LEAD, JSON_MIDDLE = '{"name": "', '", "arguments": '
HERMES = ToolFormat(
    "hermes", ("<tool_call>",), "<tool_call>", "\n" + JSON_LEAD, JSON_MIDDLE, "}\n</tool_call>", more="\n<tool_call>"
)
FORMATS = (  # the first whose signs a template contains; Qwen3.5 and Nemotron write XML
    ToolFormat(
        "xml", ("<tool_call>", "<function="), "<tool_call>", "\n<function=", ">\n", "</function>\n</tool_call>",
        more="\n<tool_call>", arguments="xml",
    ),
    ToolFormat(
        "gemma", ("<|tool_call>", "call:"), "<|tool_call>", "call:", "{", "}<tool_call|>", more="<|tool_call>",
        arguments="gemma",
    ),
    ToolFormat("ministral", ("[TOOL_CALLS]", "[ARGS]"), "[TOOL_CALLS]", "", "[ARGS]", "", more="[TOOL_CALLS]"),
    ToolFormat(
        "mistral", ("[TOOL_CALLS]",), "[TOOL_CALLS]", JSON_LEAD, JSON_MIDDLE, "}", first="[", more=", ", end="]"
    ),
    ToolFormat(
        "granite", ("<|tool_call|>",), "<|tool_call|>", JSON_LEAD, JSON_MIDDLE, "}", first="[", more=", ", end="]"
    ),
    HERMES,
    ToolFormat("llama", ("ipython", '"parameters": '), "", JSON_LEAD, '", "parameters": ', "}", more=None),
)  # fmt: skip
LFM = ToolFormat(  # LFM's templates do not contain the marker, its vocabulary does
    "lfm", ("<|tool_call_start|>",), "<|tool_call_start|>", "", "(", ")",
    first="[", more=", ", end="]<|tool_call_end|>", arguments="python",
)  # fmt: skip
HARMONY = ToolFormat(  # gpt-oss's, read by `engine.generation.harmony`
    "harmony", ("<|channel|>", "<|message|>", "functions."), "", "functions.", "<|channel|>commentary json<|message|>",
    "", first=" to=", more=None, whole=r"\s*(?:to=)?(functions\.)", head=r"functions\.NAME[^{]{0,60}<\|message\|>",
)  # fmt: skip
GENERIC = (
    "You can call these functions, each described by a JSON object:\n{tools}\n\nTo call functions, write this for each "
    'call and nothing else:\n<tool_call>\n{{"name": "name of the function", "arguments": {{"name of an argument": '
    '"its value"}}}}\n</tool_call>\nThen the results come between <tool_response> and </tool_response>. If no function '
    "helps, answer as usual."
)
PROBE = Tool("probe_of_tools", "A probe.", '{"type": "object", "properties": {"probe": {"type": "string"}}}')
PROBED_CALL = ToolCall("call00001", "probe_of_calls", '{"probe": "value"}')
PROBED_CHAT = (
    Message("user", "Hello"),
    Message("assistant", "", (PROBED_CALL,)),
    Message("tool", "result", tool_call_id="call00001"),
)


@dataclass(frozen=True, slots=True)
class ToolSupport:
    """Support for tools of a chat template.

    `format`: the notation in which the model calls them. `tells`: the template tells the model of the tools. `writes`:
    it writes calls and results of the chat so far.
    """

    format: ToolFormat = HERMES
    tells: bool = False
    writes: bool = False


def words(text: str) -> list[str]:
    """Return the parts of a notation's fixed text between which blanks may stand: tags, words and signs."""
    return re.findall(r"</?\|?\w+\|?>|\w+|[^\w\s]", text)


def loose(text: str) -> str:
    """Return a pattern for a notation's fixed text. It allows blanks between the parts, and both names of arguments."""
    parts = (
        "(?:arguments|parameters)" if word in ("arguments", "parameters") else re.escape(word) for word in words(text)
    )
    return "".join(rf"\s*{part}" for part in parts) + (r"\s*" if text[-1:].isspace() else "")


def candidate_format(source: str, has_token: Callable[[str], bool]) -> ToolFormat | None:
    """Return the notation that a template's source points to; `has_token` tells whether a text is a control token."""
    if has_token(LFM.opening):
        return LFM
    return next((each for each in (*FORMATS, HARMONY) if all(sign in source for sign in each.sign)), None)


def find_tool_support(
    source: str, has_token: Callable[[str], bool], render: Callable[[Sequence[Message]], str]
) -> ToolSupport:
    """Return what a template does with tools, found by what it writes.

    `has_token` as in `candidate_format`; `render` renders messages with the tool PROBE, "" if the template refuses.
    """
    candidate = candidate_format(source, has_token)
    if candidate is None or PROBE.name not in render(PROBED_CHAT[:1]):
        return ToolSupport()
    chat = render(PROBED_CHAT)
    if PROBED_CALL.name not in chat:
        return ToolSupport(candidate, tells=True)
    is_known = re.search(candidate.head_of(PROBED_CALL.name), chat)  # others use the same markers in other notations
    return ToolSupport(candidate, tells=True, writes=True) if is_known else ToolSupport()


def tool_values(tools: Sequence[Tool], escape: Escape) -> list[dict[str, Any]]:
    """Return tools as templates expect them. Raises Failure if a tool's parameters are no JSON schema."""
    return [
        {
            "type": "function",
            "function": {
                "name": escape(tool.name),
                "description": escape(tool.description),
                "parameters": escape_all(schema_of(tool), escape),
            },
        }
        for tool in tools
    ]


def schema_of(tool: Tool) -> dict[str, Any]:
    """Return the schema of a tool's arguments. Raises Failure if there is none."""
    try:
        schema = read_schema(tool.parameters) if tool.parameters else {}
    except ValueError as error:
        raise Failure("bad_tools.parameters", name=tool.name, reason=str(error)) from error
    if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
        raise Failure("bad_tools.parameters", name=tool.name, reason="they are no JSON schema of an object")
    return {"type": "object", "properties": {}} | schema | {"type": "object"}


def read_schema(text: str) -> Any:
    """Return the JSON value that a schema is. Raises ValueError if it is none, or too deep for what reads it later."""

    def number(written: str) -> float:
        if math.isfinite(value := float(written)):
            return value
        raise ValueError(f"{written:.40} is no number of JSON, or is too large")

    too_deep = f"it is nested more than {DEEPEST_SCHEMA} levels deep"
    try:
        schema = json.loads(text, parse_float=number, parse_constant=number)
    except RecursionError as error:
        raise ValueError(too_deep) from error
    level, depth = [schema], 0
    while level := [part for value in level for part in parts_of(value)]:
        depth += 1
    if depth > DEEPEST_SCHEMA:
        raise ValueError(too_deep)
    return schema


def parts_of(value: Any) -> Iterable[Any]:
    """Return the values in a list or an object of JSON."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def escape_all(value: Any, escape: Escape) -> Any:
    """Return a JSON value with all strings in it escaped."""
    match value:
        case str():
            return escape(value)
        case dict():
            return {escape(key): escape_all(item, escape) for key, item in value.items()}
        case list():
            return [escape_all(item, escape) for item in value]
    return value


def message_values(messages: Sequence[Message], escape: Escape) -> list[dict[str, Any]]:
    """Return messages as templates expect them; their contents are escaped already, calls are escaped here."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    values: list[dict[str, Any]] = []
    for message in messages:
        value: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            value["tool_calls"] = [
                {
                    "id": short_id(call.id),
                    "type": "function",
                    "function": {"name": escape(call.name), "arguments": escape_all(arguments_of(call), escape)},
                }
                for call in message.tool_calls
            ]
        if message.reasoning and not (message.tool_calls and message.content):  # gpt-oss's template refuses both
            # The names that Qwen's and most other templates have for it, and gpt-oss's.
            value |= dict.fromkeys(("reasoning_content", "thinking"), escape(message.reasoning))
        if message.role == "tool":
            value["tool_call_id"] = short_id(message.tool_call_id)
            value["name"] = escape(names.get(message.tool_call_id, "function"))
        values.append(value)
    return values


def short_id(id: str) -> str:
    """Return a call's id in the form that Mistral's templates accept: nine letters and digits."""
    return id if re.fullmatch(r"[A-Za-z0-9]{9}", id) else hashlib.sha256(id.encode()).hexdigest()[:9]


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call in the chat so far; a text that is no JSON object becomes one argument."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"input": call.arguments}


def with_tools_told(messages: Sequence[Message], tools: Sequence[Tool], escape: Escape) -> list[Message]:
    """Return the messages, whose contents are escaped, with a system text about the tools."""
    described = "\n".join(json.dumps(value["function"], ensure_ascii=False) for value in tool_values(tools, escape))
    text = GENERIC.format(tools=described)
    if messages and messages[0].role == "system":
        return [replace(messages[0], content=f"{messages[0].content}\n\n{text}"), *messages[1:]]
    return [Message("system", text), *messages]


def with_calls_written(messages: Sequence[Message], notation: ToolFormat, escape: Escape) -> list[Message]:
    """Return the messages with calls and results as text, for a template that writes neither.

    A result becomes a message of the user, except where the model knows the role.
    """
    written: list[Message] = []
    for message in messages:
        if message.tool_calls:
            calls = write_calls(message.tool_calls, notation, escape)
            message = Message(message.role, f"{message.content}\n{calls}".strip())
        elif message.role == "tool" and notation is not LFM:
            message = Message("user", f"<tool_response>\n{message.content}\n</tool_response>")
        written.append(message)
    return written


def write_calls(calls: Sequence[ToolCall], notation: ToolFormat, escape: Escape) -> str:
    """Return calls in a notation with JSON or Python arguments."""

    def arguments(call: ToolCall) -> str:
        values = arguments_of(call)
        if notation.arguments == "python":
            return ", ".join(f"{escape(name)}={escape(repr(value))}" for name, value in values.items())
        return escape(json.dumps(values, ensure_ascii=False))

    parts = [f"{notation.lead}{escape(call.name)}{notation.middle}{arguments(call)}{notation.after}" for call in calls]
    return f"{notation.opening}{notation.first}{(notation.more or ' ').join(parts)}{notation.end}"
