"""Name, version, address and date of the packed program.

The date is the commit's, so that equal commits give equal files.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import time
import tomllib

from steps import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION: str = runpy.run_path(str(ROOT / "common" / "version.py"))["VERSION"]
SUMMARY: str = PROJECT["description"]
ADDRESS: str = PROJECT["urls"]["Homepage"]
PROBLEMS = f"{ADDRESS}/issues"
DEVELOPERS = "The Chickadee developers"
HOST, OWNER = ADDRESS.split("/")[2:4]
MAINTAINER = f"{DEVELOPERS} <{OWNER}@users.noreply.{HOST}>"  # there is no mailbox: problems are told at PROBLEMS
DIST = ROOT / "dist"
RESOURCES = ROOT / "build" / "resources"


def commit_time() -> int:
    """Return the commit's time in seconds since 1970; without a repository, the time of pyproject.toml.

    SOURCE_DATE_EPOCH comes first: a package's own children have it, and Windows' Python under Wine, which has no git.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else int((ROOT / "pyproject.toml").stat().st_mtime)


EPOCH = commit_time()
DATE = time.strftime("%Y-%m-%d", time.gmtime(EPOCH))
