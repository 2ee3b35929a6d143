"""Shows the source of an answer: the file at the passage that the model has read."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from shiboken6 import isValid

from app.attachments.attachment import Attachment
from app.attachments.reader import FileReader, Outcome
from app.dialogs.source_dialog import SourceDialog
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import tr


class SourceController(QObject):
    """Controller of the links below an answer."""

    def __init__(self, window: Window, open_chats: OpenChats) -> None:
        super().__init__(window)
        self._window, self._open_chats = window, open_chats
        self._reader = FileReader(self)

    def close(self) -> None:
        self._reader.close()

    def open(self, message_id: str, number: int, index: int) -> None:
        """Show passage `index` of attachment `number` of the question that the message answers."""
        tree = self._open_chats.current.tree
        question = tree[message_id].parent_id
        sources = tree[question].attachments if question and question in tree else ()
        if number >= len(sources) or not sources[number].path:
            self._window.notice.post(lambda: tr("This source is no longer stored with the question."))
            return
        source = sources[number]
        dialog = SourceDialog(source, max(0, index), self._window)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open_requested.connect(partial(self._open_file, dialog, source))
        dialog.show()
        self._reader.read(Path(source.path), partial(self._show, dialog))

    def _show(self, dialog: SourceDialog, result: Outcome) -> None:
        if not isValid(dialog):  # it was closed while the file was read
            return
        if isinstance(result, Attachment):
            dialog.show_file(result.text)
        elif isinstance(result, str):
            dialog.show_note(result)

    def _open_file(self, dialog: SourceDialog, source: Attachment) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(source.path)):
            dialog.show_note(lambda: tr("No program could open {name}.", name=source.name))
