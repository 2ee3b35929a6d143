"""Failures before the window opens: the sentence names what is missing and how to install it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from app import fatal
from app.fatal import missing_library_failure, plugin, problem_of, require_platform
from app.folders import open_folders
from app.services.single_instance import SingleInstance
from common import system_packages
from common.failures import Failure
from common.system_packages import qt_platforms
from tests.app.small_disk import fill_up, small_disk

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux' libraries")


@linux
def test_what_the_linker_says_becomes_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    error_text = "libEGL.so.1: cannot open shared object file: No such file or directory"
    monkeypatch.setattr(shutil, "which", {"sudo": "sudo", "apt-get": "apt-get"}.get)
    monkeypatch.setattr(system_packages, "is_root", lambda: False)
    assert str(missing_library_failure(error_text)) == (
        "The window cannot open because a system library is missing: libEGL.so.1. "
        "`sudo apt-get install libegl1` installs it."
    )
    assert "package manager" in str(missing_library_failure(error_text.replace("EGL", "Unheard")))
    monkeypatch.setattr(system_packages, "WINDOW", (system_packages.Part("libunheard.so.0", "libunheard0", "unheard"),))
    assert str(missing_library_failure(error_text)).endswith(
        "a system library is missing: libEGL.so.1, libunheard.so.0. "
        "`sudo apt-get install libegl1 libunheard0` installs it."
    )
    assert "undefined symbol" in str(missing_library_failure("libqxcb.so: undefined symbol: bird"))


@linux
def test_the_plugins_for_this_display_are_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen:size=9x9;xcb")
    assert qt_platforms() == ["offscreen", "xcb"]
    assert problem_of(plugin("offscreen")) == ""
    require_platform()
    monkeypatch.delenv("QT_QPA_PLATFORM")
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert qt_platforms() == ["xcb"]
    broken = tmp_path / "libqxcb.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr("app.fatal.plugin", lambda _name: broken)
    with pytest.raises(Failure, match="cannot be loaded"):
        require_platform()


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data") as data:
        fill_up(data)
        with pytest.raises(Failure, match="No space left"):
            open_folders(data)


def test_a_lock_that_cannot_be_written_is_no_other_window(qapp: object, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(Failure, match="cannot write to its folder"):
        SingleInstance(tmp_path / "a file").claim()


def test_from_a_checkout_stderr_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert fatal.reads_stderr()
    fatal.announce("No bird.")
    assert capsys.readouterr().err == "No bird.\n"
