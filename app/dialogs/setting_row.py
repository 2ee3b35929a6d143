"""Row of one setting in a dialog: title, help, a control to change the value, and a button that resets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPoint, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QStyle,
    QWidget,
)

from app.look.live import Live
from app.look.sheet import Button, Sheet, fill, has_words, label, restyle_by
from app.look.theme import SIZES, icon, theme
from app.services.timers import Debounce
from app.settings.values import allowed, parse, shown
from app.words import UiText, current_text, escaped_html, mark, tr
from engine.protocol.settings import Setting, Value

PAUSE_MS = 500  # pause in typing after which a text is applied
AUTO_SHOWN = mark("Automatic")


class ControlOf(Live):
    """A mixin of the widgets that change a setting: `complete` is emitted when there is a value to apply.

    As here, a value is applied at once; widgets for typed text override `commit` and `mark_settled`.
    """

    def commit(self) -> None:
        """Apply a text that was typed but not yet confirmed."""

    def mark_settled(self) -> None:
        """Mark the typed text as applied or discarded."""


class LineControl(ControlOf, QLineEdit):
    """Line of text for a value; `complete` is Qt's `editingFinished`: Enter, or the focus leaves."""

    def __init__(self, parent: QWidget, narrow: bool = False) -> None:
        super().__init__(parent)
        self._narrow = narrow  # whether a slider stands beside it
        self.complete = self.editingFinished
        self.apply_look()

    def commit(self) -> None:
        self.editingFinished.emit()

    def pending_text(self) -> str | None:
        """Return the typed text that was neither applied nor discarded; None if there is none."""
        return self.text() if self.isModified() else None

    def mark_settled(self) -> None:
        self.setModified(False)

    def show_text(self, text: str) -> None:
        if not self.isModified():  # a text that is being typed or is wrong must stay
            self.setText(text)

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.number if self._narrow else SIZES.input)


class ChoiceControl(ControlOf, QComboBox):
    """Box to choose a value from; `choices` are pairs of a value and the words that are shown for it."""

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self._choices = choices
        for value, words in choices:
            self.addItem(tr(words), value)
        self.complete = self.activated
        self.apply_look()

    def pending_text(self) -> str | None:
        """Return the chosen value; None if the setting's value is not one of the choices."""
        return str(self.currentData()) if self.currentIndex() >= 0 else None

    def show_text(self, text: str) -> None:
        if text:  # a value from settings.toml may not be offered here
            self.offer([text])
        self.setCurrentIndex(self.findData(text))

    def offer(self, values: Sequence[str]) -> None:
        """Offer values beside the setting's own choices; their words are the same in all languages."""
        for value in values:
            if self.findData(value) < 0:
                self.addItem(value, value)

    def retranslate(self) -> None:
        for index, (_, words) in enumerate(self._choices):
            self.setItemText(index, tr(words))

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.input)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        # The arrow is painted here, because a style sheet cannot tint an image.
        arrow = icon("chevron", theme().soft).pixmap(SIZES.icon)
        place = QStyle.alignedRect(
            Qt.LayoutDirection.LeftToRight,
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            arrow.deviceIndependentSize().toSize(),
            self.rect().adjusted(0, 0, -SIZES.gap, 0),
        )
        QPainter(self).drawPixmap(place, arrow)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the page; a choice changed in passing would go unnoticed


