"""Hostile chat templates, and model files that contain them."""

from __future__ import annotations

import shutil
from pathlib import Path

from models.default import default_model

# Templates that compute without end, or take more memory than a machine has.
ENDLESS = {
    "nested loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a long text": "{% set x = messages[0].role %}{{ x * 10**10 }}",
    "a long constant": "{{ 'x' * 10**10 }}",
    "a long list": "{{ [messages] * 10**9 }}",
    "doubling": "{% set n = namespace(t='x') %}{% for i in range(99) %}{% set n.t = n.t ~ n.t %}{% endfor %}",
    "centred": "{{ messages[0].role.center(3000000000) }}",
    "indented": "{{ messages | tojson(indent=2000000000) }}",
    "a power": "{{ (messages | length + 9) ** 10000000 }}",
    "a wide number": "{{ '%2000000000d' % messages | length }}",
    "a wide format": "{{ '{:2000000000}'.format(messages | length) }}",
    "much text": "{% for i in range(99999) %}{% for j in range(999) %}{{ messages }}{% endfor %}{% endfor %}",
}
# Templates that raise Python's exceptions.
REFUSING = {
    "overflow": "{{ (messages | length + 0.5) ** 99999 }}",
    "a range": "{{ range(99999999999) | list }}",
    "division": "{{ messages | length / 0 }}",
    "a macro": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a recursive loop": "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
    "what is not there": "{{ messages[0].tool.name }}",
    "a key": "{{ '%(nobody)s' % {} }}",
    "no such filter's argument": "{{ messages | join(1, 2, 3, 4) }}",
    "Python": "{{ messages.__class__.__mro__ }}",
}
# Templates that cannot be compiled.
DAMAGED = {
    "a long number": "{{ " + "9" * 5000 + " }}",
    "parentheses": "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}",
    "blocks": "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
    "no end": "{% for x in %}",
    "a filter that does not exist": "{{ messages | nothing }}",
}


def endless_later(name: str) -> str:
    """Return a template that is endless only for a chat that begins with something long."""
    return "{{ messages[0].content }}{% if 'long' in messages[0].content %}" + ENDLESS[name] + "{% endif %}"


def default_model_with(template: str, path: Path) -> Path:
    """Copy the default model with another template, which must not be longer than its own; return the path."""
    shutil.copyfile(default_model(), path)
    with path.open("r+b") as file:
        header = file.read(8 << 20)
        begin = header.index(b"{% for message in messages %}")
        size = int.from_bytes(header[begin - 8 : begin], "little")
        file.seek(begin)
        file.write(template.encode() + b" " * (size - len(template.encode())))
    return path
