"""The quiet line above the composer that names the model of the open chat while another one is loaded."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import Button, fill, label
from app.look.theme import SIZES
from app.words import tr


class ChatModelLine(Live, QWidget):
    """Line like “This chat last used Qwen3 4B · Switch back”; hidden while the chat's own model is loaded.

    `switch_requested` is emitted when the user wants the chat's model back. There is no button for a model whose file
    is gone.
    """

    switch_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatModel")
        self._model, self._here, self._remote, self._wanted = "", False, False, False
        self.text = label("progressText", self)
        self.text.setWordWrap(False)
        self.button = Button(self, "", self.switch_requested.emit, "quiet")
        fill(QHBoxLayout(self), self.text, self.button, None, gap=0, margins=(SIZES.gap, 0, SIZES.gap, 0))
        self.apply_look()
        self.hide()

    def show_model(self, model: str, here: bool, remote: bool = False, wanted: bool = False) -> None:
        """Name the chat's model; `here` is whether its file is on this computer. "" hides the line.

        For a `remote` model it is whether its server is still in the list of models. A chat that was not answered yet
        has a `wanted` model.
        """
        self._model, self._here, self._remote, self._wanted = model, here, remote, wanted
        self.retranslate()
        self.setVisible(bool(model))

    def retranslate(self) -> None:
        was = tr("This chat last used {model}", model=self._model)
        was = tr("This project uses {model}", model=self._model) if self._wanted else was
        gone = tr("{was} (server removed)", was=was) if self._remote else tr("{was} (not on this computer)", was=was)
        self.text.setText(f"{was} ·" if self._here else gone)
        self.button.setText(tr("Use it") if self._wanted else tr("Switch back"))
        name = tr("Use {model}", model=self._model) if self._wanted else tr("Switch back to {model}", model=self._model)
        self.button.setAccessibleName(name)
        self.button.setVisible(self._here)
