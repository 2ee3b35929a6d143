"""`make audit`: asks for known vulnerabilities of all that the lock files name, and fails if there is one.

pip-audit does it, in an environment of its own. Its list of vulnerabilities is the package index's.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import computer
from set_up import make_venv
from steps import PYTHON, ROOT, VENV, SetupError, install_locked, say

AUDIT_LOCK = ROOT / "packaging" / "audit.lock"
# Vulnerabilities without a corrected version, each with the reason why it cannot be used here.
ACCEPTED = {
    # diskcache reads pickles from its cache's folder. llama-cpp-python imports it, and nobody here opens such a cache;
    # in the installers it is left out.
    "CVE-2025-69872": "diskcache",
}


def locks() -> list[Path]:
    """Return all lock files of pip's, those of the tools included."""
    return sorted([*ROOT.glob("*.lock"), *(ROOT / "packaging").rglob("*.lock")])


def command(files: list[Path]) -> list[str]:
    """Return the command that looks for vulnerabilities of what the files name, without resolving anything."""
    accepted = [f"--ignore-vuln={name}" for name in ACCEPTED]
    named = [part for file in files for part in ("-r", str(file))]
    return [
        str(PYTHON),
        "-m",
        "pip_audit",
        "--disable-pip",
        "--require-hashes",
        "--strict",  # a package that could not be asked about is a failure, too
        "--progress-spinner=off",
        *accepted,
        *named,
    ]


def main(arguments: list[str]) -> int:
    if VENV == ROOT / ".venv":
        say("start it by `make audit`: it wants an environment of its own")
        return 1
    try:
        computer.require(compiles=False, libraries=[])
        make_venv()
        install_locked("pip-audit", AUDIT_LOCK)
    except SetupError as error:
        say(str(error))
        return 1
    return subprocess.run(command([Path(name) for name in arguments] or locks())).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
