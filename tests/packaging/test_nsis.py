"""Windows' setup script: every makensis can read its paths, and Linux' makes the setup program of it."""

from __future__ import annotations

import random
import re
import shutil
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = (ROOT / "packaging" / "windows" / "chickadee.nsi").read_text(encoding="utf-8")


def test_paths_are_split_where_windows_splits_them() -> None:
    assert re.findall(r"\$\{\w+\}[\\/]", SCRIPT)
    assert not re.findall(r"\$\{\w+\}/", SCRIPT)


@pytest.mark.skipif(not shutil.which("makensis"), reason="needs NSIS")
def test_the_setup_program_holds_the_whole_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qapp: object
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    installers, resources = import_module("installers"), import_module("resources")
    monkeypatch.setattr(installers, "RESOURCES", tmp_path / "resources")
    resources.write_resources(tmp_path / "resources", "win32")
    bundle = tmp_path / "a bundle"
    (bundle / "licences").mkdir(parents=True)
    (bundle / "licences" / "Chickadee.txt").write_text("MIT")
    (bundle / "_internal" / "deep").mkdir(parents=True)
    (bundle / "chickadee.exe").write_bytes(b"")
    small, _ = installers.windows(bundle, tmp_path)
    size = small.stat().st_size
    (bundle / "_internal" / "deep" / "noise").write_bytes(random.Random(1).randbytes(1_000_000))
    large, _ = installers.windows(bundle, tmp_path)
    assert large.stat().st_size > size + 1_000_000
