"""The body of a request for an answer: messages and options in OpenAI's form, with what single programs add to it.

An option is sent only where the user has changed it: a server has its own defaults, often those that the model's makers
recommend, and some hosted ones refuse an option that they do not know.
"""

from __future__ import annotations

import json
import re
from typing import Any

from common.reasoning import without_thoughts
from engine.protocol.requests import Generate, Message, Sampling, Tool
from engine.tokenization.turns import drop_oldest_turns

UNCHANGED = Sampling()
CONTINUE = "Continue your last answer exactly where it stopped. Do not repeat any of it, and do not comment on this."
# What each program calls the options that OpenAI's API lacks; others might refuse them, so they get none.
EXTRA_NAMES: dict[str, dict[str, str]] = {
    "vLLM": {"top_k": "top_k", "min_p": "min_p", "repeat_penalty": "repetition_penalty"},
    "SGLang": {"top_k": "top_k", "min_p": "min_p", "repeat_penalty": "repetition_penalty"},
    "llama.cpp": {name: name for name in ("top_k", "min_p", "repeat_penalty", "repeat_last_n")},
    "Chickadee": {name: name for name in ("top_k", "min_p", "repeat_penalty", "repeat_last_n")},
}
GO_ON_FIELDS = {"add_generation_prompt": False, "continue_final_message": True}  # of vLLM and SGLang
PREFILLED = ("llama.cpp", "Chickadee", "Ollama")  # they go on with a last message of the assistant's by themselves
# Where a word of a server's sentence is the name of an option: in quotes, beside a word for options, at the end.
NAME_OF_OPTION = r"""(?x) ['"`‘“]{0}['"`’”] | \b(?:parameter|argument|option|field)s?:?\ +{0}\b
                          | \b{0}\ +(?:parameter|argument|option|field)\b | :\ *{0}\.?$"""
TEMPLATE_SWITCH = ("vLLM", "SGLang", "llama.cpp", "Chickadee")  # they hand `chat_template_kwargs` to the template


def body_of(request: Generate, model: str, software: str) -> dict[str, Any]:
    """Return the body that asks `model` on a server of this kind for the answer."""
    program = software.partition(" ")[0]
    messages = drop_oldest_turns(request.messages, request.forget_turns)
    body: dict[str, Any] = {"model": model, "stream": True, "stream_options": {"include_usage": True}}
    body["messages"] = [_message(message) for message in messages]
    if request.tools:
        body |= {"tools": [_tool(tool) for tool in request.tools], "tool_choice": request.tool_choice}
    if request.continue_last:
        body |= _continued(messages, program)
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.stop:
        body["stop"] = list(request.stop)
    if program == "llama.cpp":
        body["return_progress"] = True
    return body | _sampling(request.sampling, program) | _thinking(request, program)


def needs_own_model(request: Generate) -> bool:
    """Return whether the request has parts that no server is sent: a form, pictures, tokens or logprobs."""
    tokens = request.prompt is not None or request.top_logprobs is not None or bool(request.sampling.logit_bias)
    asked_apart = request.constraint or request.infill
    return tokens or bool(asked_apart) or any(message.pictures for message in request.messages)


def _message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return body | ({"tool_call_id": message.tool_call_id} if message.role == "tool" else {})


def _tool(tool: Tool) -> dict[str, Any]:
    parameters = json.loads(tool.parameters) if tool.parameters else {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def ignored_fields(software: str) -> tuple[str, ...]:
    """Return the fields of Generate that a server of this kind never gets."""
    known = EXTRA_NAMES.get(software.partition(" ")[0], {})
    return (*(f"sampling.{name}" for name in EXTRA_NAMES["llama.cpp"] if name not in known), "thinking.budget")


def _continued(messages: tuple[Message, ...], program: str) -> dict[str, Any]:
    """Return the fields with which a server goes on with the last message, instead of answering it."""
    turns = [_message(message) for message in messages[:-1]]
    last = {"role": "assistant", "content": without_thoughts(messages[-1].content)}
    if not last["content"]:  # only thoughts so far, which no server takes back
        return {"messages": turns}
    if program in PREFILLED:
        return {"messages": [*turns, last]}
    if program in EXTRA_NAMES:
        return {"messages": [*turns, last], **GO_ON_FIELDS}
    return {"messages": [*turns, last, {"role": "user", "content": CONTINUE}]}


def _sampling(sampling: Sampling, program: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        name: value
        for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed")
        if (value := getattr(sampling, name)) != getattr(UNCHANGED, name)
    }
    for name, theirs in EXTRA_NAMES.get(program, {}).items():
        if (value := getattr(sampling, name)) != getattr(UNCHANGED, name):
            body[theirs] = value
    return body


def _thinking(request: Generate, program: str) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if request.thinking.effort != "auto":
        body["reasoning_effort"] = request.thinking.effort
    if request.thinking.mode != "auto" and program in TEMPLATE_SWITCH:
        body["chat_template_kwargs"] = {"enable_thinking": request.thinking.mode == "on"}
    return body


def without_refused(body: dict[str, Any], reason: str, parameter: str = "") -> dict[str, Any] | None:
    """Return the body without an option that the server's words name; None if they name none.

    `parameter`: the name in the field that OpenAI's API has for it. OpenAI's newer models call `max_tokens` otherwise.
    """
    if "max_completion_tokens" in reason and "max_tokens" in body:
        changed = {name: value for name, value in body.items() if name != "max_tokens"}
        return {**changed, "max_completion_tokens": body["max_tokens"]}
    options = [name for name in body if name not in ("model", "messages", "stream", "tools", "tool_choice")]
    named = [name for name in options if (name == parameter if parameter else _names(reason, name))]
    return {name: value for name, value in body.items() if name != named[0]} if named else None


def _names(reason: str, name: str) -> bool:
    """Return whether the words name this option: "stop" is also a word of sentences, "top_p" is not."""
    pattern = rf"\b{name}\b" if "_" in name else NAME_OF_OPTION.format(name)
    return re.search(pattern, reason) is not None
