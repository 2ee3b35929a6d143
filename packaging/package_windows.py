"""`make package-windows`: makes Windows' installers on Linux, with PyInstaller for Windows under Wine, and tries them.

The bundle is made by package.py, as on Windows itself. The setup program, in a prefix and a folder of its own, must
answer a question, take an upgrade and go again, and leave the user's files. Standard library only.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

import installers
from computer import apt_install
from mingw import uses_avx
from package import LOCK, release
from release import DIST, EPOCH, VERSION
from setup_lock import setup_lock
from steps import ROOT, SetupError, say
from windows_python import PYTHON_LOCK, WindowsPython
from wine import Ended, Wine, windows_path

BUILD = ROOT / "build" / "windows"
BUNDLE = BUILD / "dist" / "chickadee"
PYTHON = WindowsPython(BUILD / "package", LOCK)
WINE = Wine(BUILD / "packing prefix")
EMPTY = Wine(BUILD / "another computer")  # a prefix that nothing else is installed in
FREEZE_SECONDS, SETUP_SECONDS, ANSWER_SECONDS = 1800, 300, 300
OLD_PROCESSORS = ("libllama.dll", "libmtmd.dll", "ggml.dll", "ggml-base.dll", "ggml-cpu-x64.dll", "ggml-cpu-sse42.dll")
# What is inside without being a Python package: name, and Debian's package with its licence text.
INSIDE = {
    "mingw-w64": "mingw-w64-common", "GCC runtime libraries": "gcc-mingw-w64-base",  # linked into llama.cpp
    "OpenSSL": "libssl3", "libffi": "libffi8", "SQLite": "libsqlite3-0", "bzip2": "libbz2-1.0", "XZ Utils": "liblzma5",
    "zlib": "zlib1g", "Expat": "libexpat1",  # in the libraries of Python
}  # fmt: skip
MICROSOFT = "Microsoft C++ runtime"  # beside Python and Qt
DOCUMENTS = Path("/usr/share/doc")


def main() -> int:
    try:
        with setup_lock():
            package()
    except SetupError as error:
        say(str(error))
        return 1
    finally:
        WINE.end()
        EMPTY.end()
    return 0


def package() -> None:
    documented = {name for name in INSIDE.values() if licence(name).exists()}
    apt_install([*([] if shutil.which("makensis") else ["nsis"]), *sorted({*INSIDE.values()} - documented)])
    WINE.make()
    PYTHON.make()
    freeze()
    add_licences(BUNDLE / "licences")
    check_old_processors(BUNDLE / "_internal" / "llama_cpp" / "lib")
    files = installers.make(BUNDLE, "win32", DIST / "windows")
    release(files)
    check(*files[:2])


def freeze() -> None:
    """Make the bundle by package.py under Wine. Raises SetupError."""
    environment = {"QT_QPA_PLATFORM": "offscreen", "CHICKADEE_VENV": "build/windows/package"}
    environment["SOURCE_DATE_EPOCH"] = str(EPOCH)
    environment["CHICKADEE_PYTHON"] = windows_path(PYTHON.program)
    command = [windows_path(PYTHON.program), "packaging/package.py", "--bundle-only", "--prepared"]
    require(WINE.run(command, FREEZE_SECONDS, environment, ROOT, shown=True), "the bundle could not be made under Wine")


def require(ended: Ended, failure: str) -> str:
    """Return the program's output. Raises SetupError unless it ended with 0."""
    if ended.code != 0:
        how = "its time was over" if ended.code is None else f"exit code {ended.code}"
        raise SetupError(f"{failure} ({how}):\n{ended.output[-3000:]}")
    return ended.output


