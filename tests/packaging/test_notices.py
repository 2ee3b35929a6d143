"""The SBOM names what is inside without being a Python package, by commit, and nothing that is not packed."""

from __future__ import annotations

import ctypes
import re
import sys
import tomllib
from importlib import import_module
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("notices")


@pytest.fixture
def vendored(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("vendored")


def test_the_commits_are_those_of_the_pinned_versions(vendored: ModuleType) -> None:
    pinned = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    versions = dict(re.findall(r"([\w-]+)==([\w.]+)", "\n".join(pinned)))
    assert {source.package: source.version for source in vendored.SOURCES} == {
        name: version
        for name, version in versions.items()
        if name.endswith("llama-cpp-python") or name == "pywhispercpp"
    }


@pytest.mark.skipif(sys.platform != "linux", reason="the library's name on Linux")
def test_llama_cpp_says_the_same_of_itself(vendored: ModuleType) -> None:
    spec = find_spec("llama_cpp")
    assert spec is not None
    assert spec.origin is not None
    library = ctypes.CDLL(str(Path(spec.origin).parent / "lib" / "libggml-base.so"))
    library.ggml_commit.restype = library.ggml_version.restype = ctypes.c_char_p
    commit = library.ggml_commit().decode().partition("-")[0]  # "-dirty": built outside of its repository
    assert commit
    assert vendored.LLAMA_CPP.commit.startswith(commit)
    assert ("ggml", library.ggml_version().decode(), "MIT") in vendored.LLAMA_CPP.inside


def test_vendored_sources_are_listed_with_the_packages_that_are_packed(vendored: ModuleType) -> None:
    (one,) = vendored.components({"numpy", "llama-cpp-python"})
    assert (one["name"], one["version"]) == ("llama.cpp", vendored.LLAMA_CPP.commit)
    assert one["purl"].endswith(f"@{vendored.LLAMA_CPP.commit}")
    assert "ggml" in [part["name"] for part in one["components"]]
    assert [part["name"] for part in vendored.components({"ik-llama-cpp-python"})] == ["ik_llama.cpp"]


def test_a_package_of_which_only_metadata_was_packed_is_not_listed(notices: ModuleType) -> None:
    numpy, diskcache = distribution("numpy"), distribution("diskcache")
    code = next(file for file in numpy.files or [] if str(file).endswith("numpy/__init__.py"))
    metadata = next(file for file in diskcache.files or [] if str(file).endswith("METADATA"))
    files = {Path(str(numpy.locate_file(code))), Path(str(diskcache.locate_file(metadata)))}
    assert [package.name for package in notices.packed(files)] == ["numpy"]
