"""The menu of one message: what the row below it offers, what is selected or pointed at, and facts."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QCursor, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.look.icons import icon
from app.look.theme import theme
from app.markdown.blocks import code_of
from app.markdown.prose_view import ProseView
from app.markdown.selection import scope_of
from app.state.answer_facts import facts_of
from app.state.message_actions import actions_of
from app.transcript.message_view import MessageView
from app.words import tr

KEYS = {"edit": "F2", "delete": "Del", "copy": "Ctrl+C", "previous": "Alt+Left", "next": "Alt+Right"}


class MessageMenu(QMenu):
    """`chosen` carries the name of an action. Gone when it closes."""

    chosen = Signal(str)

    def __init__(self, view: MessageView, parent: QWidget) -> None:
        super().__init__(parent)
        self.aboutToHide.connect(self.deleteLater)
        self._view = view
        self._add_pointed_at()
        for action in actions_of(view.message, view.place):
            entry = self._add(action.name, tr(action.label), action.icon)
            entry.setEnabled(action.while_busy or not view.place.busy)
            if action.name == "copy":
                self._add_code()
        if view.place.of > 1:
            self.addSeparator()
            self._add("previous", tr("Previous version"), "previous").setEnabled(view.place.at > 1)
            self._add("next", tr("Next version"), "next").setEnabled(view.place.at < view.place.of)
        if view.place.deleted:
            self._add("restore", tr("Restore deleted messages below"), "again")
        if view.has_details:
            self._add("details", tr("Details"), "chevron")
        self.addSeparator()
        for line in facts_of(view.message):
            self.addAction(line.replace("&", "&&")).setEnabled(False)

    def _add(self, name: str, label: str, drawing: str) -> QAction:
        action = self.addAction(icon(drawing, theme().soft), label)
        if name in KEYS:
            action.setShortcut(QKeySequence(KEYS[name]))
            action.setShortcutVisibleInContextMenu(True)
        action.triggered.connect(lambda: self.chosen.emit(name))
        return action

    def _add_code(self) -> None:
        blocks = code_of(self._view.message.content)
        if blocks and self._view.message.role == "assistant":
            self._copying(tr("Copy code"), "\n\n".join(blocks))

    def _add_pointed_at(self) -> None:
        """The selection and the link under the pointer come first: they are what the menu was opened for."""
        scope = scope_of(self._view)
        selected = scope.selected_text() if scope is not None else ""
        if selected:
            self._copying(tr("Copy selection"), selected)
        for part in self._view.findChildren(ProseView):
            link = part.anchorAt(part.viewport().mapFromGlobal(QCursor.pos())) if part.underMouse() else ""
            if link:
                self._copying(tr("Copy link address"), link)
        if self.actions():
            self.addSeparator()

    def _copying(self, label: str, text: str) -> None:
        entry = self.addAction(icon("copy", theme().soft), label)
        entry.triggered.connect(lambda: QGuiApplication.clipboard().setText(text))
