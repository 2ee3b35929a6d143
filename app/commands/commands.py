"""All that can be asked of the window: one table, and the actions made of it for menus, keys, buttons and palette."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar, QToolButton, QWidget

from app.look import live
from app.look.live import Live, LiveAction, native, plain
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
    """`title` with & before the letter that chooses it in its menu; the first of `keys` is the one that is shown.

    `icon` and `tip` are those of its button. Without a name it is the line between two groups of a menu."""

    menu: str
    name: str = ""
    title: str = ""
    keys: tuple[str, ...] = ()
    icon: str = ""
    tip: str = ""


COMMANDS = (
    Command("file", "new_chat", mark("&New chat"), ("Ctrl+N",), "new"),
    Command("file", "attach", mark("&Attach files…"), ("Ctrl+Shift+U",), "attach", mark("Attach files")),
    Command("file", "open_model", mark("&Open model…"), ("Ctrl+O",)),
    Command("file", "models", mark("&Models…"), ("Ctrl+M",)),
    Command("file"),
    Command("file", "import", mark("&Import chats…"), ()),
    Command("file", "export_chat", mark("&Export this chat…"), ("Ctrl+Shift+S",)),
    Command("file", "export_all", mark("Export a&ll chats…"), ()),
    Command("file"),
    Command("file", "storage", mark("S&torage…"), ()),
    Command("file", "settings", mark("&Settings…"), ("Ctrl+,",), "settings", mark("Settings")),
    Command("file"),
    Command("file", "quit", mark("&Quit"), ("Ctrl+Q",)),
    Command("edit", "find", mark("&Find in chats"), ("Ctrl+F",)),
    Command("edit", "palette", mark("&Search chats and commands…"), ("Ctrl+K",)),
    Command("edit", "write", mark("&Write a message"), ("Ctrl+L", "/")),
    Command("edit"),
    Command("edit", "copy_answer", mark("Copy last &answer"), ("Ctrl+Shift+A",)),
    Command("edit", "copy_code", mark("Copy last &code"), ("Ctrl+Shift+C",)),
    Command("chat", "stop", mark("&Stop or close"), ("Esc",)),
    Command("chat", "again", mark("Re&generate"), ("Ctrl+R",)),
    Command("chat"),
    Command("chat", "next_chat", mark("&Next chat"), ("Ctrl+Tab", "Ctrl+PgDown")),
    Command("chat", "previous_chat", mark("&Previous chat"), ("Ctrl+Shift+Tab", "Ctrl+PgUp")),
    Command("chat"),
    Command("chat", "chat_options", mark("&Instructions and persona…"), ("Ctrl+Shift+O",)),
    Command("chat", "rename_chat", mark("&Rename chat"), ("Ctrl+Shift+R",)),
    Command("chat", "pin_chat", mark("Pin &or unpin chat"), ("Ctrl+Shift+P",)),
    Command("chat", "new_folder", mark("New &folder"), ()),
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
    Command("help", "help", mark("&Keyboard shortcuts"), ("F1", "Ctrl+/")),
    Command("help", "about", mark("&About Chickadee"), ()),
)


@dataclass(frozen=True, slots=True)
class PlaceKey:
    """Keys that mean something only where the focus is: in a `place`, a key of PLACES. `name`: what the widget does."""

    place: str
    name: str
    title: str
    keys: tuple[str, ...]


PLACES = {
    "writing": mark("While writing"),
    "message": mark("On a message"),
    "list": mark("In the chat list"),
    "file": mark("On an attached file"),
    "anywhere": mark("Everywhere"),
}
IN_PLACE = (
    PlaceKey("writing", "send", mark("Send message"), ("Return",)),
    PlaceKey("writing", "line", mark("New line in the message"), ("Shift+Return",)),
    PlaceKey("message", "up", mark("Previous message"), ("Up",)),
    PlaceKey("message", "down", mark("Next message"), ("Down",)),
    PlaceKey("message", "previous", mark("Previous version"), ("Alt+Left",)),
    PlaceKey("message", "next", mark("Next version"), ("Alt+Right",)),
    PlaceKey("message", "edit", mark("Edit message"), ("F2",)),
    PlaceKey("message", "copy", mark("Copy message"), ("Ctrl+C",)),
    PlaceKey("message", "delete", mark("Delete message"), ("Del",)),
    PlaceKey("list", "open", mark("Open chat or collapse folder"), ("Return",)),
    PlaceKey("list", "fold", mark("Collapse folder"), ("Left",)),
    PlaceKey("list", "unfold", mark("Expand folder"), ("Right",)),
    PlaceKey("list", "rename", mark("Rename chat or folder"), ("F2",)),
    PlaceKey("list", "delete", mark("Delete chats"), ("Del",)),
    PlaceKey("list", "all", mark("Select all chats"), ("Ctrl+A",)),
    PlaceKey("file", "show", mark("Show file text"), ("Return",)),
    PlaceKey("file", "remove", mark("Remove file"), ("Del", "Backspace")),
    PlaceKey("anywhere", "step", mark("Next or previous control"), ("Tab", "Shift+Tab")),
    PlaceKey("anywhere", "menu", mark("Open the context menu"), ("Menu", "Shift+F10")),
)
BY_NAME = {command.name: command for command in COMMANDS if command.name}


class CommandSet:
    """`actions` by the commands' names. The menu bar of `window` is filled at once; `bind` gives them their work."""

    def __init__(self, window: QMainWindow) -> None:
        self.actions: dict[str, LiveAction] = {}
        self._bound: set[str] = set()
        menus = {name: CommandMenu(title, window.menuBar()) for name, title in MENUS.items()}
        for command in COMMANDS:
            menu = menus[command.menu]
            if not command.name:
                menu.addSeparator()
                continue
            action = LiveAction(window, command.title, command.icon, command.keys, command.tip)
            action.setIconVisibleInMenu(False)
            action.setEnabled(False)  # until there is work for it
            self.actions[command.name] = action
            menu.addAction(action)

    def bind(self, name: str, work: Callable[[], object]) -> None:
        """From now on `name` does `work`, once: a command has one meaning."""
        assert name not in self._bound, name
        self._bound.add(name)
        self.actions[name].triggered.connect(lambda: work())
        self.actions[name].setEnabled(True)

    def run(self, name: str) -> None:
        self.actions[name].trigger()


