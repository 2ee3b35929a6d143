"""The main window: the layout of sidebar, transcript, composer and status line, and its stored state."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QMargins, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.commands.commands import OF_FOCUS, ActionButton, CommandSet, keys_in_menu, press_keys, with_keys
from app.composer.chat_model_line import ChatModelLine
from app.composer.composer import Composer, DropHint
from app.composer.consent_line import ConsentLine
from app.composer.status_line import StatusLine
from app.composer.tool_question import ToolQuestion
from app.file_dialogs import FileDialogs
from app.look.live import Live, LiveAction
from app.look.sheet import fill
from app.look.tab_stops import step_around
from app.look.theme import SIZES, icon, theme
from app.notice import NoticeArea
from app.sidebar.sidebar import Sidebar
from app.transcript.find_bar import FindBar
from app.transcript.transcript import Transcript
from app.transcript.welcome import Welcome
from app.window_state import WindowState
from app.words import UiText, current_text, tr

FIRST_SIZE = QSize(1280, 690)  # with a panel, and with a desktop's bar on a screen of 1366×768
SMALLEST = QSize(340, 240)  # fits a screen of 800×600 at 200 %, below the bar of its desktop
LEAST_PAGE = 420  # pixels that a sidebar beside the page leaves it
WITHOUT_FRAME = Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen
NAME = "Chickadee"


class Scrim(QFrame):
    """Dark layer over the page below the sidebar of a narrow window; a click on it triggers `close`."""

    def __init__(self, parent: QWidget, close: LiveAction) -> None:
        super().__init__(parent)
        self.setObjectName("scrim")
        self._close = close
        self.hide()

    def mousePressEvent(self, _event: QMouseEvent) -> None:
        self._close.trigger()


class Header(Live, QWidget):
    """Header of the page: the open chat's title, and buttons that are needed while the sidebar is hidden."""

    def __init__(self, commands: CommandSet, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.toggle = ActionButton(commands.actions["sidebar"], self)
        self.new = ActionButton(commands.actions["new_chat"], self)
        self.options = QToolButton(self)  # no ActionButton, because it shows the persona's name
        self.options.clicked.connect(commands.actions["chat_options"].trigger)
        self.settings = ActionButton(commands.actions["settings"], self)
        self.title = QLabel(self)
        self.title.setObjectName("chatTitle")
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.temporary = QLabel(self)
        self.temporary.setObjectName("temporary")
        self.temporary.hide()
        self._full_title = ""
        self._persona: UiText = ""
        left, temporary = (self.toggle, self.new, SIZES.gap), (self.temporary, Qt.AlignmentFlag.AlignVCenter)
        parts = (*left, (self.title, 1), temporary, self.options, self.settings)
        fill(QHBoxLayout(self), *parts, margins=(SIZES.gap, 0, SIZES.gap, 0))
        self.apply_look()

    def show_title(self, title: str, temporary: bool = False) -> None:
        """Show the chat's title, and whether the chat is temporary."""
        self._full_title = title
        self.temporary.setVisible(temporary)
        self._elide()

    def show_persona(self, name: UiText) -> None:
        """Show the persona's name, or how else the chat differs from the settings."""
        self._persona = name
        self._show_persona_name()

    def restyle(self) -> None:
        self.setFixedHeight(SIZES.header)
        self.options.setIcon(icon("instructions", theme().soft))
        for button in (self.toggle, self.new, self.options, self.settings):
            button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._elide()

    def retranslate(self) -> None:
        name = tr("Instructions and persona for this chat")
        self.options.setAccessibleName(name)
        self.options.setToolTip(with_keys(name, "chat_options"))
        self.temporary.setText(tr("Temporary · not stored"))
        self.temporary.setToolTip(tr("Nothing of this chat is written to the disk. It is gone when you quit."))
        self._show_persona_name()

    def resizeEvent(self, _event: object) -> None:
        self._elide()

    def _show_persona_name(self) -> None:
        name = current_text(self._persona)
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if name else Qt.ToolButtonStyle.ToolButtonIconOnly
        self.options.setToolButtonStyle(style)
        short = self.options.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, SIZES.chip // 2)
        self.options.setText(short.replace("&", "&&"))
        self._elide()

    def _elide(self) -> None:
        right = self.options.sizeHint().width() + (
            0 if self.temporary.isHidden() else self.temporary.sizeHint().width()
        )
        room = self.width() - 4 * SIZES.control - SIZES.gap_xl - right
        self.title.setText(self.title.fontMetrics().elidedText(self._full_title, Qt.TextElideMode.ElideRight, room))
        self.title.setMinimumWidth(1)


class Window(Live, QMainWindow):
    """The main window; `commands` are its menus and shortcuts.

    `closing` is emitted before the program ends, `left_running` when closing has only hidden the window.
    """

    closing = Signal()
    left_running = Signal()

    def __init__(self, geometry: Path | None = None) -> None:
        super().__init__()
        self.setWindowTitle(NAME)
        self.setMinimumSize(SMALLEST)
        self.commands = CommandSet(self)
        self.sidebar = Sidebar(self.commands)
        self.header = Header(self.commands, self)
        self.find_bar = FindBar(self.commands, self)
        self.transcript = Transcript()
        self.welcome = Welcome()
        self.notice = NoticeArea()
        self.chat_model = ChatModelLine()
        self.consent = ConsentLine()
        self.tool_question = ToolQuestion()
        self.composer = Composer(self.commands)
        self.status = StatusLine(self.commands)
        DropHint(self, self.composer)
        self.state = WindowState(geometry)
        self.files = FileDialogs(self.state, self)
        self._sidebar_wanted = self.state.sidebar
        self._was_shown = self._keeps_running = False
        self._closed = False  # for good, because the program is ending
        self._build()
        self._bind_commands()
        self._restore()
        self.apply_look()
        self.composer.setFocus()

    # --- layout -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.pages = QStackedWidget()
        self.pages.addWidget(self.welcome)
        self.pages.addWidget(self.transcript)
        page = QWidget()
        page.setObjectName("page")
        fill(QVBoxLayout(page), self.header, self.find_bar, (self.pages, 1), self._lower_part(), gap=0)
        self.ground = QWidget()
        self._panels: list[QWidget] = []
        self._row = fill(QHBoxLayout(self.ground), self.sidebar, (page, 1), gap=0)
        self.setCentralWidget(self.ground)
        self._scrim = Scrim(self.ground, self.commands.actions["sidebar"])

    def _lower_part(self) -> QHBoxLayout:
        lines = (self.notice, self.chat_model, self.consent, self.tool_question)
        self._column = QWidget()
        margins = (0, SIZES.gap, 0, 0)
        fill(QVBoxLayout(self._column), *lines, self.composer, self.status, gap=SIZES.gap, margins=margins)
        self._column.setMaximumWidth(SIZES.column)
        margins = (SIZES.gap_xl, 0, SIZES.gap_xl, 0)
        return fill(QHBoxLayout(), (None, 0), (self._column, 1), (None, 0), margins=margins)

    def add_panel(self, panel: QWidget) -> None:
        """Add a panel at the right of the page."""
        self._row.addWidget(panel)
        self._panels.append(panel)
        panel.installEventFilter(self)

    def focusNextPrevChild(self, next: bool) -> bool:
        above = (self.header, self.find_bar, self.pages, self.notice, self.chat_model, self.consent)
        parts = (self.sidebar, *above, self.tool_question, self.composer, self.status, *self._panels)
        return step_around(parts, next) or super().focusNextPrevChild(next)

    def show_page(self, empty: bool) -> None:
        self.pages.setCurrentWidget(self.welcome if empty else self.transcript)

    @property
    def narrow(self) -> bool:
        """Whether the sidebar would leave too little room for the page; a panel takes its room first."""
        if panels := sum(panel.width() for panel in self._panels if not panel.isHidden()):
            return self.width() - panels < SIZES.sidebar + LEAST_PAGE
        return self.width() < SIZES.narrow

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent) and watched in self._panels:
            self._place_for_width()
        return super().eventFilter(watched, event)

    def toggle_sidebar(self) -> None:
        self._set_sidebar(self.sidebar.isHidden())

    def close_overlay(self) -> bool:
        """Hide the sidebar if it covers the page of a narrow window; return whether it did."""
        over = self.narrow and not self.sidebar.isHidden()
        if over:
            self._set_sidebar(False)
        return over

    def _set_sidebar(self, shown: bool) -> None:
        if not self.narrow:
            self._sidebar_wanted = shown
        self._place_sidebar(shown)

    def _place_sidebar(self, shown: bool) -> None:
        over = self.narrow
        if over and self._row.indexOf(self.sidebar) >= 0:
            self._row.removeWidget(self.sidebar)
        elif not over and self._row.indexOf(self.sidebar) < 0:
            self._row.insertWidget(0, self.sidebar)
        self.sidebar.setVisible(shown)
        self._scrim.setVisible(shown and over)
        self.header.new.setVisible(not shown or over)
        if over:
            self._scrim.setGeometry(self.ground.rect())
            self.sidebar.setGeometry(0, 0, SIZES.sidebar, self.ground.height())
            self._scrim.raise_()
            self.sidebar.raise_()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._place_for_width()

    def _place_for_width(self) -> None:
        was_over = self._row.indexOf(self.sidebar) < 0
        if self.narrow:
            self._place_sidebar(was_over and not self.sidebar.isHidden())
        else:
            self._place_sidebar(self._sidebar_wanted)

    # --- commands ---------------------------------------------------------------------------------------------------

    def _bind_commands(self) -> None:
        """Bind the commands that need nothing but the window."""
        self.commands.bind("quit", self.quit)
        self.commands.actions["quit"].setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusWindowChanged.connect(self._quit_from_dialog)
        self.commands.bind("write", self.composer.setFocus)
        self.commands.bind("attach", self._choose_files)
        self.commands.bind("sidebar", self.toggle_sidebar)
        self.composer.text.pressed_beyond.connect(self.transcript.page)
        self.commands.bind("to_start", self.transcript.to_start)
        self.commands.bind("to_end", self.transcript.to_end)
        self.commands.bind("full_screen", self._full_screen)
        for name in OF_FOCUS:
            self.commands.bind(name, partial(press_keys, keys_in_menu(name)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Hand letters that nothing else has taken to the composer, so that typing always reaches it."""
        held = event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
        if held or not event.text().strip() or not event.text().isprintable() or not self.composer.isEnabled():
            super().keyPressEvent(event)
            return
        self.composer.setFocus()
        QApplication.sendEvent(self.composer.text, event)

    def _quit_from_dialog(self) -> None:
        """Add the Quit action to a modal dialog, which keeps all keys from the window."""
        dialog = QApplication.activeModalWidget()
        quit = self.commands.actions["quit"]
        if dialog is not None and quit not in dialog.actions():
            dialog.addAction(quit)

    def _choose_files(self) -> None:
        dialog = self.files.ask("attach", tr("Attach files"), mode=QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(lambda names: self.composer.text.take_files([Path(name) for name in names]))

    def _full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    # --- beginning and end ------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        self._column.setMaximumWidth(SIZES.column)
        self._place_for_width()

    def _restore(self) -> None:
        geometry = self.state.geometry
        if geometry is None or not self.restoreGeometry(geometry):
            self.resize(FIRST_SIZE)
        if not self.windowState() & WITHOUT_FRAME:
            room = self.screen().availableSize().shrunkBy(QMargins(0, 0, 0, SIZES.title_bar))
            self.resize(self.size().boundedTo(room))

    def raise_window(self) -> None:
        """Show the window in front of others, unless it was closed for good: its chats could not be stored any more."""
        if self._closed:
            return
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def note_state(self) -> None:
        self.state.set_geometry(self.saveGeometry(), self._sidebar_wanted)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._was_shown:
            self._was_shown = True
            # Without a window manager, nothing else gives the window the keys. It must be visible before.
            QTimer.singleShot(0, self, self.activateWindow)

    def keep_running(self, keeps: bool) -> None:
        """Let closing the window only hide it, because the user can get it back from elsewhere."""
        self._keeps_running = keeps
        QApplication.setQuitOnLastWindowClosed(not keeps)

    def quit(self) -> None:
        """End the program, whether the window is shown or not."""
        was_hidden = self._keeps_running and not self.isVisible()
        self.keep_running(False)
        self.close()
        if was_hidden:  # Qt ends the program only with a window that was shown
            QTimer.singleShot(0, QApplication.quit)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.isVisible():
            self.note_state()
        if self._keeps_running:
            event.ignore()
            self.hide()
            self.left_running.emit()
            return
        self._closed = True
        self.commands.actions["quit"].setEnabled(False)  # the program is ending already
        self.hide()  # at once, because the engine may need time to end
        self.closing.emit()
        super().closeEvent(event)
