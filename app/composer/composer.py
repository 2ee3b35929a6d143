"""The composer, where the user types and attaches files, with a thin bar on top for the progress of waiting."""

from __future__ import annotations

from pathlib import Path
from weakref import WeakKeyDictionary

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QImage,
    QPainter,
    QPaintEvent,
    QTextCursor,
    QTextDocument,
)  # fmt: skip
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextDocumentLayout, QPushButton, QVBoxLayout, QWidget

from app.commands.commands import ActionButton, CommandSet
from app.composer.dictation_line import DictationLine
from app.composer.page_offers import PageOffers
from app.composer.prompt_editor import PromptEditor
from app.composer.queued_message import QueuedMessage
from app.composer.switch_button import COLLECTIONS, TOOLS, SwitchButton
from app.composer.think_button import ThinkButton
from app.composer.tray import Tray
from app.look.live import Live
from app.look.sheet import fill
from app.look.theme import SIZES, icon, theme
from app.state.conversation import Conversation
from app.state.dictation import spaced
from app.state.engine_state import EngineState
from app.words import mark, tr, worded
from common.units import duration
from models.titles import title_of

MAX_LINES = 10
LONG_TEXT = 8_000  # characters that are pasted as a file rather than into the message
SHORT_PROMPT = 256
MODEL = ".gguf"
LOADING = mark("Loading {model}")
DROP_FILES, DROP_MODEL = mark("Drop files to attach them"), mark("Drop the model to use it")
LOADING_FIRST = mark("Loading {model}, then answering your message")


def local_files(data: QMimeData) -> list[Path]:
    """Return the paths of the local files that are being dropped or pasted."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()] if data.hasUrls() else []


class ComposerText(PromptEditor):
    """Editor of the composer.

    `attached` carries pasted or dropped content that is no short text: a list of paths, a text that is too long for a
    message, or a QImage. `model_given` carries the path of a model file, which is no attachment.
    """

    attached = Signal(object)
    model_given = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, MAX_LINES)
        self._host = ""
        self._documents: WeakKeyDictionary[object, QTextDocument] = WeakKeyDictionary()  # by chat
        self.textChanged.connect(self.fit_height)
        self.apply_look()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Message"))
        self.setPlaceholderText(tr("Message to {host}", host=self._host) if self._host else tr("Message"))

    def show_document(self, chat: object, text: str) -> None:
        """Show the text of a chat in a document of its own, so that undo works there after other chats were shown."""
        document = self._documents.get(chat)
        if document is None:
            document = self._documents[chat] = QTextDocument(self)
            document.setDocumentLayout(QPlainTextDocumentLayout(document))
        if document.toPlainText() != text:
            document.setPlainText(text)
        document.setDefaultFont(self.font())
        self.setDocument(document)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def show_host(self, host: str) -> None:
        """Name the server that reads what is typed here; "" for this computer."""
        if host != self._host:
            self._host = host
            self.retranslate()

    def restyle(self) -> None:
        super().restyle()
        self.fit_height()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasUrls() or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        files = local_files(source)
        if files:
            self.take_files(files)
        elif source.hasImage() and not source.hasText():
            self.attached.emit(QImage(source.imageData()))
        elif len(source.text()) > LONG_TEXT:
            self.attached.emit(source.text())
        else:
            super().insertFromMimeData(source)

    def take_files(self, files: list[Path]) -> None:
        """Hand on files that were dropped, pasted or chosen: model files apart from those to attach."""
        models = [file for file in files if file.suffix.lower() == MODEL]
        if models:
            self.model_given.emit(models[0])
        if rest := [file for file in files if file not in models]:
            self.attached.emit(rest)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit_height()

    def fit_height(self) -> None:
        self.setFixedHeight(self.wanted_height())


class SendButton(Live, QPushButton):
    """Button that sends a message, or stops what is under way."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("send")
        self._stops = False
        self.apply_look()

    def show_action(self, stops: bool, can_send: bool) -> None:
        """Show Stop or Send; Send is disabled while there is nothing to send."""
        if (stops, stops or can_send) != (self._stops, self.isEnabled()):
            self._stops = stops
            self.setEnabled(stops or can_send)
            self.restyle()
            self.retranslate()

    def restyle(self) -> None:
        self.setIconSize(QSize(SIZES.icon, SIZES.icon))
        colour = theme().on_accent if self.isEnabled() else theme().soft
        self.setIcon(icon("stop" if self._stops else "send", colour))

    def retranslate(self) -> None:
        name, keys = (tr("Stop"), "Esc") if self._stops else (tr("Send"), "Enter")
        self.setAccessibleName(name)
        self.setToolTip(tr("{words} ({keys})", words=name, keys=keys))


