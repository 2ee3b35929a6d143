"""Tests that set-up compiles our native code for both libraries if it can, and goes on if it cannot."""

from __future__ import annotations

import ctypes
import platform
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def own_code(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("own_code")


@pytest.mark.slow  # `make setup` has just compiled the same for the tests of ik_llama.cpp
@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or not shutil.which("c++"), reason="not compiled here"
)
@pytest.mark.parametrize(
    ("name", "version"), [("IK_CODE", "chickadee_version"), ("LLAMA_CODE", "chickadee_llama_version")]
)
def test_it_is_compiled_for_this_system_only(own_code, tmp_path, monkeypatch, capsys, name, version):
    library, code = tmp_path / "kernels" / "own.so", getattr(own_code, name)
    code.compile(library)
    tell_version = getattr(ctypes.CDLL(str(library)), version)
    tell_version.restype = ctypes.c_char_p
    assert tell_version().decode() == own_code.pinned(code.wheel)
    assert [path.name for path in library.parent.iterdir()] == ["own.so"]
    assert "not compiled" not in capsys.readouterr().err
    monkeypatch.setattr(sys, "platform", "darwin")
    code.compile(tmp_path / "elsewhere" / "own.so")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="not compiled here")
@pytest.mark.parametrize("compiler", ["false", "no-such-compiler", f"{sys.executable} -c 1/0"])
def test_set_up_goes_on_without_it(own_code, tmp_path, monkeypatch, capsys, compiler):
    library = tmp_path / "kernels" / "ik.so"
    library.parent.mkdir()
    library.write_text("of an older source")
    monkeypatch.setenv("CXX", compiler)
    own_code.IK_CODE.compile(library)
    assert list(library.parent.iterdir()) == []
    assert "so it computes more slowly" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="not compiled here")
def test_headers_of_another_library_are_not_compiled_with(own_code, tmp_path, monkeypatch, capsys):
    """The installed wheel seems to be made of another source than the archive's."""
    public = tmp_path / "lib" / "python3.11" / "site-packages" / "include"
    public.mkdir(parents=True)
    (public / "ggml.h").write_text("// of another version")
    monkeypatch.setattr(own_code, "VENV", tmp_path)
    with pytest.raises(own_code.SetupError, match=r"ggml\.h is not that of its source"):
        own_code.IK_CODE.headers()
