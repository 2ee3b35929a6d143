"""Paints a row of the list of chats; rows in a folder are set in."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.look.theme import SIZES
from app.words import tr


class RowDelegate(QStyledItemDelegate):
    """Knows how far a row is set in, and what the field is called in which it is renamed."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, self._moved(option, index), index)

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        editor = super().createEditor(parent, option, index)
        editor.setAccessibleName(tr("New name"))
        return editor

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().updateEditorGeometry(editor, self._moved(option, index), index)

    def _moved(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QStyleOptionViewItem:
        levels = index.data(Qt.ItemDataRole.UserRole + 1) or 0
        moved = QStyleOptionViewItem(option)
        moved.rect.setLeft(moved.rect.left() + levels * SIZES.gap_l)
        return moved
