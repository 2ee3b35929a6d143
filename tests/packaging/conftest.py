"""Set-up's modules on a tiny package, with pip, CMake and ninja but no compiler."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.packaging import probe

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """Set-up's modules, on an environment, a cache and an index of this test's own."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    steps, compiled, native = (import_module(name) for name in ("steps", "compiled", "native"))
    environment, index = tmp_path / "environment", tmp_path / "index"
    index.mkdir()
    lines = f"{probe.NAME}=={probe.VERSION} --hash=sha256:"
    (tmp_path / "source.lock").write_text(lines + probe.write_source(index))
    (tmp_path / "wheels.lock").write_text(lines + probe.write_wheel(index))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (packages,) = environment.glob("lib/python3*/site-packages")
    # pip and the build tools, lent by the environment that runs the tests: pip removes nothing outside its own.
    (packages / "outer.pth").write_text(sysconfig.get_path("purelib"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PROBE_TRACE", str(tmp_path / "trace"))
    monkeypatch.setattr(steps, "PYTHON", environment / "bin/python")
    monkeypatch.setattr(compiled, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(native, "CHOSEN", environment / "native")
    monkeypatch.setattr(native, "WHEELS_LOCK", tmp_path / "wheels.lock")
    cmake = tmp_path / "probe.cmake"
    cmake.write_text(probe.CMAKE)
    build = compiled.Compiled(probe.NAME, "the probe", tmp_path / "source.lock", minutes=1, memory=10**9, cmake=cmake)
    steps.install_locked("the probe", tmp_path / "wheels.lock")
    return SimpleNamespace(steps=steps, compiled=compiled, native=native, build=build, folder=tmp_path)
