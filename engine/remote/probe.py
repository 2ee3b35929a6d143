"""What a server is and which models it has, from what servers tell without being asked to compute anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from common.failures import Failure
from common.paths import printable, shortened
from engine.protocol.events import ServedModel, ThinkingControls
from engine.protocol.requests import Server
from engine.remote.body import TEMPLATE_SWITCH
from engine.remote.failures import decoded, nonsense, status_failure
from engine.remote.http import Patience, Request, send
from models.servers import base_url, checked_key, host_of

PATIENCE = Patience(first=20, gap=10)
ASIDE = Patience(connect=5, first=5, gap=5)  # for what is only nice to know
MOST_MODELS = 2_000
LONGEST_NAME = 300
NO_CONTROLS = ThinkingControls()
SWITCH = ThinkingControls(switch=True, default=True)
EFFORTS = ThinkingControls(efforts=("low", "medium", "high"), default_effort="medium")
# Families whose templates know `enable_thinking`; Qwen's later releases (…-2507, Coder) either always think or never.
SWITCHABLE = re.compile(r"^(?!.*(?:-2507|coder|embed|-vl)).*(?:qwen-?3|smollm3|glm-4\.[5-9])", re.IGNORECASE)
# Names of a model's context in lists of models: vLLM and SGLang, OpenRouter, LM Studio, Groq and others, LiteLLM.
CONTEXT_FIELDS = ("max_model_len", "context_length", "max_context_length", "context_window", "max_input_tokens")
OWNERS = {"vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp", "library": "Ollama", "chickadee": "Chickadee"}
SERVERS = {"llama.cpp": "llama.cpp", "ollama": "Ollama", "litellm": "LiteLLM"}  # beginnings of the header `Server`


@dataclass(frozen=True, slots=True)
class Probed:
    """A server that has answered.

    `server`: its address as it worked, and the key. `software`: name and perhaps version, empty if unknown. `thinking`:
    what the chat template lets the user choose, where the server tells it.
    """

    server: Server
    software: str
    models: tuple[ServedModel, ...]
    thinking: ThinkingControls = NO_CONTROLS

    def thinking_of(self, name: str) -> ThinkingControls:
        """Return what the user may choose about a model's thinking: by the template, else by the model's name.

        vLLM and SGLang hand the choice to the template, but do not show the template.
        """
        if self.thinking != NO_CONTROLS:
            return self.thinking
        if "gpt-oss" in name.casefold():
            return EFFORTS
        passes_on = self.software.partition(" ")[0] in TEMPLATE_SWITCH
        return SWITCH if passes_on and SWITCHABLE.search(name) else NO_CONTROLS

    def model(self, name: str) -> ServedModel:
        """Return the model of this name; for an empty name, the only one. Raises Failure."""
        models = [model for model in self.models if name in ("", model.name)]
        if len(models) == 1 or (models and name):
            return models[0]
        host = host_of(self.server.url)
        if not self.models:
            raise Failure("not_found.server_no_models", host=host)
        if not name:
            raise Failure("not_found.server_which", host=host, listed=", ".join(model.name for model in models))
        raise Failure("not_found.server_model", host=host, model=name)


def probe(server: Server, stopped: Callable[[], bool]) -> Probed:
    """Ask the server for its models, at its address and, if there is nothing, below `/v1`. Raises Failure, Stopped."""
    server = Server(base_url(server.url), checked_key(server.key))
    addresses = [server.url] if urlsplit(server.url).path.endswith("/v1") else [server.url, f"{server.url}/v1"]
    failure: Failure | None = None
    for url in addresses:
        try:
            entries, headers = _models(replace(server, url=url), stopped)
        except Failure as problem:
            if problem.sentence.id not in ("not_found.server_api", "refused.server_nonsense"):
                raise
            failure = failure or problem
            continue
        probed = Probed(replace(server, url=url), _software(entries, headers.get("server", "")), served_models(entries))
        return _with_details(probed, stopped)
    assert failure is not None
    raise failure


def _models(server: Server, stopped: Callable[[], bool]) -> tuple[list[Any], dict[str, str]]:
    url = f"{server.url}/models"
    with send(Request(url, server.key, patience=PATIENCE), stopped) as response:
        body, headers = response.read(), dict(response.headers)
    if response.status != 200:
        raise status_failure(url, response.status, body, server.key, retry_after=headers.get("retry-after", ""))
    listed = decoded(body)
    models = listed.get("data", listed.get("models")) if isinstance(listed, dict) else listed
    if models is None and isinstance(listed, dict) and "data" in listed:
        models = []  # Ollama without a model
    if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
        raise nonsense(url)
    return models[:MOST_MODELS], headers


def served_models(entries: Iterable[dict[str, Any]]) -> tuple[ServedModel, ...]:
    named = {_name(model): ServedModel(_name(model), _context(model)) for model in entries if _can_chat(model)}
    return tuple(model for name, model in named.items() if name)


def _name(model: dict[str, Any]) -> str:
    name = model.get("id") or model.get("name") or ""
    return name if isinstance(name, str) and len(name) <= LONGEST_NAME and name == printable(name) else ""


def _can_chat(model: dict[str, Any]) -> bool:
    """Return whether the model answers, as far as its entry tells: embedding models are left out."""
    kind = _word(model.get("type", model.get("object")))
    return "embed" not in kind and "rerank" not in kind


def _word(value: Any) -> str:
    """Return a text in small letters; '' for any other value, which may be nested too deeply to be shown."""
    return value.casefold() if isinstance(value, str) else ""


def _context(model: dict[str, Any]) -> int:
    meta = model.get("meta")
    numbers = [model.get(field) for field in CONTEXT_FIELDS]
    if isinstance(meta, dict):  # llama.cpp: what it was started with, else what the model was trained for
        numbers += [meta.get("n_ctx"), meta.get("n_ctx_train")]
    return next((number for number in numbers if type(number) is int and 0 < number < 1 << 31), 0)  # not True


def _software(entries: Iterable[dict[str, Any]], header: str) -> str:
    for beginning, name in SERVERS.items():
        if header.casefold().startswith(beginning):
            return name
    owners = [_word(model.get("owned_by")) for model in entries]
    return next((OWNERS[owner] for owner in owners if owner in OWNERS), "")


def _with_details(probed: Probed, stopped: Callable[[], bool]) -> Probed:
    """Add what programs tell at addresses of their own; a server that does not answer there is taken as it is."""
    root = urlunsplit((*urlsplit(probed.server.url)[:2], "", "", ""))
    if probed.software == "llama.cpp":
        properties = _aside(f"{root}/props", probed.server.key, stopped)
        settings = properties.get("default_generation_settings")
        n_ctx = settings.get("n_ctx") if isinstance(settings, dict) else None
        models = probed.models
        if type(n_ctx) is int and 0 < n_ctx < 1 << 31 and len(models) == 1:
            models = (replace(models[0], n_ctx=n_ctx),)
        build = properties.get("build_info")
        software = f"llama.cpp {shortened(printable(build), 30)}" if isinstance(build, str) and build else "llama.cpp"
        thinking = template_controls(_word(properties.get("chat_template")))
        return replace(probed, models=models, software=software, thinking=thinking)
    if probed.software in ("vLLM", "Ollama"):
        place = f"{root}/version" if probed.software == "vLLM" else f"{root}/api/version"
        version = _aside(place, probed.server.key, stopped).get("version")
        if isinstance(version, str):
            return replace(probed, software=f"{probed.software} {shortened(printable(version), 30)}")
    return probed


def template_controls(template: str) -> ThinkingControls:
    """Return what a chat template lets the user choose about thinking, judged by the names it asks for."""
    if "reasoning_effort" in template:
        return EFFORTS
    return SWITCH if "enable_thinking" in template else NO_CONTROLS


def _aside(url: str, key: str, stopped: Callable[[], bool]) -> dict[str, Any]:
    try:
        with send(Request(url, key, patience=ASIDE), stopped) as response:
            details = decoded(response.read()) if response.status == 200 else None
    except Failure:
        return {}
    return details if isinstance(details, dict) else {}
