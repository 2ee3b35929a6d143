"""The question above the composer that a chat asks once for each server: may this server read the chat?"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from app.look.live import Live
from app.look.speech import announce
from app.look.theme import SIZES
from app.words import tr


class ConsentLine(Live, QFrame):
    """Question with two answers; hidden while nothing is asked. Signals: `agreed` and `refused`."""

    agreed = Signal()
    refused = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._host = ""
        self.text = QLabel(self)
        self.text.setObjectName("noticeText")
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.agree_button, self.refuse_button = QPushButton(self), QPushButton(self)
        for button, kind in ((self.refuse_button, "quiet"), (self.agree_button, "step")):
            button.setAutoDefault(True)  # Return presses it, as Space does
            button.setProperty("kind", kind)
        self.agree_button.clicked.connect(self.agreed)
        self.refuse_button.clicked.connect(self.refused)
        row = QHBoxLayout(self)
        row.setContentsMargins(SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap)
        row.setSpacing(SIZES.gap)
        row.addWidget(self.text, 1)
        for button in (self.refuse_button, self.agree_button):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.apply_look()
        self.hide()

    def ask(self, host: str) -> None:
        """Ask whether the server `host` may read the open chat; "" hides the question."""
        if host == self._host:
            return
        self._host = host
        self.retranslate()
        self.setVisible(bool(host))
        if host:
            announce(self, self.text.text())  # the focus stays where it is: no other key consents

    def retranslate(self) -> None:
        self.text.setText(
            tr(
                "Send this chat to {host}? That server then reads its messages, files and instructions.",
                host=self._host,
            )
        )
        self.agree_button.setText(tr("Send"))
        self.refuse_button.setText(tr("Do not send"))
