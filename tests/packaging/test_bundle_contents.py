"""Tests of the lists of what is packed, without packing. packaging/test_deb.sh tests the package itself."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
QT = "PySide6/Qt"


@pytest.fixture
def bundle_contents(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("bundle_contents")


@pytest.fixture
def elf(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("elf")


def test_the_model_and_all_assets_are_packed(bundle_contents):
    files = dict(bundle_contents.datas())
    (model,) = (Path(path) for path, folder in files.items() if folder == "models")
    assert model.suffix == ".gguf"
    assert model.stat().st_size > 10_000_000
    assert files[str(ROOT / "assets")] == "assets"
    for path in (ROOT / "assets").rglob("*"):
        assert not bundle_contents.unused(path.relative_to(ROOT).as_posix())


def test_our_native_code_is_packed_where_it_was_compiled(bundle_contents, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert bundle_contents.own_code() == []
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "ik.so").touch()
    assert bundle_contents.own_code() == [(str(tmp_path / "kernels" / "ik.so"), "kernels")]


def test_named_packages_exist(bundle_contents):
    for name in (
        *bundle_contents.DATA_PACKAGES,
        *bundle_contents.HIDDEN,
        *bundle_contents.LIBRARIES,
        bundle_contents.WEIGHTS,
    ):
        assert importlib.util.find_spec(name), name
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert len(bundle_contents.METADATA) == len(dependencies)
    assert {"PySide6-Essentials", "llama-cpp-python", "ik-llama-cpp-python"} <= set(bundle_contents.METADATA)


@pytest.mark.parametrize(
    "name",
    [
        f"{QT}/lib/libQt6Widgets.so.6", f"{QT}/lib/libQt6XcbQpa.so.6", f"{QT}/lib/libicudata.so.73",
        f"{QT}/plugins/platforms/libqxcb.so", f"{QT}/plugins/platforms/libqwayland.so",
        f"{QT}/plugins/iconengines/libqsvgicon.so",
        f"{QT}/translations/qtbase_zh_CN.qm", "PySide6/plugins/platforms/qwindows.dll", "PySide6/Qt6Core.dll",
        "llama_cpp/lib/libggml-cpu-zen4.so", "llama_cpp/lib/libllama.so", "ik_llama_cpp/lib/libllama.so",
        "libxcb-cursor.so.0", "libpython3.11.so.1.0", "assets/translations/zh_CN.ts",
        "llama_cpp_python-0.3.36.dist-info/METADATA",
    ],
)  # fmt: skip
def test_what_is_needed_stays(bundle_contents, name):
    assert not bundle_contents.unused(name)


@pytest.mark.parametrize(
    "name",
    [
        f"{QT}/lib/libQt6Qml.so.6", f"{QT}/lib/libQt6Quick.so.6", "PySide6/Qt6Pdf.dll", "PySide6\\Qt6Quick.dll",
        f"{QT}/plugins/platforms/libqeglfs.so", f"{QT}/plugins/tls/libqopensslbackend.so",
        f"{QT}/translations/qtbase_de.qm",
        "llama_cpp/lib/libllama-common.so", "ik_llama_cpp/lib/libggml.so", "libstdc++.so.6", "libX11.so.6",
        "libEGL.so.1", "llama_cpp_python-0.3.36.dist-info/direct_url.json", "diskcache-5.6.3.dist-info/METADATA",
    ],
)  # fmt: skip
def test_what_is_not_needed_goes(bundle_contents, name):
    assert bundle_contents.unused(name)


def test_llama_cpp_is_imported_without_the_diskcache_that_is_not_packed(bundle_contents):
    assert "diskcache" in bundle_contents.EXCLUDED
    program = "import runpy, sys; runpy.run_path(sys.argv[1]); from llama_cpp import llama_cpp; import diskcache; "
    program += "print(getattr(diskcache, '__file__', None), llama_cpp.llama_max_devices() > 0)"
    hook = ROOT / "packaging" / "entry" / "no_diskcache.py"
    done = subprocess.run([sys.executable, "-c", program, hook], capture_output=True, text=True)
    assert done.stdout.split() == ["None", "True"], done.stderr


def test_a_library_goes_with_the_last_file_that_needed_it(bundle_contents):
    needs = {"/s/libqxcb.so": ["/l/libxcb-cursor.so.0"], "/l/libxcb-cursor.so.0": ["/l/libxcb-image.so.0"]}
    entries = [
        (f"{QT}/plugins/platforms/libqxcb.so", "/s/libqxcb.so", "BINARY"),
        ("libxcb-cursor.so.0", "/l/libxcb-cursor.so.0", "BINARY"),
        ("libxcb-image.so.0", "/l/libxcb-image.so.0", "BINARY"),
        ("libcairo.so.2", "/l/libcairo.so.2", "BINARY"),  # needed by the gtk plugin alone, which is left out
        (f"{QT}/plugins/platformthemes/libqgtk3.so", "/s/libqgtk3.so", "BINARY"),
        (f"{QT}/lib/libQt6Core.so.6", "/s/libQt6Core.so.6", "BINARY"),
        ("libQt6Core.so.6", f"{QT}/lib/libQt6Core.so.6", "SYMLINK"),
        ("libQt6Qml.so.6", f"{QT}/lib/libQt6Qml.so.6", "SYMLINK"),
    ]
    kept = [name for name, _, _ in bundle_contents.without_unused(entries, lambda path: needs.get(path, []))]
    assert kept == [
        f"{QT}/plugins/platforms/libqxcb.so", "libxcb-cursor.so.0", "libxcb-image.so.0", f"{QT}/lib/libQt6Core.so.6",
        "libQt6Core.so.6",
    ]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="Linux' program files")
def test_what_a_program_needs_is_read_from_it(elf):
    import PySide6

    library = Path(PySide6.__file__).parent / "Qt/lib/libQt6XcbQpa.so.6"
    assert {"libxcb-cursor.so.0", "libQt6Gui.so.6", "libc.so.6"} <= set(elf.needed(library))
    assert (2, 14) <= elf.glibc(library) < (3,)
    outside = elf.outside([library], library.parent)
    assert outside["libxcb-cursor.so.0"] == ["libQt6XcbQpa.so.6"]
    assert "libQt6Gui.so.6" not in outside


@pytest.mark.skipif(
    not shutil.which("gcc") or platform.libc_ver() < ("glibc", "2.36"),
    reason="needs gcc and a glibc newer than promised",
)
def test_a_glibc_newer_than_promised_stops_the_build(bundle_contents, tmp_path):
    bundle_build = import_module("bundle_build")

    def compile_call(name, declaration):
        source = tmp_path / "call.c"
        source.write_text(f"{declaration}; void *used = (void *){name};")
        library = tmp_path / f"lib{name}.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-fno-builtin", "-o", library, source, "-lm"], check=True)

    compile_call("hypot", "double hypot(double, double)")  # of 2.35
    bundle_build.check_programs(tmp_path)
    compile_call("arc4random", "unsigned arc4random(void)")  # of 2.36
    with pytest.raises(bundle_build.SetupError, match=r"^libarc4random\.so \(2\.36\): .* Ubuntu 22\.04's 2\.35"):
        bundle_build.check_programs(tmp_path)


@pytest.mark.skipif(
    sys.base_prefix != "/usr" or platform.libc_ver() != ("glibc", "2.36"), reason="Debian 12's own Python is packed"
)
@pytest.mark.no_assertion("`check_programs` raises for what is not known")
def test_what_debians_own_python_needs_is_known(bundle_contents, tmp_path):
    # libexpat, which only Debian's Python takes from the system
    shutil.copyfile(Path(sys.executable).resolve(), tmp_path / "python")
    import_module("bundle_build").check_programs(tmp_path)


def test_libraries_that_are_missing_stop_the_build(bundle_contents, monkeypatch):
    bundle_build = import_module("bundle_build")
    log = "WARNING: Library not found: could not resolve '{}', dependency of '/venv/plugins/platforms/{}'.\n"
    text = log.format("libxcb-cursor.so.0", "libqxcb.so") + log.format("libgtk-3.so.0", "libqgtk3.so")
    assert bundle_build.missing_libraries(text, {"libqxcb.so"}) == ["libxcb-cursor.so.0, for libqxcb.so"]
