"""F1: all commands with their keys, made of the one table, and the keys that are no command."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFrame, QGridLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.commands.commands import COMMANDS, IN_PLACE, MENUS, PLACES, keys_of, title_of
from app.look.live import Live, native, plain
from app.look.theme import SIZES
from app.words import tr


class HelpSheet(Live, QDialog):
    """Not modal: it may stay open beside the work. `lines` are pairs of what is done and by which keys."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sheet")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.lines: list[tuple[str, str]] = []
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.close_button = QPushButton(self)
        self.close_button.setProperty("kind", "step")
        self.close_button.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap_m)
        layout.addWidget(self._area, 1)
        row = QVBoxLayout()
        row.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
        row.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignRight)
        layout.addLayout(row)
        self.apply_look()
        self.close_button.setFocus()

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self._area.setAccessibleName(tr("Keyboard shortcuts"))
        self.close_button.setText(tr("Close"))
        self._fill()

    def restyle(self) -> None:
        room = self.screen().availableSize()
        self.resize(min(SIZES.dialog, room.width()), min(SIZES.dialog_height, room.height() * 9 // 10))

    def _fill(self) -> None:
        self.lines = []
        sheet = QWidget()
        sheet.setObjectName("sheetRows")
        grid = QGridLayout(sheet)
        grid.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, SIZES.gap)
        grid.setVerticalSpacing(SIZES.gap_s)
        grid.setColumnStretch(0, 1)
        for menu, title in MENUS.items():
            self._heading(grid, plain(tr(title)))
            for command in COMMANDS:
                if command.menu == menu and command.name:
                    self._line(grid, title_of(command.name), keys_of(command.name))
        for place, title in PLACES.items():
            self._heading(grid, tr(title))
            for key in IN_PLACE:
                if key.place == place:
                    self._line(grid, tr(key.title), native(key.keys))
        grid.setRowStretch(grid.rowCount(), 1)
        self._area.setWidget(sheet)

    def _heading(self, grid: QGridLayout, title: str) -> None:
        label = QLabel(title)
        label.setObjectName("settingsSection")
        label.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_s)
        grid.addWidget(label, grid.rowCount(), 0, 1, 2)

    def _line(self, grid: QGridLayout, title: str, keys: list[str]) -> None:
        self.lines.append((title, ", ".join(keys)))
        row = grid.rowCount()
        for column, (text, name) in enumerate(((title, "sheetWords"), ("   ".join(keys), "sheetKeys"))):
            label = QLabel(text)
            label.setObjectName(name)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(column == 0)
            grid.addWidget(label, row, column)
