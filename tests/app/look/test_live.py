"""A widget deep in a window hears of another language and another look, once each."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.look import theme
from app.look.live import Live, tell_language, tell_look


class Sign(Live, QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.heard: list[str] = []
        self.apply_look()

    def retranslate(self) -> None:
        self.heard.append("words")

    def restyle(self) -> None:
        self.heard.append(theme.theme().name)


def test_every_live_widget_hears_once(qtbot: QtBot, qapp: QApplication) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    middle = QWidget(window)
    QVBoxLayout(window).addWidget(middle)
    sign = Sign(middle)
    was = theme.theme()
    assert sign.heard == ["words", was.name]
    sign.heard.clear()
    tell_language()
    assert sign.heard == ["words"]
    sign.heard.clear()
    other = theme.DARK if was is theme.LIGHT else theme.LIGHT
    try:
        theme.apply(qapp, other)
        tell_look()
        assert sign.heard == [other.name]
    finally:
        theme.apply(qapp, was)
        tell_look()
    assert sign.heard == [other.name, was.name]