def add_licences(folder: Path) -> None:
    """Add the licences and the SBOM's entries of what is inside without being a Python package. Raises SetupError."""
    bill = folder / "sbom.cdx.json"
    content = json.loads(bill.read_text(encoding="utf-8"))
    texts = {name: licence(debian) for name, debian in INSIDE.items()}
    texts[MICROSOFT] = ROOT / "packaging" / "windows" / "microsoft.txt"
    content["components"] += carried(PYTHON_LOCK.read_text())
    for name, text in texts.items():
        if not text.exists():
            raise SetupError(f"{text} is missing: the licence of {name}")
        shutil.copyfile(text, folder / f"{name}.txt")
        content["components"].append({"type": "library", "name": name})
    bill.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def carried(lock: str) -> list[dict[str, object]]:
    """Return the SBOM's entry of the wheel that carries Python's DLLs, as the lock file pins it."""
    match = re.fullmatch(r"([\w-]+)==([\d.]+) \\\s+--hash=sha256:(\w+)\s*", lock)
    if not match:
        raise SetupError(f"{PYTHON_LOCK.name} does not pin one wheel")
    name, version, digest = match.groups()
    return [
        {
            "type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}",
            "description": "Only the DLLs of CPython are taken from this wheel.",
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
    ]  # fmt: skip


def licence(package: str) -> Path:
    """Return the licence text that a Debian package installs."""
    return DOCUMENTS / package / "copyright"


def check_old_processors(folder: Path) -> None:
    """Check that what every processor runs has no AVX, and that faster kernels are beside it. Raises SetupError."""
    kernels = sorted(folder.glob("ggml-cpu-*.dll"))
    old = [folder / name for name in OLD_PROCESSORS]
    missing = [path.name for path in old if not path.exists()]
    if missing:
        raise SetupError(f"{', '.join(missing)}: not in the bundle")
    expect("llama.cpp runs on processors without AVX", not any(map(uses_avx, old)))
    expect(f"it has kernels for {len(kernels)} kinds of processors", any(map(uses_avx, kernels)))


def check(setup: Path, archive: Path) -> None:
    """Install, use, upgrade and remove the program under Wine; try the zip. Raises SetupError."""
    shutil.rmtree(EMPTY.prefix, ignore_errors=True)
    EMPTY.make()
    drive = EMPTY.drive
    folder = drive / "Programme für Ümit 程序"
    inside = f"C:\\{folder.name}"
    # NSIS takes the rest of the line as it is. Wine puts quotes around an argument with spaces, so there is none.
    install = [setup, "/S", *f"/D={inside}".split(" ")]
    require(EMPTY.run(install, SETUP_SECONDS), "setup failed")
    answers(folder / "chickadee-engine.exe", "the installed engine answers")
    window(folder / "chickadee.exe", "the installed window answers")
    (folder / "_internal" / "left_over").write_text("of an older version")
    (folder / "notes.txt").write_text("the user's own")
    require(EMPTY.run(install, SETUP_SECONDS), "the upgrade failed")
    expect("an upgrade leaves nothing of the older version", not (folder / "_internal" / "left_over").exists())
    own = next(drive.glob("users/*/AppData/Local/chickadee"))  # made by the answers above
    # _?= keeps the uninstaller from copying itself and ending at once.
    require(
        EMPTY.run([folder / "uninstall.exe", "/S", *f"_?={inside}".split(" ")], SETUP_SECONDS), "the uninstaller failed"
    )
    left = sorted(path.name for path in folder.iterdir() if path.name != "uninstall.exe")
    expect("the uninstaller removes it, and nothing else", left == ["notes.txt"] and own.exists())
    unpacked = drive / "unpacked zip"
    with zipfile.ZipFile(archive) as content:
        content.extractall(unpacked)
    answers(unpacked / f"Chickadee-{VERSION}" / "chickadee-engine.exe", "the engine of the zip answers")


def answers(engine: Path, what: str) -> None:
    question = ("chat", "--prompt", "Say hello.", "--max-tokens", "8", "--temp", "0")
    expect(what, bool(require(EMPTY.run([engine, *question], ANSWER_SECONDS), what).strip()))


def window(program: Path, what: str) -> None:
    require(EMPTY.run([program, "--self-test"], ANSWER_SECONDS, {"QT_QPA_PLATFORM": "offscreen"}), what)
    say(f"ok: {what}")


def expect(what: str, held: bool) -> None:
    """Print what was checked. Raises SetupError unless it held."""
    if not held:
        raise SetupError(f"not so: {what}")
    say(f"ok: {what}")


if __name__ == "__main__":
    sys.exit(main())
