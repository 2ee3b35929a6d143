"""A text without scroll bars tells the height that it needs at each width."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.markdown.blocks import split
from app.markdown.prose_view import ProseView


def test_the_height_is_that_of_the_width_asked_for_before_the_view_is_shown_too(qtbot: QtBot) -> None:
    """The last chat is measured before the window is shown, then at the window's width: it kept a line too much."""
    page = QWidget()
    qtbot.addWidget(page)
    view = ProseView(page)
    view.set_block(split("Write a long story about a clockmaker who repairs a moon clock.")[0])
    natural = view.natural_width()
    narrow = view.heightForWidth(natural - 60)
    view.setGeometry(0, 0, natural - 60, narrow)
    view.show()  # not on the screen, because the page is still hidden
    assert view.heightForWidth(natural) < narrow
    assert view.document().textWidth() == natural
