"""One model's options: each with a sentence of help, and what they come to in memory while they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.look.theme import SIZES
from app.model_library.model_rows import title_of, tone_of, verdict_words
from app.model_library.model_settings import ModelSettings, settings_for
from app.settings.setting import Setting, Value
from app.settings.setting_row import SettingRow
from app.words import mark, told, tr
from models.byte_sizes import show_bytes
from models.collection import LocalModel
from models.failures import Failure
from models.verdict import Verdict

PARTS = {
    "weights": mark("weights"),
    "kv": mark("keys and values"),
    "draft": mark("draft model"),
    "rest": mark("the rest"),
}
WEIGHTS = ("weights_mapped", "weights_read", "weights_repacked")
KV = ("kv", "kv_compressed")


class ModelOptions(QDialog):
    """`changed` says that the plan is another one now; `load` asks to load the model."""

    changed = Signal()
    load = Signal()

    def __init__(
        self, model: LocalModel, drafters: Iterable[LocalModel], settings: ModelSettings, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.model = model
        self._settings, self._known = settings, settings_for(drafters)
        self._verdict: Verdict | None = None
        self._loaded = False
        self.rows = {setting.key: SettingRow(setting, self) for setting in self._known}
        for row in self.rows.values():
            row.changed.connect(self._change)
            row.reset.connect(lambda name: self._change(name, self._setting(name).default))
        self.verdict = self._label("verdict")
        self.parts = self._label("settingHelp")
        self.problem = self._label("problem")
        self.reset_button, self.load_button, self.close_button = (self._button() for _ in range(3))
        self.reset_button.clicked.connect(lambda: self._reset())
        self.load_button.clicked.connect(lambda: self.load.emit())
        self.close_button.clicked.connect(self.accept)
        self._layout()
        self.retranslate()
        self.restyle()
        self.show_values()

    @property
    def values(self) -> dict[str, Value]:
        return self._settings.values(self.model.path, self._known)

    def show_values(self) -> None:
        values = self.values
        for setting in self._known:
            value = values[setting.key]
            self.rows[setting.key].show_value(value, value != setting.default)
        self.reset_button.setEnabled(any(values[setting.key] != setting.default for setting in self._known))

    def show_verdict(self, verdict: Verdict | None) -> None:
        """What the options come to; None while it is being worked out."""
        self._verdict = verdict
        self.verdict.setText(verdict_words(verdict))
        self.verdict.setProperty("tone", tone_of(verdict))
        self.verdict.style().unpolish(self.verdict)
        self.verdict.style().polish(self.verdict)
        self.parts.setText(parts_words(verdict) if verdict else "")
        for key, number in (("context", verdict.n_ctx), ("threads", verdict.threads)) if verdict else ():
            self.rows[key].suggest(f"{number:,}" if number else "")

    def show_loaded(self, loaded: bool) -> None:
        """A loaded model takes its options over by itself."""
        self._loaded = loaded
        self.load_button.setVisible(not loaded)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Options of {model}", model=title_of(self.model)))
        for row in self.rows.values():
            row.retranslate()
        self.reset_button.setText(tr("All as in the settings"))
        self.load_button.setText(tr("Load"))
        self.close_button.setText(tr("Close"))
        self.show_verdict(self._verdict)

    def restyle(self) -> None:
        for row in self.rows.values():
            row.restyle()
        room = self.screen().availableSize()
        self.resize(min(SIZES.dialog, room.width()), min(SIZES.dialog_height, room.height() * 9 // 10))

    def done(self, result: int) -> None:
        """Closing: a value that was typed but not yet confirmed counts."""
        for row in self.rows.values():
            row.control.commit()
        super().done(result)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _setting(self, name: str) -> Setting:
        return next(setting for setting in self._known if setting.name == name)

    def _change(self, name: str, value: Value) -> None:
        setting = self._setting(name)
        if value != self.values[setting.key]:
            self._do(lambda: self._settings.change(self.model.path, setting, value))
        else:
            self.show_values()

    def _reset(self) -> None:
        self._do(lambda: self._settings.reset(self.model.path))

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.problem.setText("")
        except Failure as failure:
            self.problem.setText(told(str(failure)))
        self.problem.setVisible(bool(self.problem.text()))
        self.show_values()
        self.changed.emit()

    def _label(self, name: str) -> QLabel:
        label = QLabel(self)
        label.setObjectName(name)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _button(self) -> QPushButton:
        button = QPushButton(self)
        button.setProperty("kind", "step")
        button.setAutoDefault(False)  # Enter confirms the value that is typed
        return button

    def _layout(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap_m)
        layout.setSpacing(SIZES.gap)
        layout.addWidget(self._scrolled(), 1)
        for label in (self.verdict, self.parts, self.problem):
            label.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
            layout.addWidget(label)
        self.problem.hide()
        row = QHBoxLayout()
        row.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
        row.setSpacing(SIZES.gap)
        row.addWidget(self.reset_button)
        row.addStretch(1)
        row.addWidget(self.load_button)
        row.addWidget(self.close_button)
        layout.addLayout(row)

    def _scrolled(self) -> QScrollArea:
        rows = QWidget()
        rows.setObjectName("settingRows")
        column = QVBoxLayout(rows)
        column.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, SIZES.gap)
        column.setSpacing(0)
        for row in self.rows.values():
            column.addWidget(row)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setObjectName("settingsArea")
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(rows)
        return area


def parts_words(verdict: Verdict) -> str:
    """'weights 1.04 GiB · keys and values 896 MiB · the rest 92 MiB · 17.1 GiB can be used'."""
    if not verdict.total_bytes:
        return ""
    parts = dict(verdict.parts)
    sizes = {
        "weights": sum(parts.pop(name, 0) for name in WEIGHTS),
        "kv": sum(parts.pop(name, 0) for name in KV),
        "draft": sum(parts.pop(name) for name in list(parts) if name.startswith("draft_")),
        "rest": sum(parts.values()),
    }
    said = [f"{tr(PARTS[name])} {show_bytes(size)}" for name, size in sizes.items() if size]
    said.append(tr("{size} can be used", size=show_bytes(verdict.available_bytes)))
    return "\n".join((" · ".join(said), *(told(note) for note in verdict.notes)))
