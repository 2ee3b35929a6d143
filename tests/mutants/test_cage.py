"""A mutant changes nothing outside its copy of the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from common.confinement import landlock
from tests.mutants.trees import CAGE

DOES = """
import os, sys
os.mkdir("folder"); open("mine", "w").close(); os.rename("mine", "folder/mine"); os.remove("folder/mine")
assert open(sys.argv[1]).read() == "kept"
for harm in (lambda: os.remove(sys.argv[1]), lambda: open(sys.argv[1], "w"), lambda: os.rename(sys.argv[1], "mine")):
    try:
        harm()
    except PermissionError:
        print("refused")
"""


@pytest.mark.skipif(not landlock.version(), reason="Landlock is Linux's, and may be off")
def test_files_are_changed_below_the_folder_alone(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text("kept", encoding="utf-8")
    command = list(map(str, (sys.executable, CAGE, inside, "-c", DOES, outside)))
    done = subprocess.run(command, cwd=inside, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["refused"] * 3, "")
    assert outside.read_text(encoding="utf-8") == "kept"
