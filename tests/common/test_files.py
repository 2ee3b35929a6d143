"""Tests that files are written whole or not at all, and private to the user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from common.files import replace_file, write_atomically


def test_the_file_and_its_new_folders_are_private(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == path.parent.parent.stat().st_mode & 0o777 == 0o700


def test_paths_may_be_long_and_of_any_script(tmp_path):
    path = tmp_path / ("Grüße und " + "ü" * 60) / ("鸟" * 60) / ("x" * 150) / "Große Vögel 鸟.json"
    assert len(str(path)) > 260, "the longest that Windows takes without being asked"
    for content in (b"one", b"two"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_windows_refusal_to_replace_an_open_file_is_waited_out(tmp_path, monkeypatch):
    refusals = [PermissionError(13, "Access is denied")] * 2
    replace = Path.replace

    def busy(source: Path, target: Path) -> Path:
        if refusals:
            raise refusals.pop()
        return replace(source, target)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(Path, "replace", busy)
    source = tmp_path / "new"
    source.write_text("new")
    replace_file(source, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "new"


def test_a_file_that_stays_open_is_an_error_in_the_end(tmp_path, monkeypatch):
    def busy(source: Path, target: Path) -> Path:
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("common.files.REFUSED_SECONDS", 0.05)
    monkeypatch.setattr(Path, "replace", busy)
    with pytest.raises(PermissionError):
        replace_file(tmp_path / "new", tmp_path / "file")
