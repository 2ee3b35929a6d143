"""Tool tips of links and names, keys in a dialog, and timers while the window is idle."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6 import QtGui
from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox
from pytestqt.qtbot import QtBot

from app.markdown.prose_view import ProseView
from app.wiring import Chickadee
from app.words import escaped_html
from tests.app.test_window import done

Ask = Callable[[Chickadee, str], None]
ADDRESS = "https://example.org/?a=1&b=<i>2</i>"


def seen(tip: str) -> str:
    """Return a tool tip as the user sees it; Qt guesses whether the tip is HTML."""
    if not QtGui.Qt.mightBeRichText(tip):
        return tip
    document = QTextDocument()
    document.setHtml(tip)
    return document.toPlainText()


@pytest.mark.parametrize("text", ["a & b", "<b>bold</b>", "a &amp; b", "first\nsecond", "C:\\x<y>.gguf"])
def test_a_tip_shows_a_text_as_it_is_written(text: str, qapp: QApplication) -> None:
    assert seen(escaped_html(text)) == text


def test_a_links_tip_is_its_address(qtbot: QtBot) -> None:
    view = ProseView()
    qtbot.addWidget(view)
    view.highlighted.emit(QUrl(ADDRESS))
    assert "a=1&b=" in seen(view.toolTip())
    assert "&amp;" not in seen(view.toolTip())


def test_a_models_name_is_no_html_while_it_loads(chickadee: Chickadee) -> None:
    progress = chickadee.window.composer.progress
    chickadee.window.composer.set_progress("Loading <h1>x</h1>", 0.5)
    assert progress.textFormat() == Qt.TextFormat.PlainText


def test_the_processor_is_left_alone_while_nothing_is_answered(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    def repeating() -> list[QTimer]:
        timers = chickadee.findChildren(QTimer) + chickadee.window.findChildren(QTimer)
        # The collector of Python's garbage looks a few times a minute.
        return [timer for timer in timers if timer.isActive() and not timer.isSingleShot() and timer.interval() < 1000]

    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    qtbot.waitUntil(lambda: not repeating())
    ask(chickadee, "slow hello")
    assert repeating()
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: done(chickadee))
    qtbot.waitUntil(lambda: not repeating())


def about(chickadee: Chickadee) -> QDialog:
    chickadee.window.commands.run("about")
    dialog = chickadee.chats.palette.about.open
    assert dialog is not None
    return dialog


def question(chickadee: Chickadee) -> QDialog:
    box = QMessageBox(chickadee.window)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
    return box


@pytest.mark.parametrize("make", [about, question])
def test_the_program_is_quit_with_a_dialog_open(
    chickadee: Chickadee, make: Callable[[Chickadee], QDialog], qtbot: QtBot
) -> None:
    dialog = make(chickadee)
    qtbot.waitUntil(lambda: QApplication.activeWindow() is dialog)
    with qtbot.waitSignal(chickadee.window.closing):
        qtbot.keyClick(dialog, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert not chickadee.window.isVisible()


def test_the_time_axis_shows_the_last_minute_from_the_start(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.window.commands.run("engine")
    panel = chickadee.chats.engine_monitor.panel
    qtbot.waitUntil(lambda: panel.steps is not None)
    assert panel.steps is not None
    first, last = panel.steps.plot.getViewBox().viewRange()[0]
    assert (first, last) == (-60, 0)
    assert "x0.001" not in panel.steps.plot.getAxis("bottom").labelString()
