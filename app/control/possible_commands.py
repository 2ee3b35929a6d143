"""Which commands can do something at the moment; menus grey the others, and the palette leaves them out."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QTextEdit

from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.window import Window
from engine.protocol.events import ThinkingControls


def allow_what_is_possible(window: Window, open_chats: OpenChats, engine: EngineQueue) -> None:
    """Tell the window's commands when they are possible."""

    def written() -> bool:
        return bool(open_chats.current.messages)

    def answered() -> bool:
        return any(message.role == "assistant" for message in open_chats.current.messages)

    def thinking() -> bool:
        answer = open_chats.current.answer
        return answer is not None and answer.thinking

    def stored() -> bool:
        return written() and not open_chats.current.temporary

    def some_chats() -> bool:
        return bool(open_chats.chats())

    conditions: tuple[tuple[Callable[[], bool], tuple[str, ...]], ...] = (
        (written, ("find_in_chat", "export_chat", "to_start", "to_end")),
        (answered, ("again", "sum_up", "copy_answer", "copy_code")),
        (stored, ("rename_chat", "first_line", "pin_chat", "delete_chat")),
        (some_chats, ("export_all", "next_chat", "previous_chat")),
        (lambda: not window.find_bar.isHidden(), ("find_next", "find_previous")),
        (thinking, ("answer_now",)),
        (lambda: engine.state.model is not None and has_choice(engine.state.model.thinking), ("think",)),
        (lambda: in_text("isUndoAvailable"), ("undo",)),
        (lambda: in_text("isRedoAvailable"), ("redo",)),
        (lambda: in_text("hasSelectedText", "hasSelection"), ("cut",)),
        (lambda: in_text() and can_paste(), ("paste",)),
    )
    for possible, names in conditions:
        for name in names:
            window.commands.allow(name, possible)


def has_choice(thinking: ThinkingControls) -> bool:
    return thinking.switch or bool(thinking.efforts)


def can_paste() -> bool:
    copied = QGuiApplication.clipboard().mimeData()
    return copied is not None and bool(copied.formats())


def in_text(ask: str = "", ask_cursor: str = "") -> bool:
    """Return whether the focus is in a text that can be changed, and what its method `ask` says of it.

    An editor of several lines is asked through its document, or through its cursor by the method `ask_cursor`.
    """
    widget = QApplication.focusWidget()
    if not isinstance(widget, QLineEdit | QPlainTextEdit | QTextEdit) or widget.isReadOnly():
        return False
    if isinstance(widget, QLineEdit):
        return not ask or bool(getattr(widget, ask)())
    asked: object = widget.textCursor() if ask_cursor else widget.document()
    return not ask or bool(getattr(asked, ask_cursor or ask)())
