"""The table of all commands, and the actions built from it for menus, keys, buttons and the palette."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QMenuBar, QToolButton, QWidget

from app.look import live
from app.look.live import Live, LiveAction, native_keys, without_mnemonic
from app.words import mark, tr

MENUS = {
    "file": mark("&File"),
    "edit": mark("&Edit"),
    "chat": mark("&Chat"),
    "view": mark("&View"),
    "help": mark("&Help"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """Command of the window, or, without a name, the separator between two groups of a menu.

    `title` has & before its letter in the menu; the first of `keys` is the one that is shown. `icon` and `tip` are
    those of the command's button.
    """

    menu: str
    name: str = ""
    title: str = ""
    keys: tuple[str, ...] = ()
    icon: str = ""
    tip: str = ""


COMMANDS = (
    Command("file", "new_chat", mark("&New chat"), ("Ctrl+N",), "new"),
    Command("file", "new_project_chat", mark("New chat in this pro&ject"), ()),
    Command("file", "new_temporary_chat", mark("New tem&porary chat"), ("Ctrl+Shift+N",)),
    Command("file", "ask", mark("Quic&k question…"), ()),
    Command("file", "attach", mark("&Attach files…"), ("Ctrl+Shift+I",), "attach", mark("Attach files")),
    Command("file", "screenshot", mark("Take a screens&hot"), ()),
    Command("file", "read_page", mark("&Read linked page"), ("Ctrl+Shift+L",)),
    Command("file", "collections", mark("&Document collections…"), ()),
    Command("file", "open_model", mark("&Open model…"), ("Ctrl+O",)),
    Command("file", "models", mark("&Models…"), ("Ctrl+M",)),
    Command("file", "server", mark("Connect to a ser&ver…"), ()),
    Command("file"),
    Command("file", "import", mark("&Import chats…"), ()),
    Command("file", "export_chat", mark("&Export this chat…"), ("Ctrl+Shift+S",)),
    Command("file", "export_all", mark("Export a&ll chats…"), ()),
    Command("file"),
    Command("file", "storage", mark("S&torage…"), ()),
    Command("file", "local_api", mark("Lo&cal API…"), ()),
    Command("file", "settings", mark("&Settings…"), ("Ctrl+,",), "settings", mark("Settings")),
    Command("file"),
    Command("file", "quit", mark("&Quit"), ("Ctrl+Q",)),
    Command("edit", "undo", mark("&Undo"), ("Ctrl+Z",)),
    Command("edit", "redo", mark("Re&do"), ("Ctrl+Shift+Z",)),
    Command("edit", "cut", mark("Cu&t"), ("Ctrl+X",)),
    Command("edit", "copy", mark("C&opy"), ("Ctrl+C",)),
    Command("edit", "paste", mark("&Paste"), ("Ctrl+V",)),
    Command("edit"),
    Command("edit", "find_in_chat", mark("&Find in this chat"), ("Ctrl+F",)),
    Command("edit", "find_next", mark("Find ne&xt"), ("F3", "Ctrl+G"), "chevron", mark("Next result")),
    Command(
        "edit", "find_previous", mark("Find pre&vious"), ("Shift+F3", "Ctrl+Shift+G"), "up", mark("Previous result")
    ),
    Command("edit", "find", mark("Search a&ll chats"), ("Ctrl+Shift+F",)),
    Command("edit"),
    Command("edit", "palette", mark("&Search chats, commands and settings…"), ("Ctrl+K",)),
    Command("edit", "write", mark("&Write a message"), ("Ctrl+L", "/")),
    Command("edit", "dictate", mark("D&ictate"), ("Ctrl+Shift+M",), "microphone", mark("Dictate")),
    Command("edit", "snippets", mark("P&rompt snippets…"), ()),
    Command("edit", "memory", mark("M&emory…"), ()),
    Command("edit"),
    Command("edit", "copy_answer", mark("Copy last &answer"), ("Ctrl+Shift+A",)),
    Command("edit", "copy_code", mark("Copy last &code"), ("Ctrl+Shift+C",)),
    Command("chat", "stop", mark("&Stop or close"), ("Esc",)),
    Command("chat", "answer_now", mark("Answer no&w"), ("Ctrl+Shift+Return",)),
    Command("chat", "again", mark("Re&generate"), ("Ctrl+R",)),
    Command("chat", "think", mark("&Think before answering"), ("Ctrl+Shift+T",)),
    Command("chat", "use_collections", mark("&Use collections…"), ("Ctrl+Shift+D",), "collections"),
    Command("chat", "use_tools", mark("&Choose tools…"), ("Ctrl+T",), "tools"),
    Command("chat", "tool_servers", mark("Tool ser&vers (MCP)…"), ()),
    Command("chat"),
    Command("chat", "next_chat", mark("&Next chat"), ("Ctrl+Tab", "Ctrl+PgDown")),
    Command("chat", "previous_chat", mark("&Previous chat"), ("Ctrl+Shift+Tab", "Ctrl+PgUp")),
    Command("chat"),
    Command("chat", "chat_options", mark("&Instructions and persona…"), ("Ctrl+Shift+O",)),
    Command("chat", "rename_chat", mark("&Rename chat"), ("Ctrl+Shift+R",)),
    Command("chat", "first_line", mark("Use first &line as title"), ()),
    Command("chat", "sum_up", mark("Su&m up the oldest messages"), ()),
    Command("chat", "pin_chat", mark("Pin &or unpin chat"), ("Ctrl+Shift+P",)),
    Command("chat", "new_folder", mark("New &folder"), ()),
    Command("chat", "project", mark("Pro&ject…"), ()),
    Command("chat", "delete_chat", mark("&Delete chat"), ("Ctrl+Shift+Backspace",)),
    Command("view", "sidebar", mark("&Chats"), ("Ctrl+B",), "sidebar", mark("Show or hide the chat list")),
    Command("view", "engine", mark("En&gine monitor"), ("Ctrl+E",)),
    Command("chat", "bin", mark("Recently d&eleted…"), ()),
    Command("view", "to_start", mark("Go to &beginning"), ("Ctrl+Home",)),
    Command("view", "to_end", mark("Go to &end"), ("Ctrl+End",)),
    Command("view"),
    Command("view", "larger", mark("&Larger text"), ("Ctrl++", "Ctrl+=")),
    Command("view", "smaller", mark("&Smaller text"), ("Ctrl+-",)),
    Command("view", "normal", mark("&Default text size"), ("Ctrl+0",)),
    Command("view"),
    Command("view", "full_screen", mark("&Full screen"), ("F11",)),
    Command("help", "guide", mark("&Guide"), ("F1",)),
    Command("help", "help", mark("&Keyboard shortcuts"), ("Ctrl+/",)),
    Command("help", "logs", mark("Open &log folder"), ()),
    Command("help", "about", mark("&About Chickadee"), ()),
)


@dataclass(frozen=True, slots=True)
class FocusKey:
    """Keys that a widget handles itself while it has the focus.

    `area` is the focused part of the window, a key of FOCUS_AREAS; `name` is what the widget does.
    """

    area: str
    name: str
    title: str
    keys: tuple[str, ...]


# Commands for the part of the window that has the focus: it handles their keys itself, so a menu only shows them.
OF_FOCUS = ("undo", "redo", "cut", "copy", "paste")
FOCUS_AREAS = {
    "writing": mark("While writing"),
    "message": mark("On a message"),
    "list": mark("In the chat list"),
    "file": mark("On an attached file"),
    "anywhere": mark("Everywhere"),
}
FOCUS_KEYS = (
    FocusKey("writing", "send", mark("Send message"), ("Return",)),
    FocusKey("writing", "line", mark("New line in the message"), ("Shift+Return",)),
    FocusKey("writing", "recall", mark("Last prompt, in an empty message"), ("Up",)),
    FocusKey("writing", "snippets", mark("Prompt snippets, in an empty message"), ("/",)),
    FocusKey("writing", "page", mark("Scroll the chat"), ("PgUp", "PgDown")),
    FocusKey("writing", "ends", mark("Beginning or end of the chat"), ("Home", "End")),
    FocusKey("message", "up", mark("Previous message"), ("Up",)),
    FocusKey("message", "down", mark("Next message"), ("Down",)),
    FocusKey("message", "previous", mark("Previous version"), ("Alt+Left",)),
    FocusKey("message", "next", mark("Next version"), ("Alt+Right",)),
    FocusKey("message", "edit", mark("Edit message"), ("F2",)),
    FocusKey("message", "copy", mark("Copy message"), ("Ctrl+C",)),
    FocusKey("message", "delete", mark("Delete message"), ("Del",)),
    FocusKey("list", "open", mark("Open chat or collapse folder"), ("Return",)),
    FocusKey("list", "fold", mark("Collapse folder"), ("Left",)),
    FocusKey("list", "unfold", mark("Expand folder"), ("Right",)),
    FocusKey("list", "rename", mark("Rename chat or folder"), ("F2",)),
    FocusKey("list", "delete", mark("Delete chats"), ("Del",)),
    FocusKey("list", "all", mark("Select all chats"), ("Ctrl+A",)),
    FocusKey("file", "show", mark("Show file text"), ("Return",)),
    FocusKey("file", "remove", mark("Remove file"), ("Del", "Backspace")),
    FocusKey("anywhere", "step", mark("Next or previous control"), ("Tab", "Shift+Tab")),
    FocusKey("anywhere", "menu", mark("Open the context menu"), ("Menu", "Shift+F10")),
)
BY_NAME = {command.name: command for command in COMMANDS if command.name}


class CommandSet:
    """The window's menu bar and the `actions` behind it, by the commands' names; `bind` gives them their work.

    An open menu greys the commands that cannot do anything at the moment.
    """

    def __init__(self, window: QMainWindow) -> None:
        self.actions: dict[str, LiveAction] = {}
        self._bound: set[str] = set()
        self._possible: dict[str, Callable[[], bool]] = {}
        menus = {name: CommandMenu(title, window.menuBar()) for name, title in MENUS.items()}
        for menu in menus.values():
            menu.aboutToShow.connect(self._grey)
            menu.aboutToHide.connect(self._allow_keys)
        for command in COMMANDS:
            menu = menus[command.menu]
            if not command.name:
                menu.addSeparator()
                continue
            action = LiveAction(window, command.title, command.icon, command.keys, command.tip)
            action.setIconVisibleInMenu(False)
            action.setEnabled(False)  # until `bind` gives it work
            if command.name in OF_FOCUS:
                action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            self.actions[command.name] = action
            menu.addAction(action)

    def bind(self, name: str, work: Callable[[], object]) -> None:
        """Let the command do `work`, and enable it; a command can be bound only once."""
        assert name not in self._bound, name
        self._bound.add(name)
        self.actions[name].triggered.connect(lambda: work())
        self.actions[name].setEnabled(True)

    def run(self, name: str) -> None:
        self.actions[name].trigger()

    def allow(self, name: str, possible: Callable[[], bool]) -> None:
        """Let menus and the palette offer the command only while `possible` returns True."""
        self._possible[name] = possible

    def is_possible(self, name: str) -> bool:
        """Return whether the command would do anything at the moment."""
        return name in self._bound and self._possible.get(name, lambda: True)()

    def _grey(self) -> None:
        for name in self._possible.keys() & self._bound:
            self.actions[name].setEnabled(self._possible[name]())

    def _allow_keys(self) -> None:
        """Enable the commands again, because their keys must work when they can do something by then."""
        for name in self._possible.keys() & self._bound:
            self.actions[name].setEnabled(True)


class CommandMenu(Live, QMenu):
    """Menu of the menu bar."""

    def __init__(self, title: str, bar: QMenuBar) -> None:
        super().__init__(bar)
        self._words = title
        bar.addMenu(self)
        self.apply_look()

    def retranslate(self) -> None:
        self.setTitle(tr(self._words))


class ActionButton(QToolButton):
    """Button with an action's icon; a screen reader reads the action's tip."""

    def __init__(self, action: LiveAction, parent: QWidget) -> None:
        super().__init__(parent)
        self.setDefaultAction(action)
        self._name()
        action.changed.connect(self._name)

    def _name(self) -> None:
        action = self.defaultAction()
        assert isinstance(action, LiveAction)
        self.setAccessibleName(action.label)


def keys_in_menu(name: str) -> str:
    """Return the keys that a menu shows for the command."""
    return BY_NAME[name].keys[0]


def press_keys(keys: str) -> None:
    """Send the focused widget a press of these keys: it knows best how to cut, copy or paste what it shows."""
    widget = QApplication.focusWidget()
    pressed = QKeySequence(keys)[0]  # type: ignore[index]
    if widget is not None:
        event = QKeyEvent(QEvent.Type.KeyPress, pressed.key(), pressed.keyboardModifiers())
        QApplication.sendEvent(widget, event)


def keys_of(name: str) -> list[str]:
    """Return the command's keys as the operating system writes them."""
    return native_keys(BY_NAME[name].keys)


def with_keys(words: str, name: str) -> str:
    """Return the tool tip of a button: `words`, and the first key of the command that does the same."""
    return live.tip_with_keys(words, BY_NAME[name].keys)


def title_of(name: str) -> str:
    """Return the command's title without the & of the menus, in the user's language."""
    return without_mnemonic(tr(BY_NAME[name].title))


def keys_in(area: str, name: str) -> tuple[str, ...]:
    """Return the keys for the action `name` while the focus is in `area`, a key of FOCUS_AREAS."""
    return next((one.keys for one in FOCUS_KEYS if (one.area, one.name) == (area, name)), ())


def focus_action(event: QKeyEvent, area: str) -> str:
    """Return the name of what the pressed key does in `area`; "" if the key does nothing there."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    key = Qt.Key.Key_Return if event.key() == Qt.Key.Key_Enter else Qt.Key(event.key())
    pressed = QKeySequence(modifiers.value | key.value)
    return next((one.name for one in FOCUS_KEYS if one.area == area and pressed in map(QKeySequence, one.keys)), "")
