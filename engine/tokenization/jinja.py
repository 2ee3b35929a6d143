"""Renders chat templates as Hugging Face's Transformers do, for whom they are written. Knows no chat and no model.

A template is a program from a stranger: it runs in Jinja's sandbox and gets nothing but what it is rendered with. The
sandbox does not keep it from computing for ever or filling the memory, and compiling it computes too (Jinja works out
constant expressions). So this file is a program of its own (`serve`), which `engine.tokenization.renderer` starts and
ends. It imports nothing of ours: what it has loaded is what it costs, 10 MB.
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
RENDER = "render"  # how a packaged engine is asked to be this process
IDLE = 60.0  # seconds without a question, after which the process ends: starting it again takes 0.1 s
ROOM = 128 << 20  # bytes a template may need beyond what Python has, and PER_BYTE for each of a question's
PER_BYTE = 24
MOST_TEXT = 4 << 20  # characters a template may write, and TIMES as many as the question's bytes
TIMES = 4
LARGE = 2 << 20  # bytes of a question
LONGEST_REASON = 300  # characters
FOREIGN = re.compile("[^\x00-\x7f\ue000-\uf8ff]")  # private characters stand for others (`engine.tokenization.marks`)


class GenerationTag(jinja2.ext.Extension):
    """`{% generation %}…{% endgeneration %}` marks what a training counts; it prints its content."""

    tags = {"generation"}  # noqa: RUF012  jinja2's own declaration

    def parse(self, parser: Parser) -> list[Node]:
        """What stands between the tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@lru_cache(maxsize=4)
def compiled(source: str) -> jinja2.Template:
    """Raises for a damaged template whatever Jinja and Python's compiler raise."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = to_json
    no_tools = dict.fromkeys(("tools", "tool_choice", "functions", "function_call"))
    environment.globals.update(no_tools, raise_exception=raise_exception, strftime_now=strftime_now)
    return environment.from_string(source)


def raise_exception(message: str) -> None:
    """For templates: raises ValueError with their message."""
    raise ValueError(message)


def strftime_now(form: str) -> str:
    """For templates: the time here and now."""
    return datetime.now().strftime(form)


def to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter escapes HTML, which a prompt is not."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys)
    return FOREIGN.sub(lambda found: json.dumps(found[0])[1:-1], text) if ensure_ascii else text


class TooMuch(Exception):
    """The template writes without end."""


def written(template: jinja2.Template, values: dict[str, Any], most: int) -> str:
    """What it makes of `values`. Raises whatever a template can raise, and TooMuch beyond `most` characters."""
    parts, length = [], 0
    for part in template.generate(values):
        parts.append(part)
        length += len(part)
        if length > most:
            raise TooMuch
    return "".join(parts)


USUAL = (jinja2.TemplateError, ValueError, TypeError)  # what templates raise that say they cannot render a chat


class Answerer:
    """Answers questions. `sound` until Python ran out of memory or stack, after which it does odd things, or keeps the
    memory of a large chat."""

    def __init__(self) -> None:
        self.sound = True

    def answer(self, question: bytes) -> bytes:
        """A question has a template's `source` and the `values` to render it with, or null: compile it, no more.

        The answer is a `text`, or a `problem` (the template is "damaged", "refuses", is "endless") and a `reason`."""
        problem = "damaged"
        try:
            asked = json.loads(question)
            template = compiled(asked["source"])
            problem = "refuses"
            values = asked["values"]
            text = "" if values is None else written(template, values, MOST_TEXT + TIMES * len(question))
            self.sound = len(question) < LARGE
            return json.dumps({"text": text}).encode()
        except (MemoryError, TooMuch):
            self.sound = False
            return json.dumps({"problem": "endless"}).encode()
        except Exception as error:  # noqa: BLE001  # a stranger's program raises anything
            self.sound = isinstance(error, USUAL)
            return json.dumps({"problem": problem, "reason": reason(error)}).encode()


def reason(error: Exception) -> str:
    """What the user reads of an error in a template."""
    plain = isinstance(error, jinja2.TemplateError | ValueError) and str(error)
    return (plain or f"{type(error).__name__}: {error}")[:LONGEST_REASON]


def serve(seconds: float) -> int:
    """An empty line once all is loaded, then an answer to each question on stdin, a line of JSON each.

    A process that nobody asks, or that takes longer than `seconds` for an answer, ends itself, even if whoever started
    it is gone: faulthandler's watch is C code, which does not wait for a template to let Python go on."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    answerer = Answerer()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        line = b""
        while True:
            answers.write(line + b"\n")
            answers.flush()
            if not answerer.sound:
                return 0
            faulthandler.dump_traceback_later(IDLE, exit=True, file=nowhere)
            if not (question := questions.readline()):
                return 0
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            addresses = own_addresses()  # now, with what the watch's thread has reserved
            limit_addresses(addresses and addresses + allowance(question))
            line = answerer.answer(question)
            limit_addresses(None)


def allowance(question: bytes) -> int:
    """Bytes that answering may take beyond what Python with Jinja has."""
    return ROOM + PER_BYTE * len(question)


def own_addresses() -> int | None:
    """Bytes of addresses in use; None where the system does not say, or does not limit them."""
    try:
        return int(STATM.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def limit_addresses(most: int | None) -> None:
    """Where the system can, a single huge allocation fails before it is used; elsewhere the process is watched."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hardest = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hardest if most is None else most, hardest))


if __name__ == "__main__":
    sys.exit(serve(float(sys.argv[1])))
