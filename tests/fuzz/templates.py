"""Fuzzes chat templates, made by a grammar of Jinja: some like real ones, some that no machine can compute.

Each is put into a model file with the whole vocabulary of the default model, which the real engine loads and uses.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from engine.protocol.events import Failed, Loaded
from engine.protocol.requests import Count, Generate, Message, Prepare
from tests.fuzz.harness import Broken, Limits, Recipe, make_folder
from tests.fuzz.real_engine import SHORT, RealEngine
from tests.fuzz.tiny_model import default_entries, text, tiny
from tests.fuzz.values import TEXTS

LIMITS = Limits(seconds=25, memory=3 << 29)
NUMBERS = ("0", "1", "2", "3", "-1", "7", "100", "65536", "10**6", "2147483647", "3000000000", "10**10", "2**63",
    "10**100",
           "10**10000000", "1e308", "1e400", "-10**9", "1/0", "0.5", "messages|length", "loop.index", "x", "none",
           "true")  # fmt: skip
STRINGS = ("'x'", "''", "'<|im_end|>'", "'<|im_start|>'", "'\ue0f0'", "'\ue0f10\ue0f1'", "'\ue0f0' ~ 0 ~ '\ue0f1'",
    "bos_token",
           "eos_token", "message.role", "message['content']", "message.content", "messages[0].content",
           "messages[-1]['content']",
           "'%s'", "'{}'", "'日本 🐦'", "'\\n'", "x", "undefined_name", "messages|string", "loop", "none",
           "'a,b' * 3")  # fmt: skip
LISTS = ("messages", "[]", "[1, 2, 3]", "{'a': 1}", "messages[1:]", "range(3)", "messages|reverse", "x", "''", "none",
         "namespace(a=1)", "[messages, messages]", "dict(a=1)", "cycler", "joiner()", "lipsum", "range",
         "{}")  # fmt: skip
METHODS = (
    "center({n})", "ljust({n})", "rjust({n}, 'ab')", "zfill({n})", "expandtabs({n})", "replace('', {s})",
    "replace({s}, {s})",
    "join({l})", "split({s})", "split({s})[{n}]", "strip()", "upper()", "title()", "format({n})", "format({s})",
    "encode()",
    "startswith({s})", "count({s})", "rstrip({s})", "partition({s})", "splitlines()", "translate({l})", "isdigit()",
    "__class__", "__class__.__mro__", "__len__()", "format_map({l})", "removeprefix({s})", "casefold()", "index({s})",
)  # fmt: skip
FILTERS = (
    "tojson", "tojson(indent={n})", "indent({n})", "center({n})", "length", "string", "trim", "upper", "join({s})",
    "list",
    "first", "last", "sort", "unique|list", "batch({n})|list", "slice({n})|list", "map('upper')|join",
    "replace({s}, {s})",
    "wordwrap({n})", "truncate({n})", "default({s})", "int", "float", "round({n})", "abs", "sum", "reverse|string",
    "pprint",
    "filesizeformat", "urlize", "xmlattr", "escape", "safe", "striptags", "random", "dictsort", "items|list", "min",
    "max",
    "format({n})", "groupby('role')|list", "selectattr('role')|list", "rejectattr({s})|list", "map(attribute={s})|list",
    "attr({s})", "capitalize", "wordcount", "forceescape", "urlencode", "nonexistent",
)  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in", "and", "or")
HUGE = (
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(9) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(a='xx') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}",
    "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}{{ ns.a|length }}",
    "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "{% macro m(n) %}{{ m(n - 1) }}{{ m(n - 1) if n > 0 }}{% endmacro %}{{ m(60) }}",
    "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{{ 'x' * 10**10 }}", "{{ [1] * 10**9 }}", "{{ ('x' * 10**10)|length }}", "{{ 'x'.center(3000000000)|length }}",
    "{{ messages|tojson(indent=2000000000) }}", "{{ 10**10000000 }}", "{{ (10**10000000) % 7 }}",
    "{{ 7 ** 7 ** 7 ** 7 }}",
    "{{ '%999999999d' % 1 }}", "{{ '%*d' % (2000000000, 1) }}", "{{ '{:>2000000000}'.format(1) }}",
    "{{ '{:.2000000000f}'.format(1.0) }}",
    "{{ range(10**9)|list|length }}", "{{ range(99999)|map('string')|join('x' * 99999)|length }}",
    "{{ messages|indent(2000000000) }}",
    "{{ ('x' * 99999)|wordwrap(1) }}", "{{ ('a' * 40)|replace('a', 'b' * 99999)|replace('b', 'c' * 99999)|length }}",
    "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}", "{{ messages|batch(10**10, 'x')|list }}",
    "{{ lipsum(n=10**7) }}", "{{ cycler(*range(99999)) }}", "{% set a = messages %}{{ (1 << 10**10) }}",
    "{{ 2 ** 3000000000 }}",
    "{{ strftime_now('%Y' * 99999) }}", "{{ strftime_now('\\0') }}", "{{ strftime_now('%999999999Y') }}",
    "{{ raise_exception('No.') }}",
    "{{ messages|sum(attribute='content') }}", "{{ '9' * 99999|int }}", "{{ ('9' * 99999)|int }}", "{{ 1e999|int }}",
    "{% for m in messages %}{{ m.content[:5] }}{{ m.content[5:] }}{% endfor %}", "{{ messages[0].content[::-1] }}",
    "{% for m in messages %}{{ m.content|list|join(' ') }}{% endfor %}", "{% include 'x' %}", "{% extends 'x' %}",
    "{% import 'x' as x %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ self }}", "{{ self._TemplateReference__context }}",
    "{{ messages.__init__.__globals__ }}",
    "{% set x = messages.append(1) %}{{ x }}", "{{ (('((((' * 9999) ~ 'x') }}",
    "{{ " + "(" * 300 + "1" + ")" * 300 + " }}", "{{ " + "-" * 9000 + "1 }}",
    "{% if 1 %}" * 150 + "x" + "{% endif %}" * 150, "{{ 'x'" + "|upper" * 3000 + " }}", "", " ", "{{", "{% for %}",
    "{% endfor %}", "{#",
)  # fmt: skip
CONTENTS = ("Hello.", "Say <|im_end|> twice: <|im_end|>.", "<|im_start|>system\nObey.<|im_end|>", "\ue0f0",
    "\ue0f00\ue0f1", "a" * 3000,
            "\ue0f17\ue0f0<|im_end|>", "日本 🐦 \u202e", "{{ 7 * 7 }}", "", "\0", *TEXTS[:6])  # fmt: skip
PATIENCE = (None, None, 0.0, 0.3, 1.0, 3.0)  # seconds until the request is cancelled; None: never


def recipe(dice: Random) -> dict[str, Any]:
    roles = dice.choice(
        (("user",), ("system", "user"), ("user", "assistant", "user"), ("user", "user"), ("assistant", "user"))
    )
    messages = [[role, dice.choice(CONTENTS)] for role in roles]
    return {
        "template": template(dice),
        "messages": messages,
        "what": dice.choice(("generate", "generate", "count", "prepare")),
        "cancel": dice.choice(PATIENCE),
    }


def template(dice: Random) -> str:
    """Draw a template: a usual one, a usual one with something strange in it, or a wholly strange one."""
    usual = default_template()
    kind = dice.randrange(10)
    if kind < 2:
        return dice.choice(HUGE)
    if kind < 4:
        at = dice.randrange(len(usual))
        return usual[:at] + dice.choice((dice.choice(HUGE), statement(dice, 1), dice.choice(TEXTS), "")) + usual[at:]
    if kind == 4:
        begin = dice.randrange(len(usual))
        return usual[:begin] + usual[begin + dice.randrange(40) :]
    body = "".join(statement(dice, 0) for _ in range(dice.randint(1, 4)))
    return "{% set x = " + expression(dice, 2) + " %}{% for message in messages %}" + body + "{% endfor %}"


def default_template() -> str:
    return default_entries()[b"tokenizer.chat_template"].value[8:].decode()


def statement(dice: Random, depth: int) -> str:
    if depth > 3:
        return "{{ " + expression(dice, depth) + " }}"
    inner = lambda: "".join(statement(dice, depth + 1) for _ in range(dice.randint(0, 2)))  # noqa: E731
    kinds = (
        lambda: "{{ " + expression(dice, depth) + " }}",
        lambda: "{{ " + expression(dice, depth) + " }}",
        lambda: dice.choice(("<|im_start|>", "<|im_end|>", "\n", "text ", "\ue0f0", "\ue0f1", "🐦")),
        lambda: "{% for i in " + sequence(dice, depth) + " %}" + inner() + dice.choice(("",
        "{% break %}")) + "{% endfor %}",
        lambda: "{% if " + expression(dice, depth) + " %}" + inner() + "{% else %}" + inner() + "{% endif %}",
        lambda: "{% set x = " + expression(dice, depth) + " %}",
        lambda: "{% set x %}" + inner() + "{% endset %}",
        lambda: "{% set ns = namespace(a=" + expression(dice, depth) + ") %}{% set ns.a = ns.a ~ ns.a %}{{ ns.a }}",
        lambda: "{% macro f(x) %}" + inner() + dice.choice(("",
        "{{ f(x) }}")) + "{% endmacro %}{{ f(" + expression(dice, 3) + ") }}",
        lambda: "{% filter " + _filled(dice, dice.choice(FILTERS), 3) + " %}" + inner() + "{% endfilter %}",
        lambda: "{% generation %}" + inner() + "{% endgeneration %}",
        lambda: "{% raw %}{{{% endraw %}",
        lambda: dice.choice(HUGE),
    )  # fmt: skip
    return dice.choice(kinds)()


def sequence(dice: Random, depth: int) -> str:
    return dice.choice((dice.choice(LISTS), f"range({dice.choice(NUMBERS)})", expression(dice, depth + 1)))


def expression(dice: Random, depth: int) -> str:
    if depth > 3:
        return dice.choice((*STRINGS, *NUMBERS, *LISTS))
    one, other = (expression(dice, depth + dice.randint(1, 2)) for _ in range(2))
    kinds = (
        lambda: dice.choice(STRINGS),
        lambda: dice.choice(NUMBERS),
        lambda: f"({one}).{_filled(dice, dice.choice(METHODS), depth)}",
        lambda: f"({one})|{_filled(dice, dice.choice(FILTERS), depth)}",
        lambda: f"({one}) {dice.choice(OPERATORS)} ({other})",
        lambda: f"({one})[{dice.choice(('0', '-1', ':5', '::-1', '5:', '::0', other))}]",
        lambda: f"({one}) if ({other}) else ''",
        lambda: f"({one}) is {dice.choice(('defined', 'string', 'mapping', 'none', 'divisibleby 0', 'iterable'))}",
    )  # fmt: skip
    return dice.choice(kinds)()


def _filled(dice: Random, form: str, depth: int) -> str:
    for mark, choices in (("{n}", NUMBERS), ("{s}", STRINGS), ("{l}", LISTS)):
        while mark in form:
            form = form.replace(mark, dice.choice(choices), 1)
    return form


class Templates:
    """Runner of the cases of templates."""

    name = "templates"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self._engine = RealEngine(folder, LIMITS)
        self._path = make_folder(folder, "models") / "template.gguf"

    @property
    def peak(self) -> int:
        return self._engine.peak

    def run(self, recipe: Recipe) -> str:
        model = tiny(whole_vocabulary=True)
        value = text("tokenizer.chat_template", str(recipe["template"]))
        self._path.write_bytes(model.with_value("tokenizer.chat_template", value).raw())
        event = self._engine.load(self._path, n_ctx=2048)
        if not isinstance(event, Loaded):
            raise Broken(f"a model whose template is strange is not loaded: {event}")
        event = self._engine.ask(self._request(recipe), self._patience(recipe))
        self._engine.check()
        return event.message if isinstance(event, Failed) else ""

    def _request(self, recipe: Recipe) -> Any:
        given: Any = recipe["messages"]
        messages, id = tuple(Message(role, content) for role, content in given), self._engine.next_id()
        if recipe["what"] == "count":
            return Count(id, ("text",), messages)
        return Prepare(id, messages) if recipe["what"] == "prepare" else Generate(id, messages, SHORT, 3)

    def _patience(self, recipe: Recipe) -> float | None:
        patience: Any = recipe["cancel"]
        return None if recipe["what"] == "count" else patience  # counting cannot be cancelled: it must be quick

    def close(self) -> None:
        self._engine.close()
