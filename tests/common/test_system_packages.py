"""The table of the system's libraries: it names all that Qt links to, and only what this display needs is asked for."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common import system_packages
from common.system_packages import LIBRARIES, WAYLAND, WINDOW, X11, Part, install_command, missing_window_libraries

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux' libraries")
GLIBC = re.compile(r"lib(?:c|m|dl|rt|pthread|resolv|util)\.so|ld-linux")


def needed(file: Path) -> set[str]:
    """Return the libraries that the file links to and that neither glibc nor PySide6 contains."""
    text = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^\s+NEEDED\s+(\S+)", text, re.MULTILINE)
    return {name for name in names if not GLIBC.match(name) and not re.match(r"lib(?:Qt6|icu|pyside6|shiboken6)", name)}


@pytest.mark.skipif(not shutil.which("objdump"), reason="reads libraries with binutils")
def test_it_names_what_qt_links_to() -> None:
    found = importlib.util.find_spec("PySide6")
    assert found
    assert found.submodule_search_locations
    qt = Path(found.submodule_search_locations[0]) / "Qt"
    parts = ("Core", "DBus", "Gui", "Network", "OpenGL", "Svg", "Widgets")
    window = set[str]().union(*(needed(qt / "lib" / f"libQt6{part}.so.6") for part in parts))
    assert window == {part.name for part in WINDOW}
    names = {part.name for part in (*WINDOW, *X11)}
    assert needed(qt / "plugins/platforms/libqxcb.so") <= names
    assert {part.name for part in X11} <= needed(qt / "plugins/platforms/libqxcb.so")
    assert needed(qt / "plugins/platforms/libqwayland.so") - window == {part.name for part in WAYLAND}


def test_no_library_stands_twice_and_each_has_its_packages() -> None:
    names = [part.name for part in LIBRARIES]
    assert len(names) == len(set(names))
    assert all(part.debian and part.arch and part.rpm == f"'{part.name}()(64bit)'" for part in LIBRARIES)


def test_only_one_kind_of_display_has_to_work(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"libxcb-cursor.so.0", "libEGL.so.1"}
    monkeypatch.setattr(system_packages, "_loads", lambda name: name not in absent)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)

    def missing(**displays: str) -> set[str]:
        for name in ("WAYLAND_DISPLAY", "DISPLAY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in displays.items():
            monkeypatch.setenv(name, value)
        return {part.name for part in missing_window_libraries()}

    assert missing() == {"libEGL.so.1"}
    assert missing(DISPLAY=":0") == absent
    assert missing(WAYLAND_DISPLAY="wayland-0") == {"libEGL.so.1"}
    assert missing(WAYLAND_DISPLAY="wayland-0", DISPLAY=":0") == {"libEGL.so.1"}
    absent.add("libwayland-client.so.0")
    absent.add("libwayland-cursor.so.0")
    assert missing(WAYLAND_DISPLAY="wayland-0", DISPLAY=":0") == {"libEGL.so.1", "libxcb-cursor.so.0"}


def test_a_library_that_is_not_there_is_missing() -> None:
    nowhere = Part("libnobody-has-this.so.9", "nothing", "nothing")
    assert system_packages.missing_libraries([nowhere]) == [nowhere]


def test_the_command_suits_the_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [part for part in LIBRARIES if part.debian == "libglib2.0-0"]
    assert len(parts) > 1  # one package with two libraries
    monkeypatch.setattr(shutil, "which", {"apt-get": "apt-get"}.get)
    monkeypatch.setattr(system_packages, "is_root", lambda: True)
    assert install_command(parts) == "apt-get install libglib2.0-0"
    monkeypatch.setattr(system_packages, "is_root", lambda: False)
    assert install_command(parts) == 'su -c "apt-get install libglib2.0-0"'
    monkeypatch.setattr(shutil, "which", {"apt-get": "apt-get", "sudo": "sudo"}.get)
    assert install_command(parts) == "sudo apt-get install libglib2.0-0"
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert install_command(parts) == ""
