"""The settings of requests as options of commands, made from their table (`engine.protocol.settings`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

from common.byte_sizes import parse_bytes
from common.paths import path_of, path_text
from engine.protocol import Generate, Load
from engine.protocol.settings import OF_REQUESTS, Flag, Kind, Setting

REQUESTS = {"load": Load, "generate": Generate}
TYPES: dict[Kind, Callable[[str], Any]] = {"whole": int, "number": float, "file": path_of}


def add_options(parser: argparse.ArgumentParser, *requests: str) -> None:
    """One for each setting with a flag that fills one of these requests. What is not given is None."""
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for setting, flag in flagged(*requests):
        if flag.group not in groups:
            groups[flag.group] = parser.add_argument_group(flag.group)
        _add(groups[flag.group], setting, flag)


def add_option(parser: argparse.ArgumentParser, name: str) -> None:
    """The option of one setting."""
    _add(parser, *next(each for each in flagged() if each[0].name == name))


def given(options: argparse.Namespace, request: str) -> dict[str, Any]:
    """The fields of a request that the command line fills, by their names from there on: `sampling.seed`."""
    found = {}
    for setting, flag in flagged(request):
        value = getattr(options, destination(flag))
        if value is not None:
            found[setting.fills.removeprefix(f"{request}.")] = _as_the_request_has_it(setting, value)
    return found


def flagged(*requests: str) -> Iterator[tuple[Setting, Flag]]:
    """The settings with a flag that fill these requests, or any."""
    for setting in OF_REQUESTS.values():
        if setting.flag is not None and setting.fills.split(".")[0] in (requests or REQUESTS):
            yield setting, setting.flag


def destination(flag: Flag) -> str:
    """What argparse calls the value of the option."""
    return flag.name.lstrip("-").replace("-", "_")


def values_of(setting: Setting) -> tuple[str, ...]:
    """What the field of the request takes, which may be more or less than the window offers."""
    request, *path = setting.fills.split(".")
    kind: Any = REQUESTS[request]
    for field in path:
        kind = get_type_hints(kind)[field]
    for part in (kind, *get_args(kind)):  # itself, or this or nothing
        if get_origin(part) is Literal:
            return get_args(part)
    return tuple(value for value, _ in setting.choices)


def _add(parser: argparse._ActionsContainer, setting: Setting, flag: Flag) -> None:
    if setting.kind == "choice":
        parser.add_argument(flag.name, choices=values_of(setting), help=flag.help)
    else:
        parser.add_argument(flag.name, type=TYPES.get(setting.kind, str), metavar=flag.metavar, help=flag.help)


def _as_the_request_has_it(setting: Setting, value: Any) -> Any:
    if setting.kind == "size":
        return parse_bytes(value)
    return path_text(value) if setting.kind == "file" else value
