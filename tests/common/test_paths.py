"""Tests that paths survive as text, and that shown names are printable."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from common.paths import display_name, file_uri, path_of, path_text, printable, without_host

NAMES = st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name)


@pytest.mark.skipif(sys.platform == "win32", reason="there a name is no bytes")
@given(NAMES)
def test_any_name_comes_back(name):
    path = Path(os.fsdecode(b"/models/" + name))
    assert path_of(path_text(path)) == path
    assert path_of(json.loads(json.dumps(path_text(path)).encode())) == path
    display_name(path).encode()
    assert "\n" not in display_name(path)


@pytest.mark.skipif(sys.platform != "win32", reason="drives and shares are Windows'")
def test_paths_on_drives_and_shares_come_back():
    for text in (r"C:\Vögel\鸟 b.gguf", r"\\server\share\x.gguf", "C:\\half a character \ud83d.gguf"):
        assert path_of(path_text(Path(text))) == Path(text)
    assert path_of("file:///C:/a%20b/%E9%B8%9F.gguf") == Path("C:/a b/鸟.gguf")
    for share in ("file://server/a%20share/x.gguf", "file:////server/a%20share/x.gguf"):
        assert path_of(share) == Path(r"\\server\a share\x.gguf")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/C:/x", "C:/x"),
        ("localhost/C:/x", "C:/x"),
        ("server/share/x", "//server/share/x"),
        ("//server/x", "//server/x"),
    ],
)
def test_a_uri_names_a_drive_or_a_share(uri, path):
    assert without_host(uri) == path


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        (PureWindowsPath("C:/a b/鸟"), "file:///C:/a%20b/%E9%B8%9F"),
        (PureWindowsPath("//server/share/x"), "file://server/share/x"),
        (PurePosixPath("/a b"), "file:///a%20b"),
        (PurePosixPath("//a"), "file:////a"),
    ],
)
def test_drives_and_shares_have_uris(path, uri):
    assert file_uri(path) == uri


def test_usual_paths_are_as_they_are():
    for text in ("/a b/c%20.gguf", "x.gguf", "/日本/é.gguf", "file:x"):
        assert path_text(text) == text
        assert path_of(text) == Path(text)
    assert display_name(Path("/a/é b.gguf")) == "é b.gguf"


def test_a_long_name_keeps_its_ends():
    name = display_name(Path("/" + "a" * 190 + "b" * 20 + ".gguf"))
    assert len(name) == 200
    assert name.startswith("aaa")
    assert name.endswith("b.gguf")


@given(st.text())
def test_what_is_printable_stays_so_and_does_nothing(text):
    said = printable(text)
    assert len(said) == len(text)
    assert printable(said) == said
    said.encode()
    assert "\x1b" not in said


def test_a_failure_can_be_printed_and_sent_whatever_is_in_it():
    failure = Failure("no_such_file.model", "caf\udce9", path="caf\udce9\x1b[2J")
    assert str(failure).startswith("There is no file caf\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[2J.")
    failure.detail.encode()