class SwitchControl(ControlOf, QCheckBox):
    """Switch of a setting that is on or off."""

    complete = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.clicked.connect(self.complete)
        self.apply_look()

    def pending_text(self) -> str:
        return "on" if self.isChecked() else "off"

    def show_text(self, text: str) -> None:
        self.setChecked(text == "on")

    def restyle(self) -> None:
        self.setFixedSize(SIZES.switch, SIZES.button + SIZES.gap_s)
        self.update()

    def hitButton(self, place: QPoint) -> bool:
        return self.rect().contains(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw a track with a knob; the frame around them shows the focus."""
        painter, colours = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.isEnabled():
            painter.setOpacity(0.5)
        track = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        painter.setPen(QPen(QColor(colours.accent), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.accent if self.isChecked() else colours.soft))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        knob = track.adjusted(3, 3, -3, -3)
        knob.setLeft(knob.right() - knob.height() if self.isChecked() else knob.left())
        knob.setWidth(knob.height())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.paper))
        painter.drawEllipse(knob)


class TextControl(ControlOf, QPlainTextEdit):
    """Text of several lines; `complete` comes after a pause, or when the focus leaves."""

    complete = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self._pause = Debounce(self.commit, PAUSE_MS, self)
        self.textChanged.connect(self._pause.request)
        self.apply_look()

    def commit(self) -> None:
        self._pause.cancel()
        self.complete.emit()

    def pending_text(self) -> str | None:
        """Return the typed text that was neither applied nor discarded; None if there is none."""
        return self.toPlainText() if self.document().isModified() else None

    def mark_settled(self) -> None:
        self.document().setModified(False)

    def show_text(self, text: str) -> None:
        if text != self.toPlainText() and not self.document().isModified():
            self.setPlainText(text)

    def restyle(self) -> None:
        self.setFixedHeight(SIZES.words)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.commit()
        super().focusOutEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.verticalScrollBar().maximum() > 0 and self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class FolderControl(ControlOf, QPushButton):
    """Button with a folder's path, which opens the system's dialog for folders; "" stands for the default folder."""

    complete = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "step")
        self.setAutoDefault(False)
        self._folder = ""
        self._chosen: str | None = None
        self.clicked.connect(self.choose)
        self.apply_look()

    def choose(self) -> None:
        dialog = QFileDialog(self.window(), tr("Choose a folder"), self._folder)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.use)
        dialog.open()

    def use(self, folder: str) -> None:
        """Take the chosen folder."""
        self._chosen = folder
        self.complete.emit()

    def pending_text(self) -> str | None:
        """Return the chosen folder that was not applied yet; None if there is none."""
        return self._chosen

    def mark_settled(self) -> None:
        self._chosen = None

    def show_text(self, text: str) -> None:
        self._folder = text
        self.retranslate()

    def retranslate(self) -> None:
        words = self._folder or tr("Choose…")
        shown = self.fontMetrics().elidedText(words, Qt.TextElideMode.ElideMiddle, SIZES.input - 2 * SIZES.gap_l)
        self.setText(shown.replace("&", "&&"))
        self.setToolTip(escaped_html(self._folder) if self._folder else "")

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.input)
        self.retranslate()


class SettingSlider(Live, QSlider):
    """Slider over the usual numbers of a setting: the lowest, the highest, and the step between two."""

    def __init__(self, numbers: tuple[float, float, float], parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._lowest, highest, self._step = numbers
        self.setRange(0, round((highest - self._lowest) / self._step))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.apply_look()

    @property
    def number(self) -> float:
        return round(self._lowest + self.value() * self._step, 10)

    def show_number(self, number: float) -> None:
        """Move to this number, or to the end that is nearer to it."""
        with QSignalBlocker(self):
            self.setValue(round((number - self._lowest) / self._step))

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.input - SIZES.number - SIZES.gap)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the page


Control = LineControl | ChoiceControl | SwitchControl | TextControl | FolderControl


class SettingRow(Live, QFrame):
    """Row of one setting; `changed` carries the setting's name and its new value, None for the default."""

    changed = Signal(str, object)

    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settingRow")
        self.setting = setting
        self._differs = self._below = False
        self._automatic_value = ""
        self._reason: UiText = ""
        self.control = control_for(setting, self)
        self.slider = SettingSlider(setting.slides, self) if setting.slides else None
        if self.slider is not None:
            self.slider.valueChanged.connect(self._slide)
        self.title = label("settingTitle", self)
        self.title.setBuddy(self.control)
        self.help = label("settingHelp", self)
        self.effect, self.problem = label("settingHelp", self), label("problem", self)
        self.effect.hide()
        self.problem.hide()
        self.reset_button = Button(self, mark("Reset"), self._reset, kind="quiet")
        self.control.complete.connect(self._emit_value)
        self._layout()
        self.apply_look()

    def show_value(self, value: Value, differs: bool) -> None:
        self.control.show_text(shown(self.setting, value))
        if self.slider is not None and isinstance(value, int | float):
            self.slider.show_number(value)
        self._differs = differs
        self.reset_button.setVisible(differs or not self.problem.isHidden())

    def show_automatic_value(self, words: str) -> None:
        """Show the value that Automatic stands for at the moment."""
        self._automatic_value = words
        if isinstance(self.control, LineControl) and self.setting.auto:
            automatic = tr(AUTO_SHOWN)
            self.control.setPlaceholderText(f"{automatic} ({words})" if words else automatic)

    def show_effect(self, words: str) -> None:
        """Show what the value costs in memory or speed."""
        self.effect.say(words)

    def show_unavailable(self, reason: UiText) -> None:
        """Grey the row out and say why; "" makes it available again."""
        self._reason = reason
        for part in (self.title, self.control, self.slider, self.reset_button):
            if part is not None:
                part.setEnabled(not reason)
        self.retranslate()

    def retranslate(self) -> None:
        title, help = tr(self.setting.title), current_text(self._reason) or tr(self.setting.help)
        self.title.setText(title)
        self.help.setText(help)
        self.control.setAccessibleName(title)
        self.control.setAccessibleDescription(help)
        if self.slider is not None:
            self.slider.setAccessibleName(title)
        self.reset_button.setAccessibleName(tr("Reset {setting}", setting=title))
        self.reset_button.setToolTip(tr("Restore the default: {setting}", setting=title))
        self.show_automatic_value(self._automatic_value)

    def matches(self, words: str, section: str) -> bool:
        """Return whether all of `words` occur in the section's title or in the setting's title, name or help."""
        return has_words(words, " ".join((section, tr(self.setting.title), self.setting.name, tr(self.setting.help))))

    def commit(self) -> None:
        """Apply a text that was typed but not yet confirmed; a choice has been applied already."""
        self.control.commit()

    def _slide(self) -> None:
        """Apply the slider's number as if it had been typed."""
        if self.slider is not None and isinstance(self.control, LineControl):
            self._mark_settled()
            self.changed.emit(self.setting.name, parse(self.setting, f"{self.slider.number:.10g}"))

    def _reset(self) -> None:
        self._mark_settled()
        self.changed.emit(self.setting.name, None)
        self.control.setFocus()  # the button that had the focus is hidden now

    def _emit_value(self) -> None:
        """Emit the typed or chosen value, or show a sentence if the value is not allowed."""
        text = self.control.pending_text()
        if text is None:
            return
        try:
            value = parse(self.setting, text)
        except ValueError:
            self._show_problem(tr("This must be {allowed}.", allowed=allowed(self.setting)))
            return
        self._mark_settled()
        self.changed.emit(self.setting.name, value)

    def _mark_settled(self) -> None:
        self.control.mark_settled()
        self._show_problem("")

    def _show_problem(self, sentence: str) -> None:
        self.problem.say(sentence)
        self.reset_button.setVisible(bool(sentence) or self._differs)
        restyle_by(self.control, "wrong", bool(sentence))

    def _layout(self) -> None:
        policy = self.reset_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # so that the control does not move
        self.reset_button.setSizePolicy(policy)
        self._cell: QWidget = self.control
        if self.slider is not None:
            self._cell = QWidget(self)
            fill(QHBoxLayout(self._cell), self.slider, self.control, gap=SIZES.gap)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, SIZES.gap_m, 0, SIZES.gap_m)
        self._grid.setHorizontalSpacing(SIZES.gap)
        self._grid.setVerticalSpacing(SIZES.gap_s)
        self._place()

    def _place(self) -> None:
        """Place the control beside the words, or below them if the column of words would become too narrow."""
        top, middle = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignVCenter
        long, grid = isinstance(self.control, TextControl), self._grid
        for number, line in enumerate((self.title, self.help)):
            grid.addWidget(line, number, 0, 1, 3 if self._below else 1, top)
        if long:
            grid.addWidget(self.reset_button, 0, 1, 2, 2, top | Qt.AlignmentFlag.AlignRight)
            grid.addWidget(self.control, 2, 0, 1, 3)
        elif self._below:
            grid.addWidget(self._cell, 2, 0, middle | Qt.AlignmentFlag.AlignLeft)
            grid.addWidget(self.reset_button, 2, 1, middle)
        else:
            grid.addWidget(self.reset_button, 0, 1, 2, 1, middle)
            grid.addWidget(self._cell, 0, 2, 2, 1, middle | Qt.AlignmentFlag.AlignRight)
        for number, line in enumerate((self.effect, self.problem), start=3):
            grid.addWidget(line, number, 0, 1, 3)
        grid.setColumnStretch(0, int(not self._below))
        grid.setColumnStretch(2, int(self._below))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        below = not isinstance(self.control, TextControl) and self._is_narrow(event.size().width())
        if below != self._below:
            self._below = below
            self._place()

    def _is_narrow(self, width: int) -> bool:
        """Return whether the words beside the control would have less room than the control.

        To leave the layout with the words above the control, the row must be wider by a scroll bar: switching changes
        the height, which may show or hide the scroll bar, and the layout would otherwise switch back and forth for
        ever.
        """
        words = width - SIZES.input - self.reset_button.sizeHint().width() - 2 * SIZES.gap
        return words < SIZES.input + SIZES.scroll_bar * self._below


class SettingsSheet(Sheet):
    """Dialog with the `rows` of settings; what was typed but not yet confirmed is applied when it closes."""

    rows: Mapping[str, SettingRow]

    def done(self, result: int) -> None:
        for row in self.rows.values():
            row.commit()
        super().done(result)


def control_for(setting: Setting, parent: QWidget) -> Control:
    control: Control
    if setting.kind == "folder":
        control = FolderControl(parent)
    elif {value for value, _ in setting.choices} == {"on", "off"}:
        control = SwitchControl(parent)
    elif setting.kind in ("choice", "file", "name"):
        control = ChoiceControl(setting.choices, parent)
    else:
        control = TextControl(parent) if setting.kind == "text" else LineControl(parent, narrow=bool(setting.slides))
    control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return control
