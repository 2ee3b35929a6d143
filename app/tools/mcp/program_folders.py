"""The files that a server's program consists of, which it may read, and the folders that its arguments name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.confinement.program import holds_home
from common.files import is_file, is_folder, read_small

MOST_LINKS = 10  # from a command to its file, or from a script to its interpreter
MOST_ABOVE = 4  # folders between a script and its package's own file
FIRST_LINE = 200  # bytes
PACKAGE_FILES = ("package.json", "pyproject.toml", "Cargo.toml", "go.mod", "deno.json")


def program_folders(command: Sequence[str], search: str) -> tuple[Path, ...]:
    """Return the files and folders that the program and its script are made of; `search` is a PATH.

    None of them has the user's home folder in it: a program in `~/bin` is that file alone.
    """
    found = shutil.which(command[0], path=search)
    parts = [part for file in (_chain(Path(found), search) if found else ()) for part in _around(file)]
    scripts = (Path(argument) for argument in command[1:] if Path(argument).is_absolute() and is_file(Path(argument)))
    parts += [_package_of(script) for script in scripts]
    return tuple(dict.fromkeys(part for part in parts if not holds_home(part)))


def named_folders(arguments: Sequence[str]) -> tuple[Path, ...]:
    """Return the folders that exist under the names of arguments: the server is probably meant to use them."""
    values = (Path(argument.rpartition("=")[2]) for argument in arguments)
    return tuple(dict.fromkeys(value for value in values if value.is_absolute() and is_folder(value)))


def _chain(file: Path, search: str) -> Iterator[Path]:
    """Yield the file, what its links lead to, and the same for its interpreter if it is a script."""
    for _ in range(MOST_LINKS):
        yield file
        if file.is_symlink():
            file = file.parent / file.readlink()
        elif (interpreter := _interpreter(file, search)) is not None:
            file = interpreter
        else:
            return


def _interpreter(script: Path, search: str) -> Path | None:
    """Return the program that the script's first line names; None for what is no script."""
    try:
        first = read_small(script, FIRST_LINE).partition(b"\n")[0].decode("utf-8", "replace")
    except OSError:
        return None
    words = first.removeprefix("#!").split()
    if not first.startswith("#!") or not words:
        return None
    if Path(words[0]).name != "env":
        return Path(words[0])
    names = [word for word in words[1:] if not word.startswith("-")]
    found = shutil.which(names[0], path=search) if names else None
    return Path(found) if found else None


def _around(file: Path) -> Iterator[Path]:
    """Yield the file, and the folder of the installation that it belongs to, if it is one."""
    yield file
    environment = file.parent.parent
    installed = file.parent.name == "bin" and is_folder(environment / "lib") and environment != Path.home() / ".local"
    if installed or is_file(environment / "pyvenv.cfg"):
        yield environment
    modules = [folder for folder in file.parents if folder.name == "node_modules"]
    if modules:
        yield modules[-1]


def _package_of(script: Path) -> Path:
    """Return the folder of the package that the script is in; if there is none, the script's folder."""
    folder = script.parent
    above = (folder, *folder.parents)[:MOST_ABOVE]
    found = next((each for each in above if any(is_file(each / name) for name in PACKAGE_FILES)), folder)
    return script if holds_home(found) else found
