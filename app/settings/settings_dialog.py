"""All settings in one dialog that can be searched; what is changed applies at once. Thin over `settings.settings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.look.theme import SIZES
from app.settings.schema import SECTIONS, SETTINGS
from app.settings.setting import Value
from app.settings.setting_row import SettingRow
from app.settings.settings import Settings
from app.words import mark, told, tr
from models.failures import Failure

RESET_ALL = mark("Reset all to what the machine suggests")
UNDO_RESET = mark("Undo the reset")


class SettingsDialog(QDialog):
    """`file` asks to open the settings' file."""

    file = Signal()

    def __init__(self, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.settings = settings
        self._before_reset: Mapping[str, Value] = {}
        self.search = QLineEdit(self)
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.problem = self._label("problem")
        self.note = self._label("settingHelp")
        self.nothing = self._label("nothingFound")
        self.rows = {setting.name: SettingRow(setting, self) for setting in SETTINGS}
        self._headings = {section: self._label("settingsSection") for section in SECTIONS}
        for row in self.rows.values():
            row.changed.connect(self._change)
            row.reset.connect(lambda name: self._do(lambda: self.settings.reset([name])))
        self._layout()
        settings.listeners.append(self.show_values)
        self.retranslate()
        self.search.setFocus()

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Settings"))
        self.search.setPlaceholderText(tr("Search settings"))
        self.search.setAccessibleName(tr("Search settings"))
        self.nothing.setText(tr("No setting has these words."))
        self.open_file.setText(tr("Open file"))
        self.close_button.setText(tr("Close"))
        for section, heading in self._headings.items():
            heading.setText(tr(SECTIONS[section]))
        for row in self.rows.values():
            row.retranslate()
        self.show_values()
        self._filter(self.search.text())

    def restyle(self) -> None:
        """Other colours or sizes."""
        for row in self.rows.values():
            row.restyle()

    def show_values(self) -> None:
        for name, row in self.rows.items():
            row.show_value(self.settings.values[name], self.settings.differs(name))
        self._tell(self.problem, " ".join(self.settings.problems))
        self.reset_all.setText(tr(UNDO_RESET if self._before_reset else RESET_ALL))
        self.reset_all.setEnabled(bool(self._before_reset) or any(map(self.settings.differs, self.rows)))

    def suggest(self, words: Mapping[str, str]) -> None:
        """Say what automatic comes to, by the names of settings."""
        for name, row in self.rows.items():
            row.suggest(words.get(name, ""))

    def done(self, result: int) -> None:
        """Closing: a value that was typed but not yet confirmed counts, a wrong one does not."""
        for row in self.rows.values():
            row.control.commit()
        if self.show_values in self.settings.listeners:
            self.settings.listeners.remove(self.show_values)
        super().done(result)

    def _change(self, name: str, value: Value) -> None:
        if value != self.settings.values[name]:
            self._do(lambda: self.settings.change({name: value}))
        else:
            self.show_values()

    def _reset_all(self) -> None:
        if self._before_reset:
            before = self._before_reset
            self._do(lambda: self.settings.change(before))
            return
        before = {name: value for name, value in self.settings.values.items() if self.settings.differs(name)}
        self._do(self.settings.reset, before)

    def _do(self, work: Callable[[], str], undo: Mapping[str, Value] | None = None) -> None:
        """Change the file; `undo` are the values that would take a reset back."""
        kept, self._before_reset = self._before_reset, undo or {}
        try:
            self._tell(self.note, work())
        except Failure as failure:
            self._before_reset = kept
            self._tell(self.note, told(str(failure)))
        self.show_values()

    def _filter(self, words: str) -> None:
        found = {name for name, row in self.rows.items() if row.matches(words, tr(SECTIONS[row.setting.section]))}
        for name, row in self.rows.items():
            row.setVisible(name in found)
        for section, heading in self._headings.items():
            heading.setVisible(any(name.startswith(section + ".") for name in found))
        self.nothing.setVisible(not found)

    def _tell(self, label: QLabel, sentence: str) -> None:
        label.setText(sentence)
        label.setVisible(bool(sentence))

    def _label(self, name: str) -> QLabel:
        label = QLabel(self)
        label.setObjectName(name)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    # --- layout -----------------------------------------------------------------------------------------------------

    def _layout(self) -> None:
        room = self.screen().availableSize()
        self.resize(min(SIZES.dialog, room.width()), min(SIZES.dialog_height, room.height() * 9 // 10))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap_m)
        layout.setSpacing(SIZES.gap_m)
        top = QHBoxLayout()
        top.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
        top.addWidget(self.search)
        layout.addLayout(top)
        for label in (self.problem, self.note):
            label.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
            layout.addWidget(label)
        layout.addWidget(self._scrolled(), 1)
        layout.addLayout(self._below())

    def _scrolled(self) -> QScrollArea:
        rows = QWidget()
        rows.setObjectName("settingRows")
        column = QVBoxLayout(rows)
        column.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl - SIZES.scroll_bar, SIZES.gap)
        column.setSpacing(0)
        for section, heading in self._headings.items():
            heading.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap)
            column.addWidget(heading)
            for row in self.rows.values():
                if row.setting.section == section:
                    column.addWidget(row)
        column.addWidget(self.nothing)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setObjectName("settingsArea")
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # so that a search moves nothing aside
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(rows)
        return area

    def _below(self) -> QHBoxLayout:
        self.open_file = self._button(self.file.emit)
        self.open_file.setToolTip(str(self.settings.path))
        self.reset_all = self._button(self._reset_all)
        self.close_button = self._button(self.accept)
        row = QHBoxLayout()
        row.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
        row.setSpacing(SIZES.gap)
        row.addWidget(self.open_file)
        row.addWidget(self.reset_all)
        row.addStretch(1)
        row.addWidget(self.close_button)
        return row

    def _button(self, work: Callable[[], object]) -> QPushButton:
        button = QPushButton(self)
        button.setProperty("kind", "step")
        button.setAutoDefault(False)  # Enter confirms the value that is typed
        button.clicked.connect(lambda: work())
        return button
