"""The engine's rights: it reads model folders, the files that its command line names and its own program; it writes to
its cache folder; it has no network. What a model's file makes of a library that reads it can do no more than that.

Confined is the whole process, before anything of size is imported: libraries start threads, and those would stay free.
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

from common.confinement import Rights, confine, limits
from common.confinement.program import ROOT
from common.files import make_private_folder
from common.folders import cache_folder
from common.paths import path_of
from common.planning import READ
from models.reach import inode, model_folders, with_parts

TEXTS = ("--prompt",)  # what follows is no file, whatever it says
OUTPUTS = ("--trace",)


def add_read(parser: argparse.ArgumentParser) -> None:
    """The option that names files. `confine_engine` has seen to it before the commands are known."""
    parser.add_argument(
        READ, action="append", metavar="PATH", help="a file outside of the model folders that may be read"
    )


def confine_engine(arguments: Sequence[str]) -> None:
    """To be called once, first of all. A process that a confined engine started is so already."""
    if {"files", "network"} <= set(limits()):
        return
    _compile()
    read, write = _files(arguments)
    cache = _cache()
    os.environ["TMPDIR"] = str(cache)  # of this process and of those that it starts: elsewhere nothing can be written
    confine(Rights((*model_folders(), *(part for file in read for part in with_parts(file))), (cache, *write)))


def out_of_reach(path: Path) -> bool:
    """Would a process that was started with the file's name be able to read it, although this one is not?

    No for what was named to it, as another process would fare no better."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) or inode(path) in _named():
            return False
        os.close(os.open(path, os.O_RDONLY))
    except (OSError, ValueError) as error:
        return getattr(error, "errno", 0) == errno.EACCES and os.access(path, os.R_OK)
    return False


@cache
def _named() -> frozenset[tuple[int, int]]:
    """Files that this process was started with, by device and inode."""
    paths = [path_of(value) for option, value in _values(sys.argv[1:]) if option not in (*OUTPUTS, *TEXTS)]
    return frozenset(filter(None, (inode(path) for path in paths if _is_file(path))))


def _files(arguments: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Files that the command line names, to be read, and to be written: these are made, for a right to be given to."""
    read, write = [], []
    for option, value in _values(arguments):
        path = path_of(value)
        if option in OUTPUTS:
            write += [path] if _make(path) else []
        elif option not in TEXTS and _is_file(path):
            read.append(path)
    return read, write


def _values(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each argument with the option before it: of `--a b` and of `--a=b`."""
    before = ""
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if argument.startswith("--"):
            before = option
            if equals:
                yield option, value
        else:
            yield before, argument
            before = ""


def _is_file(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):  # no name that a file can have
        return False


def _make(path: Path) -> bool:
    try:
        path.open("a").close()
    except (OSError, ValueError):  # the command will say so
        return False
    return True


def _cache() -> Path:
    """Made where it is missing: a right can only be given to what is there."""
    folder = cache_folder()
    with contextlib.suppress(OSError):  # then nothing can be kept, confined or not
        make_private_folder(folder)
    return folder


def _compile() -> None:
    """Python keeps modules compiled beside them, where this process may not write from now on: each start would take
    half a second more. A few milliseconds where nothing has changed."""
    if getattr(sys, "frozen", False) or sys.dont_write_bytecode:
        return
    for package in ("common", "models", "engine"):
        compileall.compile_dir(ROOT / package, quiet=2)