class CommandMenu(Live, QMenu):
    """One of the menu bar."""

    def __init__(self, title: str, bar: QMenuBar) -> None:
        super().__init__(bar)
        self._words = title
        bar.addMenu(self)
        self.apply_look()

    def retranslate(self) -> None:
        self.setTitle(tr(self._words))


class ActionButton(QToolButton):
    """An action as an icon; a screen reader says what its tip says."""

    def __init__(self, action: LiveAction, parent: QWidget) -> None:
        super().__init__(parent)
        self.setDefaultAction(action)
        self._name()
        action.changed.connect(self._name)

    def _name(self) -> None:
        action = self.defaultAction()
        assert isinstance(action, LiveAction)
        self.setAccessibleName(action.words)


def keys_of(name: str) -> list[str]:
    """The command's keys as the system writes them."""
    return native(BY_NAME[name].keys)


def with_keys(words: str, name: str) -> str:
    """A tool tip: what a button does, and the key of the command that does it too."""
    return live.with_keys(words, BY_NAME[name].keys)


def title_of(name: str) -> str:
    """What a command is called outside of the menus."""
    return plain(tr(BY_NAME[name].title))


def keys_in(place: str, name: str) -> tuple[str, ...]:
    """What does `name` where the focus is in `place`, one of PLACES."""
    return next((one.keys for one in IN_PLACE if (one.place, one.name) == (place, name)), ())


def meant(event: QKeyEvent, place: str) -> str:
    """The name of what the key does in `place`; "" if it is none of its keys."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    key = Qt.Key.Key_Return if event.key() == Qt.Key.Key_Enter else Qt.Key(event.key())
    pressed = QKeySequence(modifiers.value | key.value)
    return next((one.name for one in IN_PLACE if one.place == place and pressed in map(QKeySequence, one.keys)), "")
