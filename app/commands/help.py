"""Dialogs of the help menu: all commands with their keys, all components with versions and licences."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from importlib import metadata

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.commands.commands import COMMANDS, FOCUS_AREAS, FOCUS_KEYS, MENUS, keys_of, title_of
from app.look.live import native_keys, without_mnemonic
from app.look.sheet import Button, Sheet, inset, label
from app.look.theme import SIZES, bird
from app.services.background import Background
from app.settings.schema import choice_words
from app.words import mark, tr
from common.failures import Failure
from common.version import VERSION
from engine.protocol.events import ModelInfo
from engine.protocol.requests import Limit
from models import titles
from models.default import default_model
from models.header import read_header
from models.licences import licence_name

NAME, LICENCE = "Chickadee", "MIT"
# The project's requirements (a test compares them with pyproject.toml); theirs are found from the metadata.
ROOTS = (
    "PySide6-Essentials", "llama-cpp-python", "ik-llama-cpp-python", "anyio", "charset-normalizer", "filelock", "gguf",
    "h11", "httpx", "httpx-sse", "httpx2", "importlib-metadata", "jeepney", "keyring", "llguidance", "markdown-it-py",
    "mcp", "mdit-py-plugins", "miniaudio", "msgspec", "numpy", "platformdirs", "psutil", "Pygments", "pypdfium2",
    "pyqtgraph", "python-docx", "pywhispercpp", "requests", "starlette", "tomlkit", "uvicorn", "ziamath",
)  # fmt: skip
BUNDLED = {  # libraries inside a package, with their licence
    "pyside6-essentials": ("Qt", "LGPL-3.0-only"),
    "llama-cpp-python": ("llama.cpp, ggml", "MIT"),
    "ik-llama-cpp-python": ("ik_llama.cpp", "MIT"),
    "pywhispercpp": ("whisper.cpp, ggml", "MIT"),
}
MAX_NAME = 80
MECHANISMS: dict[Limit, str] = {"files": "Landlock", "network": "seccomp"}
LINE = mark(
    "Private chat on the laptop you already have. No account; what you write stays on this computer, unless you "
    "connect a server."
)


class HelpSheet(Sheet):
    """Sheet of all commands with their keys, and of the keys that are no command.

    The sheet is not modal and may stay open. `lines` are pairs of a title and its keys.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sheet")
        self.lines: list[tuple[str, str]] = []
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.close_button = Button(self, mark("Close"), self.accept)
        self.lay_out(self._area, (None, self.close_button))
        self.apply_look()
        self.close_button.setFocus()

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self._area.setAccessibleName(tr("Keyboard shortcuts"))
        self._fill()

    def _fill(self) -> None:
        self.lines = []
        sheet = QWidget()
        sheet.setObjectName("sheetRows")
        grid = QGridLayout(sheet)
        grid.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, SIZES.gap)
        grid.setVerticalSpacing(SIZES.gap_s)
        grid.setColumnStretch(0, 1)
        for menu, title in MENUS.items():
            self._heading(grid, without_mnemonic(tr(title)))
            for command in COMMANDS:
                if command.menu == menu and command.name:
                    self._line(grid, title_of(command.name), keys_of(command.name))
        for area, title in FOCUS_AREAS.items():
            self._heading(grid, tr(title))
            for key in FOCUS_KEYS:
                if key.area == area:
                    self._line(grid, tr(key.title), native_keys(key.keys))
        grid.setRowStretch(grid.rowCount(), 1)
        self._area.setWidget(sheet)

    def _heading(self, grid: QGridLayout, title: str) -> None:
        part = label("settingsSection", None, title)
        part.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_s)
        grid.addWidget(part, grid.rowCount(), 0, 1, 2)

    def _line(self, grid: QGridLayout, title: str, keys: list[str]) -> None:
        self.lines.append((title, ", ".join(keys)))
        row = grid.rowCount()
        for column, (text, name) in enumerate(((title, "sheetWords"), ("   ".join(keys), "sheetKeys"))):
            part = label(name, None, text)
            part.setWordWrap(column == 0)
            grid.addWidget(part, row, column)


def confinement(limits: tuple[Limit, ...]) -> str:
    """Return the sentence that says what the system lets the engine do."""
    how = ", ".join(MECHANISMS[limit] for limit in limits if limit in MECHANISMS)
    if {"files", "network"} <= set(limits):
        return tr(
            "The system lets the engine open only models and its own files, and no network connections ({how}).",
            how=how,
        )
    if "network" in limits:
        return tr(
            "The system keeps the engine from opening network connections ({how}), but does not "
            "restrict which files it opens.",
            how=how,
        )
    if "files" in limits:
        return tr(
            "The system lets the engine open only models and its own files ({how}), but does not restrict network "
            "connections.",
            how=how,
        )
    if "integrity" in limits:
        return tr("The engine runs at the low integrity level of Windows: it can change only its own files.")
    return tr("This system does not restrict the engine.")


