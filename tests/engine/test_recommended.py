"""What a model's makers recommend: the same for the window, the terminal and other programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.settings.settings import Settings
from engine.api import chat as chats
from engine.api import messages, responses
from engine.commands import api, chat
from engine.protocol.requests import Generate, Sampling
from models.default import default_model

QWEN = Path("models/unsloth/Qwen3.5-4B-GGUF/Qwen3.5-4B-Q4_K_M.gguf")
PHI = Path("models/any/Phi-4-mini-instruct-Q4_K_M.gguf")
QUESTION = {"role": "user", "content": "Hello"}


def by_command(command: Any, model: Path, *options: str) -> Generate:
    """Return the Generate that a command of the terminal makes of its options."""
    commands = argparse.ArgumentParser()
    command.add(commands.add_subparsers())
    name = command.__name__.rpartition(".")[2]
    request: Generate = command.requests_of(commands.parse_args([name, "--model", str(model), *options]))[1]
    return request


@pytest.mark.parametrize("model", [QWEN, PHI, default_model()], ids=["thinking", "stops", "built-in"])
def test_window_terminal_and_api_answer_alike(model: Path, tmp_path: Path) -> None:
    of_window = Settings(tmp_path / "settings.toml").options(model).generate
    for of_terminal in (by_command(chat, model), by_command(api, model)):
        assert of_terminal.sampling == of_window.sampling
        assert of_terminal.sampling_thinking == of_window.sampling_thinking
        assert of_terminal.stop == of_window.stop
    assert of_window.sampling != Sampling() or of_window.stop


def test_the_built_in_model_has_the_sampling_that_answers_best() -> None:
    sampling = by_command(chat, default_model()).sampling
    assert (sampling.temperature, sampling.top_p) == (0.4, 0.9)


def test_what_an_option_says_counts() -> None:
    hot = by_command(chat, QWEN, "--temp", "0.8")
    assert [hot.sampling_for(thinks).temperature for thinks in (False, True)] == [0.8, 0.8]
    assert hot.sampling.top_k == 20
    greedy = by_command(chat, QWEN, "--greedy").sampling_for(thinks=True)
    assert (greedy.temperature, greedy.repeat_penalty, greedy.presence_penalty) == (0.0, 1.0, 0.0)


FORMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "chat": (chats.ChatRequest, chats.ChatForm, {"messages": [QUESTION]}),
    "messages": (messages.MessagesRequest, messages.MessagesForm, {"messages": [QUESTION], "max_tokens": 1}),
    "responses": (responses.ResponsesRequest, responses.ResponsesForm, {"input": "Hello"}),
}


def generate_of(form: str, **fields: Any) -> Generate:
    """Return the Generate that the API makes of a request for the thinking model's answer."""
    schema, kind, body = FORMS[form]
    read = msgspec.json.decode(json.dumps(body | fields), type=schema)
    request: Generate
    [request] = kind(read, "", False).requests_of(by_command(api, QWEN))
    return request


THOUGHTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "chat": ({"reasoning_effort": "low"}, {"reasoning_effort": "none"}),
    "messages": ({"thinking": {"type": "enabled", "budget_tokens": 9}}, {"thinking": {"type": "disabled"}}),
    "responses": ({"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "none"}}),
}


@pytest.mark.parametrize("form", THOUGHTS)
def test_a_program_gets_the_sampling_for_thoughts_when_it_asks_for_thoughts(form: str) -> None:
    on, off = THOUGHTS[form]
    assert generate_of(form, **on).sampling_for(thinks=False).temperature == 1.0
    assert generate_of(form, **off).sampling_for(thinks=True).temperature == 0.7
    given = generate_of(form, **on, temperature=0.3).sampling_for(thinks=False)
    assert (given.temperature, given.top_p) == (0.3, 0.95)


def test_structured_answers_have_no_penalty_unless_it_is_given() -> None:
    form = {"type": "json_object"}
    sampling = generate_of("chat", response_format=form).sampling
    assert (sampling.repeat_penalty, sampling.presence_penalty, sampling.temperature) == (1.0, 0.0, 0.7)
    assert generate_of("chat", response_format=form, presence_penalty=0.5).sampling.presence_penalty == 0.5
    assert generate_of("chat").sampling.presence_penalty == 1.5
