"""Every option of the engine's command line is in the settings too, a choice with all its values, or has a reason."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from app.model_library.model_settings import settings_for
from app.settings.schema import SETTINGS
from app.settings.setting import AUTO, Setting
from engine.commands import chat

BY_KEY = {setting.key: setting for setting in (*SETTINGS, *settings_for())}
KEYS = {
    "ctx": "context",
    "temp": "temperature",
    "kv": "kv_mode",
    "match": "lookup_match",
    "m": "lookup_m",
    "n": "lookup_n",
    "select": "lookup_select",
    "layer": "exit_layers",
}
NOT_IN_THE_WINDOW = {
    "help": "the help page and the sentences of the settings",
    "model": "the models' dialog",
    "greedy": "temperature 0",
    "trace": "the engine's panel shows what is traced",
    "json": "there is no output to be read by programs",
    "prompt": "the composer",
    "prompt_file": "the composer takes files",
    "messages": "File → Import chats…",
}


def options() -> Iterator[argparse.Action]:
    commands = argparse.ArgumentParser().add_subparsers()
    chat.add(commands)
    yield from commands.choices["chat"]._actions


@pytest.mark.parametrize("option", list(options()), ids=lambda option: option.dest)
def test_an_option_of_the_engine_is_a_setting(option: argparse.Action) -> None:
    if option.dest in NOT_IN_THE_WINDOW:
        return
    setting = BY_KEY[KEYS.get(option.dest, option.dest)]
    assert setting.help.endswith(".")
    if option.choices:
        assert set(option.choices) <= {value for value, _ in choices(setting)} | {AUTO}


def choices(setting: Setting) -> tuple[tuple[str, str], ...]:
    assert setting.kind == "choice", setting
    return setting.choices


def test_no_reason_is_left_over() -> None:
    known = {option.dest for option in options()}
    assert known >= {*NOT_IN_THE_WINDOW, *KEYS}
