"""The page that lists what is kept on this computer, with sizes, a way to the folder and a way to delete it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.byte_words import in_bytes
from app.library.kept_files import Kind
from app.look.theme import SIZES
from app.words import tr, tr_n


class KeptRow(QFrame):
    """One kind of files. Delete asks in its own place and is done at the second press; Keep takes it back."""

    opened = Signal(str)
    deleted = Signal(str)

    def __init__(self, kind: Kind, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settingRow")
        self.kind = kind
        self._asking = False
        self.title, self.help, self.total, self.path = (QLabel(self) for _ in range(4))
        for label, name in (
            (self.title, "settingTitle"),
            (self.help, "settingHelp"),
            (self.path, "settingHelp"),
            (self.total, "settingHelp"),
        ):
            label.setObjectName(name)
        for label in (self.help, self.path):
            label.setWordWrap(True)
        for label in (self.title, self.help, self.total, self.path):
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.path.setText(str(kind.folder))
        self.path.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.open_button, self.delete_button, self.keep_button = (QPushButton(self) for _ in range(3))
        for button in (self.open_button, self.delete_button, self.keep_button):
            button.setProperty("kind", "step")
            button.setAutoDefault(False)
        self.open_button.clicked.connect(lambda: self.opened.emit(kind.name))
        self.delete_button.clicked.connect(self._delete)
        self.keep_button.clicked.connect(lambda: self._ask(False))
        self._layout()
        self.retranslate()

    def show_size(self, count: int, size: int) -> None:
        files = tr_n("{n} file", "{n} files", count)
        self.total.setText(tr("{files}, {size}", files=files, size=in_bytes(size)) if count else tr("Nothing"))
        self.delete_button.setEnabled(count > 0)

    def retranslate(self) -> None:
        title = tr(self.kind.title)
        self.title.setText(title)
        self.open_button.setText(tr("Open folder"))
        self.open_button.setAccessibleName(tr("Open the folder of {kind}", kind=title))
        self.keep_button.setText(tr("Keep"))
        self._ask(self._asking)

    def _delete(self) -> None:
        if self._asking:
            self._ask(False)
            self.deleted.emit(self.kind.name)
        else:
            self._ask(True)

    def _ask(self, asking: bool) -> None:
        self._asking = asking
        self.help.setText(tr(self.kind.question if asking else self.kind.help))
        self.delete_button.setText(tr("Delete for good") if asking else tr("Delete…"))
        self.delete_button.setAccessibleName(tr("Delete {kind}", kind=tr(self.kind.title)))
        self.delete_button.setVisible(bool(self.kind.question))
        self.keep_button.setVisible(asking)
        if asking:
            self.keep_button.setFocus()

    def _layout(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(SIZES.gap_s)
        top = QHBoxLayout()
        top.addWidget(self.title, 1)
        top.addWidget(self.total)
        words.addLayout(top)
        words.addWidget(self.help)
        below = QHBoxLayout()
        below.setSpacing(SIZES.gap)
        below.addWidget(self.path, 1)
        for button in (self.open_button, self.keep_button, self.delete_button):
            below.addWidget(button)
        words.addLayout(below)
        words.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_m)
        self.setLayout(words)


class KeptSheet(QDialog):
    """`opened` and `deleted` carry a kind's name."""

    opened = Signal(str)
    deleted = Signal(str)

    def __init__(self, kinds: Iterable[Kind], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.rows = {kind.name: KeptRow(kind, self) for kind in kinds}
        self.line, self.note = QLabel(self), QLabel(self)
        for label in (self.line, self.note):
            label.setObjectName("settingHelp")
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self.close_button = QPushButton(self)
        self.close_button.setProperty("kind", "step")
        self.close_button.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_xl, SIZES.gap_l, SIZES.gap_xl, SIZES.gap_m)
        layout.setSpacing(0)
        layout.addWidget(self.line)
        layout.addSpacing(SIZES.gap_m)
        for row in self.rows.values():
            row.opened.connect(self.opened)
            row.deleted.connect(self.deleted)
            layout.addWidget(row)
        layout.addWidget(self.note)
        layout.addStretch(1)
        layout.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignRight)
        self.retranslate()
        self.restyle()
        self.close_button.setFocus()

    def show_sizes(self, sizes: Mapping[str, tuple[int, int]]) -> None:
        for name, row in self.rows.items():
            row.show_size(*sizes.get(name, (0, 0)))

    def tell(self, sentence: str) -> None:
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))

    def retranslate(self) -> None:
        self.setWindowTitle(tr("What is kept on this computer"))
        self.line.setText(tr("All of it stays on this computer, in files that only you can read."))
        self.close_button.setText(tr("Close"))
        for row in self.rows.values():
            row.retranslate()

    def restyle(self) -> None:
        self.setMinimumWidth(min(SIZES.dialog, self.screen().availableSize().width()))
