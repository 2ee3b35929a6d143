"""Tests that set-up compiles our native code for ik_llama.cpp if it can, and goes on if it cannot."""

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
def ik_native(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("ik_native")


@pytest.mark.slow  # `make setup` has just compiled the same for the tests of ik_llama.cpp
@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or not shutil.which("c++"), reason="not compiled here"
)
def test_it_is_compiled_for_this_system_only(ik_native, tmp_path, monkeypatch, capsys):
    library = tmp_path / "kernels" / "ik.so"
    ik_native.compile_ik_native(library)
    code = ctypes.CDLL(str(library))
    code.chickadee_version.restype = ctypes.c_char_p
    assert code.chickadee_version().decode() == ik_native.version()
    assert [path.name for path in library.parent.iterdir()] == ["ik.so"]
    assert "not compiled" not in capsys.readouterr().err
    monkeypatch.setattr(sys, "platform", "darwin")
    ik_native.compile_ik_native(tmp_path / "elsewhere" / "ik.so")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="not compiled here")
@pytest.mark.parametrize("compiler", ["false", "no-such-compiler", f"{sys.executable} -c 1/0"])
def test_set_up_goes_on_without_it(ik_native, tmp_path, monkeypatch, capsys, compiler):
    library = tmp_path / "kernels" / "ik.so"
    library.parent.mkdir()
    library.write_text("of an older source")
    monkeypatch.setenv("CXX", compiler)
    ik_native.compile_ik_native(library)
    assert list(library.parent.iterdir()) == []
    assert "so it computes more slowly" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="not compiled here")
def test_headers_of_another_library_are_not_compiled_with(ik_native, tmp_path, monkeypatch, capsys):
    """The installed wheel seems to be made of another source than the archive's."""
    public = tmp_path / "lib" / "python3.11" / "site-packages" / "include"
    public.mkdir(parents=True)
    (public / "ggml.h").write_text("// of another version")
    monkeypatch.setattr(ik_native, "VENV", tmp_path)
    with pytest.raises(ik_native.SetupError, match=r"ggml\.h is not that of its source"):
        ik_native.headers()
