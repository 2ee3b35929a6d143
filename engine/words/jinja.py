"""Compiles chat templates as Hugging Face's Transformers do, for whom they are written. Knows no chat and no model.

A template is a program from a stranger: it runs in Jinja's sandbox and gets nothing but what it is rendered with.
"""

from __future__ import annotations

import json
from datetime import datetime

import jinja2
import jinja2.ext
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class GenerationTag(jinja2.ext.Extension):
    """`{% generation %}…{% endgeneration %}` marks what a training counts; it prints its content."""

    tags = {"generation"}  # noqa: RUF012  jinja2's own declaration

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compiled(source: str) -> jinja2.Template:
    """Raises jinja2.TemplateError for a damaged template; rendering it may raise that, ValueError and TypeError."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = to_json
    no_tools = dict.fromkeys(("tools", "tool_choice", "functions", "function_call"))
    environment.globals.update(no_tools, raise_exception=raise_exception, strftime_now=strftime_now)
    return environment.from_string(source)


def raise_exception(message: str) -> None:
    raise ValueError(message)


def strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter escapes HTML, which a prompt is not."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
