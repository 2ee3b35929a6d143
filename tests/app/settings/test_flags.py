"""The engine's command line: every option is a setting, and every request setting is an option or has a reason."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from app.settings.schema import SETTINGS
from engine.commands import chat, plan
from engine.commands.options import settings_with_flag, values_of
from engine.protocol.settings import AUTO, OF_REQUESTS

BY_FLAG = {setting.flag.name: setting for setting in OF_REQUESTS.values() if setting.flag}
# What scripts and settings files rely on: each flag, the setting it is, and the field of the request.
FLAGS = {
    "--ctx": ("engine.context", "load.n_ctx"),
    "--threads": ("engine.threads", "load.threads"),
    "--memory": ("engine.memory", "load.memory_bytes"),
    "--backend": ("engine.backend", "load.backend"),
    "--device": ("engine.device", "load.device"),
    "--kv-type": ("engine.kv_type", "load.kv_type"),
    "--draft-model": ("engine.draft_model", "load.draft_model"),
    "--flash-attention": ("engine.flash_attention", "load.flash_attention"),
    "--kv": ("engine.kv_mode", "load.kv_mode"),
    "--kv-share": ("engine.kv_share", "load.kv_share"),
    "--kv-policy": ("engine.kv_policy", "generate.kv_policy"),
    "--draft": ("engine.draft", "generate.draft"),
    "--layer": ("engine.exit_layers", "generate.exit_layers"),
    "--match": ("engine.lookup_match", "generate.lookup.match"),
    "--m": ("engine.lookup_m", "generate.lookup.m"),
    "--n": ("engine.lookup_n", "generate.lookup.n"),
    "--select": ("engine.lookup_select", "generate.lookup.select"),
    "--temp": ("answer.temperature", "generate.sampling.temperature"),
    "--seed": ("answer.seed", "generate.sampling.seed"),
    "--max-tokens": ("answer.max_tokens", "generate.max_tokens"),
}
NOT_IN_THE_WINDOW = {
    "--help": "the help page and the sentences of the settings",
    "--model": "the models' dialog",
    "--server": "the models' dialog",
    "--server-model": "the models' dialog",
    "--server-key": "the models' dialog",
    "--greedy": "temperature 0",
    "--trace": "the engine's panel shows what is traced",
    "--json": "there is no output to be read by programs",
    "--prompt": "the composer",
    "--prompt-file": "the composer takes files",
    "--messages": "File → Import chats…",
}
NOT_IN_THE_TERMINAL = {
    "answer.system_prompt": "/system, and --messages",
    "answer.top_k": "the request's own is good for all models",
    "answer.top_p": "as above",
    "answer.min_p": "as above",
    "answer.repeat_penalty": "as above",
    "answer.presence_penalty": "as above",
    "cache.saved_chats": "nothing is saved of the terminal's chats",
}


def options(command: str) -> Iterator[argparse.Action]:
    commands = argparse.ArgumentParser().add_subparsers()
    for module in (chat, plan):
        module.add(commands)
    yield from commands.choices[command]._actions


def test_an_option_of_the_engine_is_a_setting(subtests: pytest.Subtests) -> None:
    for option in options("chat"):
        flag = option.option_strings[-1]
        if flag in NOT_IN_THE_WINDOW:
            continue
        with subtests.test(flag=flag):
            setting = BY_FLAG[flag]
            assert setting in SETTINGS.values()
            assert setting.help.endswith(".")
            assert option.choices == (values_of(setting) if setting.kind == "choice" else None)


def test_a_setting_of_a_request_is_an_option_of_the_engine_or_has_a_reason() -> None:
    flags = {flag for option in options("chat") for flag in option.option_strings}
    assert flags >= set(NOT_IN_THE_WINDOW)
    assert {setting.flag.name for setting in OF_REQUESTS.values() if setting.flag} <= flags
    assert {name for name, setting in OF_REQUESTS.items() if setting.flag is None} == set(NOT_IN_THE_TERMINAL)


def test_the_window_offers_what_the_request_takes() -> None:
    choices = [setting for setting in OF_REQUESTS.values() if setting.kind == "choice"]
    offered = {setting.name: {AUTO} | {value for value, _ in setting.choices} for setting in choices}
    assert offered == {setting.name: {AUTO, *values_of(setting)} for setting in choices}


def test_a_plan_takes_the_options_of_a_load() -> None:
    flags = {flag for option in options("plan") for flag in option.option_strings if flag in BY_FLAG}
    assert flags == {flag.name for _, flag in settings_with_flag("load")}


def test_a_flag_stays_what_it_was() -> None:
    assert {flag: (BY_FLAG[flag].name, BY_FLAG[flag].fills) for flag in FLAGS} == FLAGS
