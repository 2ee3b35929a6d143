"""Name, version and date of what is packed. The date is the commit's, so that the same commit gives the same files."""

from __future__ import annotations

import subprocess
import time
import tomllib

from steps import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION: str = PROJECT["version"]
SUMMARY: str = PROJECT["description"]
DIST = ROOT / "dist"
RESOURCES = ROOT / "build" / "resources"


def commit_time() -> int:
    """Seconds since 1970; an unpacked archive has no commits: then that of its newest file that set-up reads."""
    asked = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(asked.stdout) if asked.returncode == 0 else int((ROOT / "pyproject.toml").stat().st_mtime)


EPOCH = commit_time()
DATE = time.strftime("%Y-%m-%d", time.gmtime(EPOCH))
