"""Tests that files are written whole or not at all, and private to the user."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from datetime import date
from pathlib import Path

import pytest

from common.files import (
    NotAFile,
    is_file,
    is_folder,
    open_file,
    read_small,
    replace_file,
    replacing,
    set_aside,
    sync_folder,
    temporary_prefix,
    write_atomically,
)

LONG, NUL = Path("x" * 300), Path("a\0b")  # names that no file can have


def kind_of_error(path: Path) -> tuple[type[OSError], int | None, str]:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the caller looks at it
        open_file(path)
    return caught.type, caught.value.errno, caught.value.filename


def test_only_a_regular_file_is_opened_and_nothing_is_waited_for(tmp_path, monkeypatch):
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_bytes(b"content")
    folder.mkdir()
    (tmp_path / "link").symlink_to(file)
    with open_file(tmp_path / "link") as opened:
        assert isinstance(opened, io.RawIOBase), "unbuffered"
        assert opened.read() == b"content"
    assert [read_small(file, most) for most in (0, 3, 7, 9)] == [b"", b"con", b"content", b"content"]
    assert kind_of_error(folder) == (IsADirectoryError, errno.EISDIR, str(folder))
    for missing in (tmp_path / "missing", tmp_path / LONG, tmp_path / NUL):
        assert kind_of_error(missing) == (FileNotFoundError, errno.ENOENT, str(missing))
    assert kind_of_error(file / "below")[:2] == (NotADirectoryError, errno.ENOTDIR)
    if hasattr(os, "mkfifo"):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        assert kind_of_error(pipe) == (NotAFile, errno.EINVAL, str(pipe))
        status = file.stat()
        monkeypatch.setattr(Path, "stat", lambda _path: status)  # the pipe came between the look and the opening
        assert kind_of_error(pipe) == (NotAFile, errno.EINVAL, str(pipe))


def test_more_than_a_piece_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("common.files.PIECE", 3)
    (tmp_path / "file").write_bytes(b"12345678")
    assert [read_small(tmp_path / "file", most) for most in (6, 7, 9)] == [b"123456", b"1234567", b"12345678"]


def test_what_the_system_refuses_to_look_at_is_neither_file_nor_folder(tmp_path):
    (tmp_path / "file").touch()
    paths = (tmp_path / "file", tmp_path, tmp_path / LONG)
    assert [(is_file(path), is_folder(path)) for path in paths] == [(True, False), (False, True), (False, False)]


@pytest.mark.skipif(os.name != "posix", reason="Windows flushes renames itself")
def test_content_is_on_the_disk_before_the_file_is_replaced_and_its_name_afterwards(tmp_path, monkeypatch):
    """A power cut between the two leaves the old file, and one afterwards the new file."""
    path, flush, flushed = tmp_path / "file", os.fsync, []
    path.write_bytes(b"old")

    def spy(handle: int) -> None:
        flush(handle)
        status = os.fstat(handle)
        flushed.append(("folder" if stat.S_ISDIR(status.st_mode) else status.st_size, path.read_bytes()))

    monkeypatch.setattr(os, "fsync", spy)
    with replacing(path, 0o640) as file:
        file.write(b"newer")
        (temporary,) = set(tmp_path.iterdir()) - {path}
        assert temporary.name.startswith(temporary_prefix())
        assert f"-{os.getpid()}-" in temporary.name
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert flushed == [(5, b"old"), ("folder", b"newer")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    sync_folder(tmp_path / "deleted meanwhile")


def test_a_failed_block_is_told_even_if_its_temporary_file_is_gone(tmp_path):
    def fail() -> None:
        for temporary in tmp_path.iterdir():
            temporary.unlink()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file"):
        fail()


def test_a_file_is_set_aside_under_an_unused_name(tmp_path):
    day, asides = date.today().isoformat(), []
    (tmp_path / f"settings-{day}-3.toml").symlink_to("nowhere")
    for content in ("one", "two", "three"):
        path = tmp_path / "settings.toml"
        path.write_text(content)
        asides.append(set_aside(path))
        assert not path.exists()
    assert [path.name for path in asides] == [f"settings-{day}{end}.toml" for end in ("", "-2", "-4")]
    assert [path.read_text() for path in asides] == ["one", "two", "three"]


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
    tries: list[None] = []

    def busy(source: Path, target: Path) -> Path:
        tries.append(None)
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr("common.files.REFUSED_SECONDS", 0.05)
    monkeypatch.setattr(Path, "replace", busy)
    for platform, least in (("win32", 2), ("linux", 1)):  # elsewhere waiting would not help
        tries.clear()
        monkeypatch.setattr(sys, "platform", platform)
        with pytest.raises(PermissionError):
            replace_file(tmp_path / "new", tmp_path / "file")
        assert len(tries) >= least
    assert len(tries) == 1
