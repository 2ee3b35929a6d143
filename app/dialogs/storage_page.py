"""The Storage page of the settings: kinds of stored files with their sizes, and buttons that delete them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.dialogs.dialog import Section
from app.look.live import Live
from app.look.sheet import Button, fill, has_words, label
from app.look.theme import SIZES
from app.store.kept_files import FileKind
from app.words import mark, tr, tr_n
from common.byte_sizes import show_bytes

Action = Literal["open", "delete"]
ABOUT = mark("Everything stays on this computer, in files that only you can read.")


class StorageRow(Live, QFrame):
    """Row of one kind of files. Delete first asks in the same row; a second press deletes, Cancel does not."""

    def __init__(self, kind: FileKind, page: StoragePage) -> None:
        super().__init__(page)
        self.setObjectName("settingRow")
        self.kind, self._page = kind, page
        self._asking, self._size = False, (0, 0)
        self.title = label("settingTitle", self)
        self.help, self.total, self.path = (label("settingHelp", self) for _ in range(3))
        self.total.setWordWrap(False)
        self.path.setText(str(kind.folder))
        self.path.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.open_button = Button(self, mark("Open folder"), lambda: page.action_requested.emit(kind.name, "open"))
        self.cancel_button = Button(self, mark("Cancel"), lambda: self._set_asking(False))
        self.delete_button = Button(self, work=self._delete)
        self._layout()
        self.apply_look()

    def show_size(self, count: int, size: int) -> None:
        self._size = count, size
        files = tr_n("{n} file", "{n} files", count)
        self.total.setText(tr("{files}, {size}", files=files, size=show_bytes(size)) if count else tr("Empty"))
        self.delete_button.setEnabled(count > 0)

    def retranslate(self) -> None:
        title = tr(self.kind.title)
        self.title.setText(title)
        self.open_button.setAccessibleName(tr("Open folder: {kind}", kind=title))
        self.show_size(*self._size)
        self._set_asking(self._asking)

    @property
    def searched_text(self) -> str:
        """The text that a search looks through."""
        return " ".join((tr(self.kind.title), tr(self.kind.help), self.path.text()))

    def _delete(self) -> None:
        if self._asking:
            self._set_asking(False)
            self._page.action_requested.emit(self.kind.name, "delete")
        else:
            self._set_asking(True)

    def _set_asking(self, asking: bool) -> None:
        self._asking = asking
        self.help.setText(tr(self.kind.question if asking else self.kind.help))
        self.delete_button.setText(tr("Delete permanently") if asking else tr("Delete…"))
        self.delete_button.setAccessibleName(tr("Delete {kind}", kind=tr(self.kind.title)))
        self.delete_button.setVisible(bool(self.kind.question))
        self.cancel_button.setVisible(asking)
        if asking:
            self.cancel_button.setFocus()

    def _layout(self) -> None:
        top = fill(QHBoxLayout(), (self.title, 1), self.total)
        buttons = (self.open_button, self.cancel_button, self.delete_button)
        below = fill(QHBoxLayout(), (self.path, 1), *buttons, gap=SIZES.gap)
        fill(QVBoxLayout(self), top, self.help, below, gap=SIZES.gap_s, margins=(0, SIZES.gap_m, 0, SIZES.gap_m))


class StoragePage(Section):
    """Section of stored files; `action_requested` carries the name of a kind of files and an Action."""

    action_requested = Signal(str, str)

    def __init__(self, kinds: Iterable[FileKind], parent: QWidget) -> None:
        super().__init__(parent)
        self.rows = {kind.name: StorageRow(kind, self) for kind in kinds}
        self.line = label("settingHelp", self, lambda: tr(ABOUT))
        self.note = label("settingHelp", self)
        fill(QVBoxLayout(self), self.line, SIZES.gap_m, *self.rows.values(), self.note, gap=0)
        self.note.hide()
        self.apply_look()

    def show_sizes(self, sizes: Mapping[str, tuple[int, int]]) -> None:
        for name, row in self.rows.items():
            row.show_size(*sizes.get(name, (0, 0)))

    def search(self, words: str, section: str) -> bool:
        for row in self.rows.values():
            row.setVisible(has_words(words, f"{section} {row.searched_text}"))
        return any(not row.isHidden() for row in self.rows.values())