class About(Sheet):
    """Dialog with versions, licences and what the engine runs on; `text` is what the Copy button copies.

    `model` is the loaded model, whose library and kernels are named; `limits` is what the system denies the engine,
    None if the engine has not run yet.
    """

    def __init__(
        self, parent: QWidget, model: ModelInfo | None = None, limits: tuple[Limit, ...] | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self.setObjectName("about")
        self._bird = QLabel(self)
        self._title = label("welcomeTitle", self, f"{NAME} {VERSION}")
        self._line = label("welcomeHint", self, lambda: tr(LINE))
        self.computing = label("welcomeHint", self)
        self.computing.say(self._computing)
        self.confined = label("welcomeHint", self)
        self.confined.say("" if limits is None else lambda: confinement(limits))
        self._heading = label("settingsSection", self, lambda: tr("Components and their licences"))
        self.list = QPlainTextEdit(self)
        self.list.setObjectName("licences")
        self.list.setReadOnly(True)
        self.list.setTabChangesFocus(True)
        flags = Qt.TextInteractionFlag
        self.list.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.copy_button = Button(self, mark("Copy"), self.copy)
        self.close_button = Button(self, mark("Close"), self.accept)
        self._layout()
        self.apply_look()
        self.copy_button.setEnabled(False)
        self.close_button.setFocus()
        self._background = Background(self)
        self._background.run(components, self._show)  # reads the metadata of a hundred packages: 50 ms

    @property
    def text(self) -> str:
        parts = (self.computing.text(), self.confined.text(), self.list.toPlainText())
        return "\n".join(part for part in parts if part)

    def _show(self, components: tuple[Component, ...]) -> None:
        self.list.setPlainText("\n".join(map(str, components)))
        self.copy_button.setEnabled(True)

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("About Chickadee"))
        self._bird.setAccessibleName(tr("A chickadee"))
        self.list.setAccessibleName(tr("Components and their licences"))
        self.copy_button.setAccessibleName(tr("Copy versions and licences"))

    def _computing(self) -> str:
        if self._model is None:
            return ""
        library, kernels = choice_words("backend", self._model.backend), self._model.kernels
        if kernels in ("", "compiled in"):
            return tr("The loaded model runs on {library}.", library=library)
        return tr(
            "The loaded model runs on {library}, with kernels for this processor: {kernels}.",
            library=library,
            kernels=kernels,
        )

    def restyle(self) -> None:
        self._bird.setPixmap(bird(SIZES.bird))
        super().restyle()

    def _layout(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(SIZES.gap_s)
        words.addStretch(1)
        for each in (self._title, self._line, self.computing, self.confined):
            words.addWidget(each)
        words.addStretch(1)
        top = inset(self._bird)
        top.setSpacing(SIZES.gap_l)
        top.addLayout(words, 1)
        self.lay_out(top, self._heading, self.list, (self.copy_button, None, self.close_button), gap=SIZES.gap)


# --- what it is made of, as the installed packages say ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    version: str
    licence: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}: {self.licence}" if self.version else f"{self.name}: {self.licence}"


def components() -> tuple[Component, ...]:
    """Return Chickadee, the built-in model, Python, and all packages sorted by name."""
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
    return (
        Component(titles.title_of(header.path), "", licence_name(str(header.metadata.get("general.license", "?")))),
    )


def _collect(name: str, packages: dict[str, Component]) -> None:
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in packages:
        return
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:  # for another system, or a library that is not installed
        return
    packages[key] = Component(package.name, package.version, licence_of(package.metadata))
    if key in BUNDLED:
        bundled, licence = BUNDLED[key]
        packages[f"{key}, inside"] = Component(f"{bundled} (in {package.name})", "", licence)
    for requirement in package.requires or ():
        required = re.match(r"[\w.-]+", requirement)
        if required and "extra ==" not in requirement:
            _collect(required[0], packages)


def licence_of(package: metadata.PackageMetadata) -> str:
    """Return the licence's name from the first of three metadata fields that has one; "?" if none has.

    A field that contains the whole text of a licence is skipped.
    """
    for field in ("License-Expression", "License"):
        text = str(package[field] or "").strip() if field in package else ""
        if text and "\n" not in text and len(text) <= MAX_NAME:
            return text
    names = [
        line.split("::")[-1].strip() for line in package.get_all("Classifier") or () if line.startswith("License ::")
    ]
    return ", ".join(names) or "?"
