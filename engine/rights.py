"""The engine's rights: the files that it may read and write, and how it gives up all other rights.

The engine reads model folders, the files that its command line names and its own program; it writes to its cache
folder and, where a backend for them is installed, computes on graphics processors; it has no network. A library that a
hostile model file takes over can do no more than that. A process that asks servers has a network, but no models and no
other files of the user's.

The whole process is confined before any large import: libraries start threads, and threads that exist already would
stay unconfined.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from common.confinement import Rights, confine, files_for_connections, limits
from common.confinement.program import ROOT
from common.engine_program import READ_OPTION
from common.files import make_private_folder
from common.folders import cache_folder
from common.paths import path_of
from common.sentences import Sentence
from engine.native_files import may_have_devices
from models.network import offline_reason
from models.readable_files import inode, model_folders, with_parts

TEXT_OPTIONS = ("--prompt", "--server", "--server-key", "--server-model")  # what follows is no file, whatever it says
OUTPUT_OPTIONS = ("--trace",)
SERVER_OPTION = "--server"  # of `chat`


def add_read_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names readable files, which `confine_engine` has applied before the parser exists."""
    parser.add_argument(
        READ_OPTION, action="append", metavar="PATH", help="a file outside of the model folders that may be read"
    )


def confine_engine(arguments: Sequence[str]) -> None:
    """Confine this process to the files that its arguments name and the engine's folders.

    Call this once, before all other work. A process that a confined engine started is confined already and returns at
    once. So does one that only starts another and speaks with that, which is confined itself.
    """
    if {"files", "network"} <= set(limits()) or starts_engine(arguments):
        return
    _compile_modules()
    read, write = _files_to_read(arguments), _files_to_write(arguments)
    if tuple(arguments[:1]) == ("remote",):
        connections_forbidden()  # read while the settings can be read
        confine(Rights((*files_for_connections(), *read), tuple(write), processes=False, connects=True))
        return
    cache = _create_cache_folder()
    os.environ["TMPDIR"] = str(cache)  # for this process and its children, which may write nowhere else
    for name, value in (("MESA_SHADER_CACHE_DIR", str(cache)), ("MESA_SHADER_CACHE_MAX_SIZE", "64M")):
        os.environ.setdefault(name, value)  # where Mesa's drivers keep what they compile
    readable = (*model_folders(), *(part for file in read for part in with_parts(file)))
    confine(Rights(readable, (cache, *write), graphics=may_have_devices()))


def starts_engine(arguments: Sequence[str]) -> bool:
    """Return whether a process with these arguments has another process compute or ask: the API's, or a chat's."""
    named = any(argument.partition("=")[0] == SERVER_OPTION for argument in arguments)
    return tuple(arguments[:1]) == ("api",) or (tuple(arguments[:1]) == ("chat",) and named)


@cache
def connections_forbidden() -> Sentence | None:
    """Return why connections were turned off when this process began; None if they are allowed."""
    return offline_reason()


def out_of_reach(path: Path) -> bool:
    """Return whether a new process that is started with the file's name could read it, although this process cannot.

    False for a file that this process was started with: a new process would fare no better.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode) or inode(path) in _named_files():
            return False
        os.close(os.open(path, os.O_RDONLY))
    except (OSError, ValueError) as error:
        return getattr(error, "errno", 0) == errno.EACCES and os.access(path, os.R_OK)
    return False


@cache
def _named_files() -> frozenset[tuple[int, int]]:
    """Return the files that this process was started with, by device and inode."""
    return frozenset(filter(None, map(inode, _files_to_read(sys.argv[1:]))))


def _files_to_read(arguments: Sequence[str]) -> list[Path]:
    """Return the existing files that the command line names for reading."""
    named = _arguments_with_option(arguments)
    paths = (path_of(value) for option, value in named if option not in (*OUTPUT_OPTIONS, *TEXT_OPTIONS))
    return [path for path in paths if _is_file(path)]


def _files_to_write(arguments: Sequence[str]) -> list[Path]:
    """Create the output files that the command line names: a right can only be given to a file that exists."""
    named = _arguments_with_option(arguments)
    paths = (path_of(value) for option, value in named if option in OUTPUT_OPTIONS)
    return [path for path in paths if _create(path)]


def _arguments_with_option(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each argument with the option before it, from `--a b` and from `--a=b`."""
    option_before = ""
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if argument.startswith("--"):
            option_before = option
            if equals:
                yield option, value
        else:
            yield option_before, argument
            option_before = ""


def _is_file(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):  # no name that a file can have
        return False


def _create(path: Path) -> bool:
    try:
        path.open("a").close()
    except (OSError, ValueError):  # the command will report it
        return False
    return True


def _create_cache_folder() -> Path:
    """Create the cache folder if it is missing, and return it: a right can only be given to a folder that exists."""
    folder = cache_folder()
    with contextlib.suppress(OSError):  # without the folder nothing can be stored, confined or not
        make_private_folder(folder)
    return folder


def _compile_modules() -> None:
    """Compile all modules to bytecode before this process loses the right to write beside them.

    Without the bytecode each start would take half a second more; where nothing has changed, the check takes
    milliseconds.
    """
    if getattr(sys, "frozen", False) or sys.dont_write_bytecode:
        return
    for package in ("common", "models", "engine"):
        compileall.compile_dir(ROOT / package, quiet=2)
