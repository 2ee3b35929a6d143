"""The files of this program: Python, its modules, the system's libraries, and what they read when they start."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # folder of the checkout, or of a packaged app
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
    "/etc/localtime", "/etc/os-release", "/etc/passwd", "/etc/nsswitch.conf", "/etc/ssl/openssl.cnf",
    "/proc", "/sys", "/dev/random", "/dev/urandom", "/dev/zero",
)  # fmt: skip
# What looking up a name and checking a certificate read. Not single files: a change of network replaces resolv.conf.
FOR_CONNECTIONS = ("/etc", "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/var/run/nscd")


def files_for_connections() -> Iterator[Path]:
    """Yield the files and folders that a program reads that connects to other computers."""
    named = (os.environ.get(name, "") for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return (Path(path) for path in (*FOR_CONNECTIONS, *named) if path)


def program_files() -> tuple[Path, ...]:
    """Return the folders and files that this program must read and execute.

    Folders that the environment names (`sys.path`, LD_LIBRARY_PATH) are left out if the home folder is inside them.
    """
    prefixes = map(Path, (sys.prefix, sys.base_prefix, sys.exec_prefix))
    own = dict.fromkeys((ROOT, Path(sys.executable).resolve().parent, *prefixes))
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    named = [Path(entry) for entry in (*sys.path, *libraries) if Path(entry).is_absolute()]
    readable = dict.fromkeys(path for path in (*named, *_folders_of_loaded_code()) if not holds_home(path))
    return (*(Path(path) for path in SYSTEM), *(own | readable))


def holds_home(folder: Path) -> bool:
    """Return whether the user's home folder is `folder` or lies below it."""
    try:
        return Path.home().resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # no home folder, or a circle of links
        return folder == folder.parent


def _folders_of_loaded_code() -> set[Path]:
    """Return the folders of this process's loaded libraries, wherever an unusual system keeps them."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    rows = (line.split(maxsplit=5) for line in lines)
    code = (row[5] for row in rows if len(row) == 6 and "x" in row[1] and row[5].startswith("/"))
    return {Path(path).parent for path in code}
