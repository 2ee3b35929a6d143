"""Least rights on Windows: the system's calls are accepted. Wine accepts them too, but restricts nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.windows_exceptions import is_wine

CONFINED = """
import subprocess, sys
from pathlib import Path
from common.confinement import Rights, confine, limits, problems

open_folder, closed_folder = map(Path, sys.argv[1:])
confine(Rights(write=(open_folder,), processes=False, memory=1 << 30))
print(problems(), limits())
(open_folder / "written").write_text("allowed")
for name, attempt in {
    "writes": lambda: (closed_folder / "written").write_text("refused"),
    "starts": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
}.items():
    try:
        attempt()
        print(name)
    except (OSError, subprocess.CalledProcessError):
        pass
"""


@pytest.mark.skipif(sys.platform != "win32", reason="the calls are Windows'")
def test_a_confined_process_writes_only_where_it_may_and_starts_nothing(tmp_path: Path) -> None:
    folders = tmp_path / "open", tmp_path / "closed"
    for folder in folders:
        folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CONFINED, *map(str, folders)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    said, *succeeded = done.stdout.splitlines()
    assert said.startswith("()"), said
    if not is_wine():
        assert said == "() ('integrity',)"
        assert succeeded == []
