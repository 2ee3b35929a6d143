"""All that can be asked of the window: one list that menus, shortcuts, palette and help sheet are made of. No Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.words import mark

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

    Without a name it is the line between two groups of a menu."""

    menu: str
    name: str = ""
    title: str = ""
    keys: tuple[str, ...] = ()


COMMANDS = (
    Command("file", "new_chat", mark("&New chat"), ("Ctrl+N",)),
    Command("file", "attach", mark("&Attach files…"), ("Ctrl+Shift+U",)),
    Command("file", "open_model", mark("&Open model…"), ("Ctrl+O",)),
    Command("file", "models", mark("&Models…"), ("Ctrl+M",)),
    Command("file"),
    Command("file", "import", mark("&Import chats…"), ()),
    Command("file", "export_chat", mark("&Export this chat…"), ("Ctrl+Shift+S",)),
    Command("file", "export_all", mark("Export a&ll chats…"), ()),
    Command("file"),
    Command("file", "storage", mark("S&torage…"), ()),
    Command("file", "settings", mark("&Settings…"), ("Ctrl+,",)),
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
    Command("view", "sidebar", mark("&Chats"), ("Ctrl+B",)),
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


def plain(title: str) -> str:
    """A menu's title without its marked letter, also without the "(&N)" that stands behind Chinese ones."""
    return re.sub(r"\(&.\)", "", title).replace("&", "")
