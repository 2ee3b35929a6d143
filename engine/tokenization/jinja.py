"""Rendering of chat templates as in Hugging Face's Transformers, for which they are written.

A template is a stranger's program. It runs in Jinja's sandbox and gets only the values that it is rendered with. The
sandbox does not stop a template from computing for ever or filling the memory, and even compiling may compute, because
Jinja evaluates constant expressions. So this file is a program of its own (`serve`), which
`engine.tokenization.renderer` starts and ends. It imports no other module of ours, so that the process takes only
10 MB.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import sys
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.ext
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

STATM = Path("/proc/self/statm")
RENDER = "render"  # argument with which a packaged engine becomes this process
IDLE_SECONDS = 60.0  # without a request the process ends then; starting it again takes 0.1 s
# Bytes that rendering may take in addition to Python with Jinja: a constant, and a number for each byte of the request.
SPARE_BYTES, BYTES_PER_REQUEST_BYTE = 128 << 20, 24
# Characters that a template may write: a constant, and a number for each byte of the request.
MAX_TEXT, TEXT_PER_REQUEST_BYTE = 4 << 20, 4
LARGE_REQUEST = 2 << 20  # bytes of a request, after which the process ends to free its memory
MAX_REASON = 300  # characters
# Private-use characters are escapes of `engine.tokenization.escaping`; they stay.
NON_ASCII = re.compile("[^\x00-\x7f\ue000-\uf8ff]")


class GenerationTag(jinja2.ext.Extension):
    """The tag `{% generation %}…{% endgeneration %}`, which marks text for training; rendering prints its content."""

    tags = {"generation"}  # noqa: RUF012  jinja2's own declaration

    def parse(self, parser: Parser) -> list[Node]:
        """Return the nodes between the tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@lru_cache(maxsize=4)
def compile_template(source: str) -> jinja2.Template:
    """Compile a template. Raises whatever Jinja and Python's compiler raise for a damaged one."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = to_json
    no_tools = dict.fromkeys(("tools", "tool_choice", "functions", "function_call"))
    environment.globals.update(no_tools, raise_exception=raise_exception, strftime_now=strftime_now)
    return environment.from_string(source)


def raise_exception(message: str) -> None:
    """Raise ValueError with a template's message; templates call this function."""
    raise ValueError(message)


def strftime_now(form: str) -> str:
    """Return the local time in the given format; templates call this function."""
    return datetime.now().strftime(form)


def to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return a value as JSON without HTML escapes, which Jinja's own `tojson` adds and a prompt must not have."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys)
    return NON_ASCII.sub(lambda character: json.dumps(character[0])[1:-1], text) if ensure_ascii else text


class TextTooLong(Exception):
    """The template writes more text than allowed."""


def render_limited(template: jinja2.Template, values: dict[str, Any], max_chars: int) -> str:
    """Render the template with `values`.

    Raises whatever a template can raise, and TextTooLong beyond `max_chars` characters.
    """
    parts, length = [], 0
    for part in template.generate(values):
        parts.append(part)
        length += len(part)
        if length > max_chars:
            raise TextTooLong
    return "".join(parts)


USUAL = (jinja2.TemplateError, ValueError, TypeError)  # exceptions of templates that refuse a chat


def reply_to(request: bytes) -> tuple[bytes, bool]:
    """Render a template; return the reply, and whether the process may go on. Request and reply are JSON.

    A request has the template's `source` and the `values` to render it with. A reply has either a `text`, or a
    `problem` (the template is "damaged", "refuses", or is "endless") and a `reason`. The process must end if Python ran
    out of memory or stack and may misbehave, or if it would keep the memory of a large chat.
    """
    problem = "damaged"
    try:
        fields = json.loads(request)
        template = compile_template(fields["source"])
        problem = "refuses"
        text = render_limited(template, fields["values"], MAX_TEXT + TEXT_PER_REQUEST_BYTE * len(request))
        return json.dumps({"text": text}).encode(), len(request) < LARGE_REQUEST
    except (MemoryError, TextTooLong):
        return json.dumps({"problem": "endless"}).encode(), False
    except Exception as error:  # noqa: BLE001  a stranger's program raises anything
        return json.dumps({"problem": problem, "reason": error_reason(error)}).encode(), isinstance(error, USUAL)


def error_reason(error: Exception) -> str:
    """Return the text that the user reads about an error in a template."""
    plain = isinstance(error, jinja2.TemplateError | ValueError) and str(error)
    return (plain or f"{type(error).__name__}: {error}")[:MAX_REASON]


def serve(seconds: float) -> int:
    """Write an empty line when all is loaded, then one line of JSON for each request on stdin; return the exit code.

    The process ends itself when it gets no request for IDLE_SECONDS or needs more than `seconds` for a reply, even if
    its parent is gone. faulthandler's timer is C code, which works while a template blocks Python.
    """
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not become a reply
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        line, goes_on = b"", True
        while True:
            replies.write(line + b"\n")
            replies.flush()
            if not goes_on:
                return 0
            faulthandler.dump_traceback_later(IDLE_SECONDS, exit=True, file=nowhere)
            if not (request := requests.readline()):
                return 0
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            used = used_address_space()  # includes what faulthandler's timer thread has reserved
            limit_address_space(used and used + memory_allowance(request))
            line, goes_on = reply_to(request)
            limit_address_space(None)


def memory_allowance(request: bytes) -> int:
    """Return the bytes that rendering may take beyond those of Python with Jinja."""
    return SPARE_BYTES + BYTES_PER_REQUEST_BYTE * len(request)


def used_address_space() -> int | None:
    """Return the bytes of address space in use, or None if the system does not report or limit them."""
    try:
        return int(STATM.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def limit_address_space(max_bytes: int | None) -> None:
    """Limit this process's address space to `max_bytes` bytes (None: no limit), where the system can.

    A single huge allocation then fails before any of it is used. Elsewhere the parent watches the process's memory.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hardest = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hardest if max_bytes is None else max_bytes, hardest))


if __name__ == "__main__":
    sys.exit(serve(float(sys.argv[1])))
