"""What this is, and the versions and licences of all it is made of; can be copied, asks nobody."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.commands.bundled import NAME, VERSION, Component, components
from app.look.icons import bird
from app.look.theme import SIZES
from app.services.background import Background
from app.settings.schema import choice_words
from app.words import mark, tr
from engine.protocol import Limit, ModelInfo

MEANS: dict[Limit, str] = {"files": "Landlock", "network": "seccomp"}
LINE = mark("Private chat on the laptop you already have. No account; nothing you write leaves this computer.")


def confinement(limits: tuple[Limit, ...]) -> str:
    """The sentence that says what the engine may and may not do on this system."""
    how = ", ".join(MEANS[limit] for limit in limits if limit in MEANS)
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


class About(QDialog):
    """`text` is what Copy copies; `model`: the loaded one, whose library and kernels are named; `limits`: what
    the system refuses the engine, None where none has run yet."""

    def __init__(
        self, parent: QWidget, model: ModelInfo | None = None, limits: tuple[Limit, ...] | None = None
    ) -> None:
        super().__init__(parent)
        self._model, self._limits = model, limits
        self.setObjectName("about")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._bird = QLabel(self)
        self._title = self._label("welcomeTitle", f"{NAME} {VERSION}")
        self._line = self._label("welcomeHint")
        self.computing = self._label("welcomeHint")
        self.confined = self._label("welcomeHint")
        self._heading = self._label("settingsSection")
        self.list = QPlainTextEdit(self)
        self.list.setObjectName("licences")
        self.list.setReadOnly(True)
        self.list.setTabChangesFocus(True)
        flags = Qt.TextInteractionFlag
        self.list.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.copy_button, self.close_button = QPushButton(self), QPushButton(self)
        self.copy_button.clicked.connect(self.copy)
        self.close_button.clicked.connect(self.accept)
        self._layout()
        self.retranslate()
        self.restyle()
        self.copy_button.setEnabled(False)
        self.close_button.setFocus()
        self._background = Background(self)
        self._background.run(components, self._show)  # reads what a hundred packages say of themselves: 50 ms

    @property
    def text(self) -> str:
        parts = (self.computing.text(), self.confined.text(), self.list.toPlainText())
        return "\n".join(part for part in parts if part)

    def _show(self, found: tuple[Component, ...]) -> None:
        self.list.setPlainText("\n".join(map(str, found)))
        self.copy_button.setEnabled(True)

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("About Chickadee"))
        self._bird.setAccessibleName(tr("A chickadee"))
        self._line.setText(tr(LINE))
        self.computing.setText(self._computing())
        self.computing.setVisible(self._model is not None)
        self.confined.setText("" if self._limits is None else confinement(self._limits))
        self.confined.setVisible(self._limits is not None)
        self._heading.setText(tr("Components and their licences"))
        self.list.setAccessibleName(self._heading.text())
        self.copy_button.setText(tr("Copy"))
        self.copy_button.setAccessibleName(tr("Copy versions and licences"))
        self.close_button.setText(tr("Close"))

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
        room = self.screen().availableSize()
        self._bird.setPixmap(bird(SIZES.bird))
        self.resize(min(SIZES.dialog, room.width()), min(SIZES.dialog_height * 4 // 5, room.height() * 9 // 10))

    def _label(self, name: str, text: str = "") -> QLabel:
        label = QLabel(text, self)
        label.setObjectName(name)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        return label

    def _layout(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(SIZES.gap_s)
        words.addStretch(1)
        words.addWidget(self._title)
        words.addWidget(self._line)
        words.addWidget(self.computing)
        words.addWidget(self.confined)
        words.addStretch(1)
        top = QHBoxLayout()
        top.setSpacing(SIZES.gap_l)
        top.addWidget(self._bird)
        top.addLayout(words, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(SIZES.gap)
        buttons.addWidget(self.copy_button)
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_xl, SIZES.gap_l, SIZES.gap_xl, SIZES.gap_m)
        layout.setSpacing(SIZES.gap)
        layout.addLayout(top)
        layout.addWidget(self._heading)
        layout.addWidget(self.list, 1)
        layout.addLayout(buttons)
        for button in (self.copy_button, self.close_button):
            button.setProperty("kind", "step")
            button.setAutoDefault(False)
