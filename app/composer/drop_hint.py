"""Files dropped anywhere on the window: a hint over the page while they hover, their paths when they are let go."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from app.look.theme import SIZES
from app.words import tr


def local_files(data: QMimeData) -> list[Path]:
    """The files on this computer that are being dropped or pasted."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()] if data.hasUrls() else []


class DropHint(QFrame):
    """Covers `window` while files hover over it; `dropped` carries their paths."""

    dropped = Signal(list)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("dropHint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._window = window
        self.words = QLabel(self)
        self.words.setObjectName("dropWords")
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl)
        layout.addWidget(self.words)
        window.setAcceptDrops(True)
        window.installEventFilter(self)
        self.retranslate()
        self.hide()

    def retranslate(self) -> None:
        self.words.setText(tr("Drop files to attach them"))

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent):  # enter and move are drops too, to Qt
            return self._drag(event)
        if event.type() in (QEvent.Type.DragLeave, QEvent.Type.Hide):
            self.hide()
        return False

    def _drag(self, event: QDropEvent) -> bool:
        files = local_files(event.mimeData())
        if not files:
            return False
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if isinstance(event, QDragEnterEvent | QDragMoveEvent):
            self._cover()
        else:
            self.hide()
            self.dropped.emit(files)
        return True

    def _cover(self) -> None:
        self.setGeometry(self._window.rect().adjusted(SIZES.gap, SIZES.gap, -SIZES.gap, -SIZES.gap))
        self.show()
        self.raise_()
