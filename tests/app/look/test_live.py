"""Widgets deep in a window, and actions, update once for each change of language and look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app import words
from app.commands.commands import ActionButton
from app.look import theme
from app.look.live import Live, LiveAction, send_language_change, send_look_change
from app.look.theme import SIZES


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
    send_language_change()
    assert sign.heard == ["words"]
    sign.heard.clear()
    other = theme.DARK if was is theme.LIGHT else theme.LIGHT
    try:
        theme.apply(qapp, other)
        send_look_change()
        assert sign.heard == [other.name]
    finally:
        theme.apply(qapp, was)
        send_look_change()
    assert sign.heard == [other.name, was.name]


class Measuring(Live, QLabel):
    """A label that records its width at each `restyle`, in the font that the style sheet gives it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("Some words", parent)
        self.wide: list[int] = []
        self.apply_look()

    def restyle(self) -> None:
        self.ensurePolished()
        self.wide.append(self.sizeHint().width())


class Parent(Live, QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.inside = Measuring(self)
        self.found: list[int] = []
        self.apply_look()

    def restyle(self) -> None:
        self.found.append(self.inside.wide[-1])


@pytest.fixture
def large_text(qapp: QApplication) -> Iterator[None]:
    yield
    SIZES.scale(100)
    theme.apply(qapp, theme.theme())
    send_look_change()


def test_who_measures_does_so_in_the_new_look_and_after_what_is_inside(
    qtbot: QtBot, qapp: QApplication, large_text: None
) -> None:
    theme.apply(qapp, theme.theme())
    window = QWidget()
    qtbot.addWidget(window)
    parent = Parent(window)
    window.show()
    send_look_change()
    SIZES.scale(200)
    theme.apply(qapp, theme.DARK if theme.theme() is theme.LIGHT else theme.LIGHT)
    send_look_change()
    assert parent.inside.wide[-1] > parent.inside.wide[0]
    assert parent.found[-1] == parent.inside.wide[-1]


def test_an_actions_words_and_icon_are_those_of_its_buttons_in_every_language(qtbot: QtBot, qapp: QApplication) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    action = LiveAction(window, "&Settings…", "settings", ("Ctrl+,",), "Settings")
    button = ActionButton(action, window)
    was, before = theme.theme(), action.icon().cacheKey()
    assert (button.toolTip(), button.accessibleName()) == ("Settings (Ctrl+,)", "Settings")
    try:
        chinese = {"Settings": "设置", "&Settings…": "设置(&S)…", "{words} ({keys})": "{words}（{keys}）"}
        words.use(lambda text, _n=None: chinese.get(text))  # other tests' windows may still exist and be retranslated
        send_language_change()
        assert (action.text(), button.toolTip(), button.accessibleName()) == ("设置(&S)…", "设置（Ctrl+,）", "设置")
        theme.apply(qapp, theme.DARK if was is theme.LIGHT else theme.LIGHT)
        send_look_change()
        assert action.icon().cacheKey() != before
        assert button.icon().cacheKey() == action.icon().cacheKey()
    finally:
        words.use(None)
        send_language_change()
        theme.apply(qapp, was)
        send_look_change()
