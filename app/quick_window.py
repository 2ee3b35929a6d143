"""The quick window: a small window above all others to ask one question and read the answer in."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.composer.composer import ComposerText, SendButton, waiting_line
from app.look.live import Live, native_keys
from app.look.sheet import fill
from app.look.theme import SIZES, application_icon, bird
from app.state.conversation import Conversation
from app.state.engine_state import EngineState
from app.transcript.transcript import Transcript
from app.words import tr

OPEN_KEY = "Ctrl+O"


class QuickWindow(Live, QWidget):
    """Window with a composer and the chat that is asked in it.

    Signals: `sent` carries the text; `stopped` asks to stop the answer; `main_requested` asks to show the chat in the
    main window.
    """

    sent = Signal(str)
    stopped = Signal()
    main_requested = Signal()

    def __init__(self) -> None:
        super().__init__(None, Qt.WindowType.Window | Qt.WindowType.WindowStaysOnTopHint)
        self.setObjectName("quick")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)
        self.setWindowIcon(application_icon())
        self._busy = False
        self._waiting: tuple[EngineState, Conversation] | None = None
        self.hint, self.bird, self.progress = QLabel(self), QLabel(self), QLabel(self)
        self.progress.setObjectName("progressText")
        self.progress.setTextFormat(Qt.TextFormat.PlainText)
        self.progress.setWordWrap(True)
        self.transcript = Transcript()
        self.pages = QStackedWidget(self)
        self.box = QFrame(self)
        self.box.setObjectName("composer")
        self.text = ComposerText(self.box)
        self.button = SendButton(self.box)
        self.main_button = QPushButton(self)
        self.main_button.setProperty("kind", "small")
        self._layout()
        self._connect()
        self.setFocusProxy(self.text)
        self.apply_look()

    def show_conversation(self, conversation: Conversation) -> None:
        """Show this chat, whose messages are none if nothing was asked yet."""
        self.transcript.show_conversation(conversation)
        self.show_page(conversation)

    def show_page(self, conversation: Conversation) -> None:
        """Show the messages, or the hint while there are none."""
        some = bool(conversation.messages)
        self.pages.setCurrentIndex(int(some))
        self.main_button.setVisible(some)

    def show_waiting(self, engine: EngineState, conversation: Conversation) -> None:
        """Show what the chat waits for; while an answer is being written, the Send button is a Stop button."""
        self._waiting = engine, conversation
        self.text.show_host(engine.host)
        line = waiting_line(engine, conversation)[0]
        if conversation.asked_host:
            line = tr("Open it in the main window to let {host} read this chat.", host=conversation.asked_host)
        self.progress.setText(line)
        self.progress.setVisible(bool(line))
        self._busy = conversation.busy
        self._update_button()

    def raise_window(self) -> None:
        """Show the window in front of all others, ready to type."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()
        self.text.setFocus()

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Ask Chickadee"))
        self.hint.setText(tr("Ask something. / finds prompt snippets, Esc closes this window."))
        self.main_button.setText(tr("Open in the main window"))
        keys = native_keys([OPEN_KEY])[0]
        self.main_button.setToolTip(tr("{words} ({keys})", words=tr("Open in the main window"), keys=keys))
        self.transcript.setAccessibleName(tr("Answer"))
        if self._waiting is not None:
            self.show_waiting(*self._waiting)

    def restyle(self) -> None:
        self.bird.setPixmap(bird(SIZES.bird // 2))
        if not self.isVisible():
            room = self.screen().availableSize()
            self.resize(min(SIZES.quick, room.width()), min(SIZES.quick_height, room.height()))

    def submit(self) -> None:
        """Send the typed text, unless an answer is being written: then the text stays in the editor."""
        text = self.text.toPlainText()
        if text.strip() and not self._busy:
            self.text.clear()
            self.sent.emit(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Scroll the messages with the keys that the composer has no use for."""
        self.transcript.keyPressEvent(event)

    def _escape(self) -> None:
        """Stop the answer, else close the window."""
        if self._busy:
            self.stopped.emit()
        else:
            self.close()

    def _clicked(self) -> None:
        if self._busy:
            self.stopped.emit()
        else:
            self.submit()

    def _update_button(self) -> None:
        self.button.show_action(self._busy, bool(self.text.toPlainText().strip()))

    def _connect(self) -> None:
        self.text.submitted.connect(self.submit)
        self.text.textChanged.connect(self._update_button)
        self.text.pressed_beyond.connect(lambda key: self.transcript.page(key) if key != "up" else None)
        self.button.clicked.connect(self._clicked)
        self.main_button.clicked.connect(self.main_requested.emit)
        for keys, work in (("Esc", self._escape), (OPEN_KEY, self.main_requested.emit)):
            QShortcut(QKeySequence(keys), self).activated.connect(work)

    def _layout(self) -> None:
        empty = QWidget()
        column = QVBoxLayout(empty)
        column.addStretch(1)
        for label in (self.bird, self.hint):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            column.addWidget(label)
        column.addStretch(1)
        self.hint.setObjectName("welcomeHint")
        self.pages.addWidget(empty)
        self.pages.addWidget(self.transcript)
        row, sending = QHBoxLayout(self.box), (self.button, Qt.AlignmentFlag.AlignBottom)
        fill(row, (self.text, 1), sending, gap=SIZES.gap, margins=(SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap))
        row.setAlignment(self.text, Qt.AlignmentFlag.AlignVCenter)
        below = fill(QHBoxLayout(), (self.progress, 1), (None, 0), self.main_button)
        margins = (SIZES.gap_m, SIZES.gap, SIZES.gap_m, SIZES.gap_m)
        fill(QVBoxLayout(self), (self.pages, 1), below, self.box, gap=SIZES.gap, margins=margins)
