"""Rendered templates: the same text as from llama-cpp-python, which follows Transformers."""

from __future__ import annotations

import jinja2
import pytest
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from engine.tokenization.jinja import compile_template

MESSAGES = [
    {"role": "system", "content": "Be <brief> & “kind”."},
    {"role": "user", "content": "  Grüß dich!\n"},
    {"role": "assistant", "content": "{{ no }}"},
    {"role": "user", "content": "Why?"},
]
TEMPLATES = {
    "blocks are trimmed": "{% for m in messages %}\n    {% if m.role %}\n{{ m.role }}\n    {% endif %}\n{% endfor %}",
    "json": "{{ messages | tojson }} {{ messages[0] | tojson(indent=2, sort_keys=true) }}",
    "json in ASCII": "{{ messages | tojson(ensure_ascii=true) }}{{ '日😀' | tojson(ensure_ascii=true) }}",
    "loop controls": "{% for m in messages %}{% if m.role == 'user' %}{% continue %}{% endif %}-{% endfor %}",
    "generation": "a{% generation %}{{ messages[2].content }}{% endgeneration %}b",
    "special tokens": "{{ bos_token }}{{ eos_token }}{% if add_generation_prompt %}go{% endif %}",
    "no tools": "{% if tools is none and functions is none %}none{% endif %}{{ tool_choice }}{{ function_call }}",
    "undefined": "[{{ documents }}]{% if enable_thinking is defined %}thinking{% endif %}",
    "dates": "{{ strftime_now('%Y') }}",
}


def theirs(source: str) -> str:
    return str(Jinja2ChatFormatter(source, eos_token="<e>", bos_token="<b>")(messages=MESSAGES).prompt)


def ours(source: str) -> str:
    return compile_template(source).render(
        messages=MESSAGES, eos_token="<e>", bos_token="<b>", add_generation_prompt=True
    )


@pytest.mark.parametrize("name", TEMPLATES)
def test_as_llama_cpp_python(name):
    assert ours(TEMPLATES[name]) == theirs(TEMPLATES[name]) != ""


def test_the_default_models_template(engine):
    source = engine._loaded().model.template
    assert ours(source) == theirs(source)
    assert "<|im_start|>assistant" in ours(source)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("{{ raise_exception('never') }}", ValueError),
        ("{{ messages.append(1) }}", jinja2.exceptions.SecurityError),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", jinja2.exceptions.SecurityError),
    ],
)
def test_refused(source, error):
    with pytest.raises(error):
        ours(source)
