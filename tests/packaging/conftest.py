"""Fixtures that run set-up's modules on a tiny package, with pip, CMake and ninja but no compiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.packaging import probe

ROOT = Path(__file__).resolve().parents[2]


def in_environment(environment: Path, name: str) -> Path:
    """Return a folder of a virtual environment by sysconfig's name for it: "purelib" or "scripts"."""
    return Path(sysconfig.get_path(name, "venv", {"base": str(environment)}))


def python_of(environment: Path) -> Path:
    return in_environment(environment, "scripts") / ("python.exe" if sys.platform == "win32" else "python")


@pytest.fixture(scope="session")
def probe_folder(tmp_path_factory):
    """Make a folder with a package index, lock files, and an environment in which the prebuilt probe is installed.

    Making it takes pip a second, and copying it takes no time.
    """
    folder = tmp_path_factory.mktemp("probe")
    environment, index = folder / "environment", folder / "index"
    index.mkdir()
    lines = f"{probe.NAME}=={probe.VERSION} --hash=sha256:"
    (folder / "source.lock").write_text(lines + probe.write_source(index))
    (folder / "wheels.lock").write_text(lines + probe.write_wheel(index))
    (folder / "probe.cmake").write_text(probe.CMAKE)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages, python = in_environment(environment, "purelib"), python_of(environment)
    # pip and the build tools come from the environment that runs the tests; pip removes no packages outside its own.
    (packages / "outer.pth").write_text(sysconfig.get_path("purelib"))
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--find-links", index, probe.NAME, "--only-binary", ":all:"], check=True)
    return folder


@pytest.fixture
def setup(probe_folder, tmp_path, monkeypatch):
    """Return set-up's modules, using an environment, a cache and an index of this test's own."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    steps, compiled, native = (import_module(name) for name in ("steps", "compiled_wheel", "native"))
    shutil.copytree(probe_folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    environment = tmp_path / "environment"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PROBE_TRACE", str(tmp_path / "trace"))
    monkeypatch.setattr(steps, "PYTHON", python_of(environment))
    monkeypatch.setattr(compiled, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(native, "CHOSEN", environment / "native")
    monkeypatch.setattr(native, "WHEELS_LOCK", tmp_path / "wheels.lock")
    cmake, lock = tmp_path / "probe.cmake", tmp_path / "source.lock"
    build = compiled.CompiledWheel(probe.NAME, "the probe", lock, minutes=1, memory=10**9, cmake=cmake)
    return SimpleNamespace(steps=steps, compiled=compiled, native=native, build=build, folder=tmp_path)


@pytest.fixture(scope="session")
def compiled_once(tmp_path_factory):
    """Return the folder in which the first test that needs a compiled wheel leaves the wheel for the others."""
    return tmp_path_factory.mktemp("compiled") / "wheels"


@pytest.fixture
def wheel(setup, compiled_once):
    """Return a compiled wheel that lies in the cache."""
    if compiled_once.exists():
        shutil.copytree(compiled_once, setup.build.wheels())
    else:
        setup.build.wheel()
        shutil.copytree(setup.build.wheels(), compiled_once)
    assert setup.build.is_cached()
    return setup.build.wheel()
