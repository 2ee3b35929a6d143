"""Tests of choosing a library compiled here or the prebuilt one, with pip, CMake and ninja but no compiler."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def installed(setup):
    command = [setup.steps.PYTHON, "-c", "import probe; print(probe.KIND)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_native_is_chosen_kept_and_given_up(setup, monkeypatch):
    setup.native.install_native(setup.build)
    assert (installed(setup), setup.native.is_chosen()) == ("compiled", True)
    with monkeypatch.context() as patch:
        patch.setattr(setup.native, "install_wheel", lambda _: pytest.fail("installed again"))
        setup.native.keep_native(setup.build)
        setup.native.install_native(setup.build)
    setup.native.install_prebuilt(setup.build)
    assert (installed(setup), setup.native.is_chosen()) == ("prebuilt", False)
    monkeypatch.setattr(setup.compiled.CompiledWheel, "compile", lambda *_: pytest.fail("compiled again"))
    setup.native.install_native(setup.build)
    assert installed(setup) == "compiled"


@pytest.mark.slow
def test_an_interrupted_compile_goes_on(setup, monkeypatch, capsys):
    monkeypatch.setenv("PROBE_BREAKS", "1")
    with pytest.raises(setup.steps.SetupError, match=r"the probe did not compile.*\n(.*\n)*.*prebuilt the probe stays"):
        setup.native.install_native(setup.build)
    assert (installed(setup), setup.native.is_chosen()) == ("prebuilt", False)
    monkeypatch.delenv("PROBE_BREAKS")
    wheel = setup.build.wheel()
    assert (setup.folder / "trace").read_text() == "first\n"
    assert wheel.parent.name == setup.build.key()
    assert "fetching" in capsys.readouterr().err


@pytest.mark.slow
def test_another_processor_without_a_compiler_goes_back(setup, monkeypatch, capsys):
    setup.native.install_native(setup.build)
    monkeypatch.setattr(setup.compiled, "cpu_flags", lambda: "another processor's")
    monkeypatch.setattr(setup.compiled.shutil, "which", lambda _: None)
    monkeypatch.delenv("CC", raising=False)
    setup.native.keep_native(setup.build)
    assert (installed(setup), setup.native.is_chosen()) == ("prebuilt", False)
    assert "A C and C++ compiler is needed to build the probe" in capsys.readouterr().err


def test_another_archive_than_the_pinned_is_refused(setup):
    lock = setup.build.lock
    lock.write_text(re.sub("sha256:.*", "sha256:" + "0" * 64, lock.read_text()))
    with pytest.raises(setup.steps.SetupError, match=r"chickadee-probe could not be downloaded .* what came is not"):
        setup.build.wheel()


def test_every_processor_and_option_has_its_own_wheel(setup, monkeypatch):
    other_options = replace(setup.build, options="-DSOME=1")
    keys = {setup.build.key(), other_options.key()}
    setup.build.cmake.write_text("# changed")
    keys.add(setup.build.key())
    monkeypatch.setattr(setup.compiled, "cpu_flags", lambda: "another processor's")
    assert len(keys | {setup.build.key(), other_options.key()}) == 5


def test_compilers_fit_into_memory(setup, monkeypatch):
    monkeypatch.setattr(setup.compiled.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(setup.compiled.os, "sysconf", {"SC_PHYS_PAGES": 2 << 20, "SC_PAGE_SIZE": 4096}.get)
    assert [setup.compiled.jobs(gb * 10**9) for gb in (0.1, 1, 2, 20)] == [8, 6, 3, 1]


def test_source_and_wheels_are_the_same_version():
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (wheel,) = [line.partition(";")[0].strip() for line in dependencies if line.startswith("ik-llama-cpp-python")]
    version, *checksums = (ROOT / "packaging/native.lock").read_text().split(" \\\n    ")
    assert version == wheel
    locked = (ROOT / "requirements.lock").read_text()
    assert any(checksum.strip() in locked for checksum in checksums)


@pytest.mark.skipif(find_spec("ik_llama_cpp") is None, reason="no wheel of ik_llama.cpp for this computer")
def test_calibrations_know_the_file_that_is_installed():
    program = "from engine.runtime.ik.library import build, kernels; print(build(), kernels())"
    command = [sys.executable, "-c", program]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    files = distribution("ik-llama-cpp-python").files or []
    (kernels,) = [file for file in files if file.match("ik_llama_cpp/lib/*ggml.*")]
    assert kernels.hash is not None
    known = kernels.hash.value[:10]
    name = next((name for name in ("AVX-512 VNNI", "AVX-VNNI", "AVX2") if text.strip().endswith(name)), None)
    if name:
        products = Path(sys.prefix) / "kernels" / "ik.so"
        known += f" with {name} products {hashlib.sha256(products.read_bytes()).hexdigest()[:10]}"
    assert f" {known}; " in text
