"""What Chickadee consists of besides itself: names, versions, licences, as the installed packages say. Knows no Qt."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from importlib import metadata

from common.failures import Failure
from models.default import default_model
from models.header import read_header
from models.titles import title_of

NAME, VERSION, LICENCE = "Chickadee", "0.1.0", "MIT"
# What the project asks for (a test compares this with pyproject.toml); what these ask for is found from them.
ROOTS = (
    "PySide6-Essentials", "llama-cpp-python", "ik-llama-cpp-python", "charset-normalizer", "gguf", "msgspec", "numpy",
    "platformdirs", "psutil", "Pygments", "pypdf", "pyqtgraph", "python-docx", "requests", "tomlkit", "ziamath",
)  # fmt: skip
INSIDE = {  # what lies in a package besides the package: its name, and the licence it has
    "pyside6-essentials": ("Qt", "LGPL-3.0-only"),
    "llama-cpp-python": ("llama.cpp, ggml", "MIT"),
    "ik-llama-cpp-python": ("ik_llama.cpp", "MIT"),
}
LONGEST = 80


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    version: str
    licence: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}: {self.licence}" if self.version else f"{self.name}: {self.licence}"


def components() -> tuple[Component, ...]:
    """Chickadee, the built-in model, Python, then all packages by name."""
    packages: dict[str, Component] = {}
    for root in ROOTS:
        _collect(root, packages)
    listed = sorted(packages.values(), key=lambda component: component.name.casefold())
    python = Component("Python", platform.python_version(), "PSF-2.0")
    return (Component(NAME, VERSION, LICENCE), *_model(), python, *listed)


def _model() -> tuple[Component, ...]:
    try:
        header = read_header(default_model())
    except Failure:
        return ()
    return (Component(title_of(header.path), "", str(header.metadata.get("general.license", "?"))),)


def _collect(name: str, packages: dict[str, Component]) -> None:
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in packages:
        return
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:  # one for another system, or a library that was left out
        return
    packages[key] = Component(found.name, found.version, licence_of(found.metadata))
    if key in INSIDE:
        inside, licence = INSIDE[key]
        packages[f"{key}, inside"] = Component(f"{inside} (in {found.name})", "", licence)
    for requirement in found.requires or ():
        wanted = re.match(r"[\w.-]+", requirement)
        if wanted and "extra ==" not in requirement:
            _collect(wanted[0], packages)


def licence_of(said: metadata.PackageMetadata) -> str:
    """Packages say it in one of three places; a whole licence text instead of its name is no use here."""
    for field in ("License-Expression", "License"):
        text = str(said[field] or "").strip() if field in said else ""
        if text and "\n" not in text and len(text) <= LONGEST:
            return text
    names = [line.split("::")[-1].strip() for line in said.get_all("Classifier") or () if line.startswith("License ::")]
    return ", ".join(names) or "?"
