"""What set-up checks before it downloads anything: all that is missing is told at once, with this system's command."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections import namedtuple
from importlib import import_module, metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from tests.packaging.conftest import ROOT

linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux' libraries and package managers")
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch):
    """Return the module, on a computer of an ordinary user with apt-get and without sudo, where nothing is set up."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    module = import_module("computer")
    monkeypatch.setattr(module, "PYTHON", Path("/no/such/python"))
    monkeypatch.setattr(module.system_packages, "is_root", lambda: False)
    monkeypatch.setattr(shutil, "which", {"apt-get": "apt-get", "cc": "cc", "c++": "c++"}.get)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, 10**12))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(module, "c_library", lambda: (2, 41))
    monkeypatch.delenv("CC", raising=False)
    return module


def told(computer, compiles: bool = True, libraries: tuple[str, ...] = ()) -> str:
    parts = [part for part in computer.system_packages.LIBRARIES if part.name in libraries]
    with pytest.raises(computer.SetupError) as error:
        computer.require(compiles, parts)
    return str(error.value)


@linux
@pytest.mark.no_assertion("`require` raises where something is missing")
def test_a_computer_that_has_everything_passes(computer) -> None:
    computer.require(compiles=True, libraries=[])


@linux
def test_all_that_is_missing_is_told_at_once(computer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", {"apt-get": "apt-get", "sudo": "sudo"}.get)
    monkeypatch.setattr(
        computer.importlib.util, "find_spec", lambda name: None if name in ("ensurepip", "_ssl") else name
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12, 10**8))
    monkeypatch.setattr(computer, "c_library", lambda: (2, 31))
    monkeypatch.setattr(computer.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))  # sudo asks
    text = told(computer, libraries=("libEGL.so.1",))
    assert "Nothing was downloaded yet" in text
    assert "built without ssl" in text
    assert "needs glibc 2.34 or newer on x86_64; this system has glibc 2.31" in text
    assert "0.1 GB are free" in text
    assert text.endswith(f"sudo apt-get install python3.{sys.version_info[1]}-venv gcc g++ libegl1")


@linux
@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("dnf", "sudo dnf install gcc gcc-c++ 'libEGL.so.1()(64bit)'"),
        ("zypper", "sudo zypper install gcc gcc-c++ 'libEGL.so.1()(64bit)'"),
        ("pacman", "sudo pacman -S --needed gcc libglvnd"),
    ],
)
def test_other_distributions_are_told_their_own_command(computer, manager, command, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", {manager: manager, "sudo": "sudo"}.get)
    assert told(computer, libraries=("libEGL.so.1",)).endswith(command)


@linux
def test_an_unknown_system_is_told_the_names(computer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert told(computer).endswith("packages of the system: cc, c++. Its package manager has them.")


@linux
def test_the_administrator_gets_them_installed(computer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer.system_packages, "is_root", lambda: True)
    commands: list[list[str]] = []
    monkeypatch.setattr(computer, "run", lambda command, failure, quiet=False: commands.append(command))
    monkeypatch.setattr(shutil, "which", {"apt-get": "apt-get"}.get)
    computer.require(compiles=True, libraries=[])
    assert [command[-3:] for command in commands] == [
        ["apt-get", "update", "-qq"],
        ["--no-install-recommends", "gcc", "g++"],
    ]


@linux
def test_a_system_without_wheels_of_qt_is_told(computer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer, "c_library", tuple)
    assert "this system has another C library" in told(computer)
    monkeypatch.setattr(computer, "c_library", lambda: (2, 36))
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "needs glibc 2.39 or newer on aarch64; this system has glibc 2.36" in told(computer)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "no release for riscv64 processors" in told(computer)


@linux
def test_the_oldest_glibc_is_that_of_the_installed_wheels() -> None:
    """With a new version of a library that needs a newer glibc, the constant is wrong."""
    newest = (0, 0)
    for found in metadata.distributions():
        tags = re.findall(r"manylinux_(\d+)_(\d+)_", found.read_text("WHEEL") or "")
        if tags and found.name != "llama-cpp-python":
            newest = max(newest, min((int(major), int(minor)) for major, minor in tags))
    assert newest == glibc_of_this_machine()


def glibc_of_this_machine():
    sys.path.insert(0, str(ROOT / "packaging"))
    try:
        return import_module("computer").GLIBC[platform.machine()]
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("version", [(3, 11), (3, 13), (3, 14)])
@pytest.mark.parametrize(
    "system", [("linux", "x86_64"), ("linux", "aarch64"), ("linux", "riscv64"), ("darwin", "arm64"), ("win32", "AMD64")]
)
def test_where_ik_has_a_wheel_is_what_the_project_says(computer, version, system, monkeypatch) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (line,) = re.findall(r'^\s+"(ik-llama-cpp-python==.*)",$', project, re.M)
    marker = Requirement(line).marker
    assert marker
    surroundings = {
        "sys_platform": system[0],
        "platform_machine": system[1],
        "python_version": ".".join(map(str, version)),
    }
    monkeypatch.setattr(computer.sys, "version_info", (*version, 0))
    monkeypatch.setattr(computer.sys, "platform", system[0])
    monkeypatch.setattr(platform, "machine", lambda: system[1])
    monkeypatch.setattr(computer, "cpu_flags", lambda: "avx2")
    assert computer.has_ik_wheel() == marker.evaluate(surroundings)


def test_a_processor_without_avx2_waits_for_the_compile(computer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer.sys, "version_info", (3, 11, 2))
    monkeypatch.setattr(computer.sys, "platform", "linux")
    monkeypatch.setattr(computer, "cpu_flags", lambda: "sse4_2 avx")
    assert not computer.has_ik_wheel()
