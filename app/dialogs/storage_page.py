"""The page of the settings that lists what is kept on this computer, with sizes and a way to delete it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.dialogs.dialog import Section, button, label
from app.look.live import Live
from app.look.theme import SIZES
from app.store.kept_files import Kind
from app.words import Saying, in_bytes, said, tr, tr_n

Action = Literal["open", "delete"]


class StorageRow(Live, QFrame):
    """One kind of files. Delete asks in its own place and is done at the second press; Keep takes it back."""

    def __init__(self, kind: Kind, page: StoragePage) -> None:
        super().__init__(page)
        self.setObjectName("settingRow")
        self.kind, self._page = kind, page
        self._asking, self._size = False, (0, 0)
        self.title = label("settingTitle", self)
        self.help, self.total, self.path = (label("settingHelp", self) for _ in range(3))
        self.total.setWordWrap(False)
        self.path.setText(str(kind.folder))
        self.path.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.open_button = button(self, lambda: page.asked.emit(kind.name, "open"))
        self.keep_button = button(self, lambda: self._ask(False))
        self.delete_button = button(self, self._delete)
        self._layout()
        self.apply_look()

    def show_size(self, count: int, size: int) -> None:
        self._size = count, size
        files = tr_n("{n} file", "{n} files", count)
        self.total.setText(tr("{files}, {size}", files=files, size=in_bytes(size)) if count else tr("Empty"))
        self.delete_button.setEnabled(count > 0)

    def retranslate(self) -> None:
        title = tr(self.kind.title)
        self.title.setText(title)
        self.open_button.setText(tr("Open folder"))
        self.open_button.setAccessibleName(tr("Open folder: {kind}", kind=title))
        self.keep_button.setText(tr("Cancel"))
        self.show_size(*self._size)
        self._ask(self._asking)

    @property
    def said(self) -> str:
        """What a search looks through."""
        return " ".join((tr(self.kind.title), tr(self.kind.help), self.path.text()))

    def _delete(self) -> None:
        if self._asking:
            self._ask(False)
            self._page.asked.emit(self.kind.name, "delete")
        else:
            self._ask(True)

    def _ask(self, asking: bool) -> None:
        self._asking = asking
        self.help.setText(tr(self.kind.question if asking else self.kind.help))
        self.delete_button.setText(tr("Delete permanently") if asking else tr("Delete…"))
        self.delete_button.setAccessibleName(tr("Delete {kind}", kind=tr(self.kind.title)))
        self.delete_button.setVisible(bool(self.kind.question))
        self.keep_button.setVisible(asking)
        if asking:
            self.keep_button.setFocus()

    def _layout(self) -> None:
        words = QVBoxLayout(self)
        words.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_m)
        words.setSpacing(SIZES.gap_s)
        top = QHBoxLayout()
        top.addWidget(self.title, 1)
        top.addWidget(self.total)
        words.addLayout(top)
        words.addWidget(self.help)
        below = QHBoxLayout()
        below.setSpacing(SIZES.gap)
        below.addWidget(self.path, 1)
        for made in (self.open_button, self.keep_button, self.delete_button):
            below.addWidget(made)
        words.addLayout(below)


class StoragePage(Section):
    """`asked` carries a kind's name and an Action."""

    asked = Signal(str, str)

    def __init__(self, kinds: Iterable[Kind], parent: QWidget) -> None:
        super().__init__(parent)
        self.rows = {kind.name: StorageRow(kind, self) for kind in kinds}
        self._said: Saying = ""
        self.line, self.note = label("settingHelp", self), label("settingHelp", self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.line)
        layout.addSpacing(SIZES.gap_m)
        for row in self.rows.values():
            layout.addWidget(row)
        layout.addWidget(self.note)
        self.tell("")
        self.apply_look()

    def show_sizes(self, sizes: Mapping[str, tuple[int, int]]) -> None:
        for name, row in self.rows.items():
            row.show_size(*sizes.get(name, (0, 0)))

    def tell(self, sentence: Saying) -> None:
        self._said = sentence
        self.note.setText(said(sentence))
        self.note.setVisible(bool(sentence))

    def search(self, words: str, section: str) -> bool:
        """Show the rows that have all of `words`; is there one?"""
        wanted = words.casefold().split()
        for row in self.rows.values():
            said = f"{section} {row.said}".casefold()
            row.setVisible(all(word in said for word in wanted))
        return any(not row.isHidden() for row in self.rows.values())

    def retranslate(self) -> None:
        self.note.setText(said(self._said))
        self.line.setText(tr("Everything stays on this computer, in files that only you can read."))