class Composer(Live, QFrame):
    """Editor for the next message, with the attached files and the buttons.

    Signals: `sent` asks to send what is here; `recalled` asks for the last prompt; `stopped` asks to stop the answer;
    `text.attached` carries content to attach, which `tray` then shows.
    """

    sent = Signal()
    stopped = Signal()
    recalled = Signal()

    def __init__(self, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.busy = False
        self._fraction: float | None = None
        self._waiting_shown: tuple[EngineState, Conversation] | None = None
        self.progress = QLabel(self)
        self.progress.setObjectName("progressText")
        self.progress.setTextFormat(Qt.TextFormat.PlainText)  # the text contains file names
        self.progress.hide()
        self.queued = QueuedMessage(self)
        self.tray = Tray(self)
        self.offers = PageOffers(self)
        self.attach_button = ActionButton(commands.actions["attach"], self)
        self.attach_button.setObjectName("attach")
        self.collections_button = SwitchButton(commands.actions["use_collections"], COLLECTIONS, self)
        self.tools_button = SwitchButton(commands.actions["use_tools"], TOOLS, self)
        self.dictation = DictationLine(self)
        self.think_button = ThinkButton(commands.actions["think"], self)
        self.text = ComposerText(self)
        self.dictate_button = ActionButton(commands.actions["dictate"], self)
        self.dictate_button.setObjectName("dictate")
        self.button = SendButton(self)
        before = (self.attach_button, self.collections_button, self.tools_button, self.think_button)
        left, right = (
            [(each, Qt.AlignmentFlag.AlignBottom) for each in part]
            for part in (before, (self.dictate_button, self.button))
        )
        row = fill(QHBoxLayout(), *left, (self.text, 1), *right, gap=SIZES.gap)
        row.setAlignment(self.text, Qt.AlignmentFlag.AlignVCenter)
        parts = (self.progress, self.queued, self.tray, self.offers, self.dictation, row)
        fill(QVBoxLayout(self), *parts, gap=4, margins=(SIZES.gap, SIZES.gap, SIZES.gap, SIZES.gap))
        self.text.submitted.connect(self.submit)
        self.text.pressed_beyond.connect(self._recall)
        self.text.textChanged.connect(self._update_button)
        self.button.clicked.connect(self._clicked)
        self.text.installEventFilter(self)
        self.setFocusProxy(self.text)
        self.apply_look()

    def show_waiting(self, engine: EngineState, conversation: Conversation) -> None:
        """Show what the conversation waits for; while an answer is being written, the Send button is a Stop button."""
        self._waiting_shown = engine, conversation
        self.text.show_host(engine.host)
        self.busy = conversation.busy
        self._update_button()
        self.set_progress(*waiting_line(engine, conversation))

    def set_progress(self, text: str, fraction: float | None) -> None:
        """Show the line `text` ("" hides it) and the bar filled to `fraction` (0 to 1; None hides it).

        Repaint only on a change, because this is called for every piece of an answer.
        """
        self.progress.setText(text)
        self.progress.setVisible(bool(text))
        if fraction != self._fraction:
            self._fraction = fraction
            self.update()

    def show_searching(self, searching: bool) -> None:
        """Lock the text while something is searched for it: text typed now would not be sent."""
        self.text.setReadOnly(searching)
        self._update_button()

    def submit(self) -> None:
        """Ask to send what is here; while an answer is being written, it waits for the answer's end."""
        if self._has_content or not (self.busy or self.queued.isHidden()):
            self.sent.emit()

    def set_text(self, text: str) -> None:
        """Replace the text in one step, which undo takes back, with the cursor at its end."""
        if text != self.text.toPlainText():
            cursor = self.text.textCursor()
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.insertText(text)
            self.text.setTextCursor(cursor)

    def insert_text(self, text: str) -> None:
        """Insert a text at the cursor, in place of what is selected, with the blanks that it needs; one undo step."""
        cursor, whole = self.text.textCursor(), self.text.toPlainText()
        cursor.insertText(spaced(whole[: cursor.selectionStart()], text, whole[cursor.selectionEnd() :]))
        self.text.setTextCursor(cursor)

    def append_text(self, text: str) -> None:
        """Append a text that came from elsewhere as a paragraph of its own; undo takes it away again."""
        cursor = self.text.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(f"\n\n{text}" if self.text.toPlainText().strip() else text)
        self.text.setTextCursor(cursor)

    def restyle(self) -> None:
        for button in (self.attach_button, self.dictate_button):
            button.setIconSize(QSize(SIZES.icon, SIZES.icon))

    def retranslate(self) -> None:
        if self._waiting_shown is not None:
            self.show_waiting(*self._waiting_shown)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.setProperty("focused", event.type() == QEvent.Type.FocusIn)
            self.style().unpolish(self)
            self.style().polish(self)
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._fraction is None:
            return
        painter = QPainter(self)
        # The bar covers only the straight part of the edge: in the round corners it would look like a splinter.
        width = (self.width() - 2 * SIZES.radius_l) * min(max(self._fraction, 0.02), 1)
        painter.fillRect(QRectF(SIZES.radius_l, 0, width, SIZES.bar), QColor(theme().accent))

    def _recall(self, key: str) -> None:
        """Ask for the last prompt when Up is pressed in the empty editor."""
        if key == "up" and not self.text.toPlainText():
            self.recalled.emit()

    @property
    def _has_content(self) -> bool:
        return bool(self.text.toPlainText().strip()) or not self.tray.empty

    @property
    def stops(self) -> bool:
        """Whether the button stops an answer or a search."""
        return self.busy or self.text.isReadOnly()

    def _clicked(self) -> None:
        if self.stops:
            self.stopped.emit()
        else:
            self.submit()

    def _update_button(self) -> None:
        self.button.show_action(self.stops, self._has_content or not self.queued.isHidden())


def waiting_line(engine: EngineState, conversation: Conversation) -> tuple[str, float | None]:
    """Return the sentence about what is waited for, and how full the bar is (0 to 1; None: no bar)."""
    reading = conversation.answer.progress if conversation.answer else None
    if conversation.phase == "reading" and reading and reading.looking:
        return tr("Looking at the picture… {n}%", n=round(100 * reading.looking)), reading.looking
    if (
        conversation.phase == "reading"
        and reading
        and reading.total - reading.done > 0
        and reading.total > SHORT_PROMPT
    ):
        line = tr("Reading {done:,} of {total:,} tokens", done=reading.done, total=reading.total)
        if reading.seconds_left is not None:
            line = tr("{line} · {time} left", line=line, time=worded(duration(reading.seconds_left)))
        return line, reading.done / reading.total
    if conversation.asked_host or conversation.round:
        return "", None  # the line above asks, or the call is shown in the chat
    if conversation.phase == "reading" and engine.host:
        return tr("Waiting for {host}", host=engine.host), None
    if engine.phase in ("starting", "loading"):
        if engine.host:
            return tr("Connecting to {host}", host=engine.host), None
        name = title_of(engine.path) if engine.path else tr("the model")
        text = LOADING_FIRST if conversation.phase == "waiting" else LOADING
        return tr(text, model=name), engine.fraction
    read_ahead = engine.read_ahead
    if read_ahead and read_ahead.chat == conversation.chat.id and not conversation.busy:
        if read_ahead.total - read_ahead.reused > SHORT_PROMPT:
            files = conversation.draft.certain_attachments() if conversation.draft else ()
            names = ", ".join(file.name for file in files)
            line = tr("Reading {names}…", names=names) if names else tr("Reading this chat again…")
            return line, read_ahead.done / read_ahead.total
        return "", None
    if conversation.phase == "waiting":
        if engine.phase == "ready":
            return tr("Waiting: another chat is being answered first"), None
        return tr("Your message will be answered as soon as a model is loaded"), None
    return "", None


class DropHint(Live, QFrame):
    """Cover over `window` while files are dragged over it; `composer` attaches dropped files and hands on models."""

    def __init__(self, window: QWidget, composer: Composer) -> None:
        super().__init__(window)
        self.setObjectName("dropHint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._window, self._composer = window, composer
        self._is_model = False
        self.words = QLabel(self)
        self.words.setObjectName("dropWords")
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        fill(QVBoxLayout(self), self.words, margins=(SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl))
        window.setAcceptDrops(True)
        window.installEventFilter(self)
        self.apply_look()
        self.hide()

    def retranslate(self) -> None:
        self.words.setText(tr(DROP_MODEL if self._is_model else DROP_FILES))

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent):  # in Qt, the enter and move events are drop events too
            return self._handle_drag(event)
        if event.type() in (QEvent.Type.DragLeave, QEvent.Type.Hide):
            self.hide()
        return False

    def _handle_drag(self, event: QDropEvent) -> bool:
        files = local_files(event.mimeData())
        if not files:
            return False
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if isinstance(event, QDragEnterEvent | QDragMoveEvent):
            self._is_model = any(file.suffix.lower() == MODEL for file in files)
            self.retranslate()
            self.setGeometry(self._window.rect().adjusted(SIZES.gap, SIZES.gap, -SIZES.gap, -SIZES.gap))
            self.show()
            self.raise_()
        else:
            self.hide()
            self._composer.text.take_files(files)
        return True
