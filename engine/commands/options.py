"""Command-line options for the settings of requests, made from the table in `engine.protocol.settings`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from common.byte_sizes import parse_bytes
from common.paths import path_of, path_text
from engine.protocol.requests import Generate, Load
from engine.protocol.settings import OF_REQUESTS, Flag, Kind, Setting, filled
from engine.recommended import with_recommended

REQUESTS = {"load": Load, "generate": Generate}
TYPES: dict[Kind, Callable[[str], Any]] = {"whole": int, "number": float, "file": path_of}


def add_options(parser: argparse.ArgumentParser, *requests: str) -> None:
    """Add an option for each setting with a flag that fills one of these requests.

    The value of an option that is not given is None.
    """
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for setting, flag in settings_with_flag(*requests):
        if flag.group not in groups:
            groups[flag.group] = parser.add_argument_group(flag.group)
        _add_argument(groups[flag.group], setting, flag)


def add_option(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the option of the setting called `name`."""
    _add_argument(parser, *next(each for each in settings_with_flag() if each[0].name == name))


def request_fields(options: argparse.Namespace, request: str) -> dict[str, Any]:
    """Return the values that the command line gives for a request, by field names such as `sampling.seed`."""
    given = ((setting, getattr(options, destination(flag))) for setting, flag in settings_with_flag(request))
    return {
        setting.fills.removeprefix(f"{request}."): _request_value(setting, value)
        for setting, value in given
        if value is not None
    }


def answer_options(given: Mapping[str, Any], model: Path) -> Generate:
    """Return a Generate with the `given` fields, and with what the makers of `model` recommend beside them."""
    return with_recommended(filled(Generate(0, ()), given), model, {name.rpartition(".")[2] for name in given})


def settings_with_flag(*requests: str) -> Iterator[tuple[Setting, Flag]]:
    """Yield the settings with a flag that fill one of these requests, or any request if none is named."""
    for setting in OF_REQUESTS.values():
        if setting.flag is not None and setting.fills.split(".")[0] in (requests or REQUESTS):
            yield setting, setting.flag


def destination(flag: Flag) -> str:
    """Return the attribute name that argparse gives the option's value."""
    return flag.name.lstrip("-").replace("-", "_")


def values_of(setting: Setting) -> tuple[str, ...]:
    """Return the values that the request's field accepts, which may be more or fewer than the window offers."""
    request, *path = setting.fills.split(".")
    kind: Any = REQUESTS[request]
    for field in path:
        kind = get_type_hints(kind)[field]
    for part in (kind, *get_args(kind)):  # itself, or this or nothing
        if get_origin(part) is Literal:
            return get_args(part)
    return tuple(value for value, _ in setting.choices)


def _add_argument(parser: argparse._ActionsContainer, setting: Setting, flag: Flag) -> None:
    if setting.kind == "choice":
        parser.add_argument(flag.name, choices=values_of(setting), help=flag.help)
    else:
        parser.add_argument(flag.name, type=TYPES.get(setting.kind, str), metavar=flag.metavar, help=flag.help)


def _request_value(setting: Setting, value: Any) -> Any:
    if setting.kind == "size":
        return parse_bytes(value)
    return path_text(value) if setting.kind == "file" else value
