"""Tests of what is added to Windows' bundle, and of the check that old processors can run it."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
needs_mingw = pytest.mark.skipif(not shutil.which("x86_64-w64-mingw32-gcc-posix"), reason="needs mingw")


@pytest.fixture
def package_windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("package_windows")


def test_licences_are_beside_those_of_packages(
    package_windows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "documents" / "libffi8").mkdir(parents=True)
    (tmp_path / "documents" / "libffi8" / "copyright").write_text("libffi's terms")
    monkeypatch.setattr(package_windows, "INSIDE", {"libffi": "libffi8"})
    monkeypatch.setattr(package_windows, "DOCUMENTS", tmp_path / "documents")
    bill = tmp_path / "sbom.cdx.json"
    bill.write_text('{"components": [{"type": "library", "name": "numpy"}]}')
    package_windows.add_licences(tmp_path)
    numpy, python, *others = json.loads(bill.read_text())["components"]
    assert [part["name"] for part in (numpy, *others)] == ["numpy", "libffi", package_windows.MICROSOFT]
    lock = package_windows.PYTHON_LOCK.read_text()  # where Windows' Python comes from
    assert python["purl"] == "pkg:pypi/" + lock.split()[0].replace("==", "@")
    assert f"sha256:{python['hashes'][0]['content']}" in lock
    assert (tmp_path / "libffi.txt").read_text() == "libffi's terms"
    assert "redistribution" in (tmp_path / f"{package_windows.MICROSOFT}.txt").read_text()
    monkeypatch.setattr(package_windows, "INSIDE", {"zlib": "zlib1g"})
    with pytest.raises(package_windows.SetupError, match="the licence of zlib"):
        package_windows.add_licences(tmp_path)


@needs_mingw
def test_instructions_of_newer_processors_are_found(package_windows: ModuleType, tmp_path: Path) -> None:
    from mingw import compile_c

    source = tmp_path / "add.c"
    source.write_text("void add(float *a, float *b) { for (int i = 0; i < 64; i++) a[i] += b[i]; }")
    for name in package_windows.OLD_PROCESSORS:
        compile_c(tmp_path / name, "-shared", "-O3", source)
    kernels = tmp_path / "ggml-cpu-haswell.dll"
    compile_c(kernels, "-shared", "-O3", source)
    with pytest.raises(package_windows.SetupError, match="kernels for 3 kinds"):
        package_windows.check_old_processors(tmp_path)
    compile_c(kernels, "-shared", "-O3", "-mavx2", source)
    package_windows.check_old_processors(tmp_path)
    compile_c(tmp_path / "libllama.dll", "-shared", "-O3", "-mavx", source)
    with pytest.raises(package_windows.SetupError, match="without AVX"):
        package_windows.check_old_processors(tmp_path)
    (tmp_path / "ggml-base.dll").unlink()
    with pytest.raises(package_windows.SetupError, match=r"ggml-base\.dll: not in the bundle"):
        package_windows.check_old_processors(tmp_path)
