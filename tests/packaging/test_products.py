"""Set-up compiles our matrix products where it can, and goes on where it cannot."""

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
def products(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("products")


@pytest.mark.slow  # `make setup` has just compiled what the tests of ik_llama.cpp compute with
@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or not shutil.which("c++"), reason="not compiled here"
)
def test_they_are_compiled_for_this_system_only(products, tmp_path, monkeypatch, capsys):
    library = tmp_path / "kernels" / "products.so"
    products.compile_products(library)
    assert ctypes.CDLL(str(library)).products_start
    assert [path.name for path in library.parent.iterdir()] == ["products.so"]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "platform", "darwin")
    products.compile_products(tmp_path / "elsewhere" / "products.so")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="not compiled here")
@pytest.mark.parametrize("compiler", ["false", "no-such-compiler", f"{sys.executable} -c 1/0"])
def test_set_up_goes_on_without_them(products, tmp_path, monkeypatch, capsys, compiler):
    library = tmp_path / "kernels" / "products.so"
    library.parent.mkdir()
    library.write_text("of an older source")
    monkeypatch.setenv("CXX", compiler)
    products.compile_products(library)
    assert list(library.parent.iterdir()) == []
    assert "ik_llama.cpp's own compute instead" in capsys.readouterr().err
