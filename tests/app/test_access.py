"""Every control has a name, can be reached with Tab in a sensible order, and has readable colours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import groupby

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.look.theme import DARK, LIGHT, SIZES, Theme, stylesheet
from app.services.frames import slices
from app.wiring import Chickadee
from models.assets import asset
from tests.app.contrast import contrast

Ask = Callable[[Chickadee, str], None]
USED = (QAbstractButton, QAbstractItemView, QComboBox, QLineEdit, QPlainTextEdit)
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
TEXT, LARGE = 4.5, 3.0
# The ground of each selector whose own rule names none.
GROUNDS = {
    "#status": "paper", "#welcome": "paper", "#chatTitle": "paper", "#problem": "paper", "#aside": "paper",
    "#details": "code", "#codeLabel": "code", "#chats": "side", "#empty": "side", "#noticeText": "raised",
    "#setting": "paper", "#nothingFound": "paper", "#sheet": "paper", "#progressText": "raised",
}  # fmt: skip


def tokens(theme: Theme) -> dict[str, str]:
    return {name: value for name, value in asdict(theme).items() if str(value).startswith("#")}


def style() -> str:
    """Return the stylesheet's source, with its ${names} without braces."""
    return re.sub(r"\$\{(\w+)\}", r"$\1", asset("style.qss").read_text(encoding="utf-8"))


def pairs() -> Iterator[tuple[str, str, str]]:
    """Yield selector, token of the text and token of its ground for every rule of the stylesheet that sets a colour."""
    for selectors, body in RULE.findall(style()):
        said = dict(re.findall(r"(?<![\w-])(color|background):\s*\$(\w+)", body))
        for selector in selectors.split(","):
            selector = selector.strip()
            if "color" in said:
                ground = next((name for key, name in GROUNDS.items() if selector.startswith(key)), "paper")
                yield selector, said["color"], said.get("background", ground)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_each_text_of_the_stylesheet_can_be_read(theme: Theme) -> None:
    colours, found = tokens(theme), list(pairs())
    assert len(found) > 20
    for selector, text, ground in found:
        assert contrast(colours[text], colours[ground]) >= TEXT, (selector, text, ground)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_icons_focus_and_bars_can_be_seen(theme: Theme) -> None:
    colours = tokens(theme)
    for mark in ("accent", "soft", "danger"):
        for ground in ("paper", "side", "raised", "code", "hover"):
            assert contrast(colours[mark], colours[ground]) >= LARGE, (mark, ground)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_stylesheet_has_no_colour_of_its_own(theme: Theme) -> None:
    bodies = " ".join(body for _, body in RULE.findall(style()))
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", bodies) == []
    assert "$" not in stylesheet(theme)


@pytest.mark.parametrize("percent", [80, 100, 150, 200])
def test_a_text_size_scales_what_holds_text(percent: int) -> None:
    try:
        SIZES.scale(percent)
        assert SIZES.body == round(15 * percent / 100)
        assert SIZES.row == round(34 * percent / 100)
        assert (SIZES.gap, SIZES.radius) == (8, 8)
        assert f"font-size: {SIZES.body}px" in stylesheet(LIGHT)
    finally:
        SIZES.scale(100)


def controls(window: QWidget) -> list[QWidget]:
    """Return the visible parts that can be clicked or typed in, without Qt's own inner parts."""
    parts = [part for kind in USED for part in window.findChildren(kind)]
    return [
        part for part in parts if part.isVisible() and not part.objectName().startswith("qt_") and not is_qt_part(part)
    ]


def is_qt_part(part: QWidget) -> bool:
    """Return whether Qt made the part: the list of a combo box or the clear button of a line edit."""
    above: QWidget | None = part.parentWidget()
    while above is not None:
        if isinstance(above, QComboBox | QLineEdit):
            return True
        above = above.parentWidget()
    return False


def spoken_name(part: QWidget) -> str:
    """Return what a screen reader says of a part: its accessible name, else its text."""
    return part.accessibleName() or (part.text() if isinstance(part, QAbstractButton) else "")


@pytest.fixture
def with_chat(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> Chickadee:
    ask(chickadee, "Hello")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    ask(chickadee, "many")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy and not slices()._steps)  # all is laid out too
    return chickadee


def test_everything_that_is_used_has_a_name(with_chat: Chickadee) -> None:
    window = with_chat.window
    with_chat.settings_controller.open()
    window.commands.run("help")
    window.commands.run("about")
    window.commands.run("models")
    window.commands.run("palette")
    window.notice.post("Something", "Undo", detail="more")
    shown: list[QWidget] = [part for part in QApplication.topLevelWidgets() if part.isVisible()]
    assert len(shown) >= 4
    nameless = [repr(part) for top in shown for part in controls(top) if not spoken_name(part).strip()]
    assert nameless == []
    for top in shown:
        if top is not window:
            top.close()


def press_round(steps: int, qtbot: QtBot, key: Qt.Key) -> dict[QWidget, str]:
    """Press `key` until a part has the focus again; return the parts in that order, with their names at the time.

    A message's buttons come and go with the focus: in the next round, other buttons have the same names.
    """
    seen: dict[QWidget, str] = {}
    for _ in range(steps):
        part: QWidget | None = QApplication.focusWidget()
        if part is None or part in seen:
            break
        seen[part] = spoken_name(part)
        qtbot.keyClick(part, key)
    return seen


def reversed_names(turn: dict[QWidget, str]) -> list[str]:
    """Return the names of the opposite round from the same part."""
    first, *others = turn.values()
    return [first, *reversed(others)]


def test_tab_comes_everywhere_and_round_again(with_chat: Chickadee, qtbot: QtBot) -> None:
    window = with_chat.window
    window.activateWindow()
    window.composer.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is window.composer.text)
    turn = press_round(80, qtbot, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is window.composer.text  # back at the start
    missed = [part for part in controls(window) if part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.isEnabled()]
    assert [spoken_name(part) for part in missed if part not in turn and part.focusProxy() is None] == []
    order = [window.composer, window.status, window.sidebar, window.header, window.transcript, window.composer]
    where = [next(area for area in order if area.isAncestorOf(part)) for part in turn]
    assert [area for area, _ in groupby(where)] in (order, order[:-1])
    back = press_round(80, qtbot, Qt.Key.Key_Backtab)
    assert list(back.values()) == reversed_names(turn)


def test_tab_goes_through_the_engine_panel_and_the_notice_too(with_chat: Chickadee, qtbot: QtBot) -> None:
    """Tab visits panel and notice in reading order: from the left, each part from top to bottom."""
    window = with_chat.window
    window.resize(1280, 800)
    window.commands.run("engine")
    window.notice.post("Something", "Undo", detail="more")
    window.activateWindow()
    window.composer.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is window.composer.text)
    turn = press_round(120, qtbot, Qt.Key.Key_Tab)
    missed = [part for part in controls(window) if part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.isEnabled()]
    assert [spoken_name(part) for part in missed if part not in turn and part.focusProxy() is None] == []
    notice = [window.notice.fold, window.notice.button, window.notice.close_button]
    assert [part for part in turn if part in notice] == notice
    back = press_round(120, qtbot, Qt.Key.Key_Backtab)
    assert list(back.values()) == reversed_names(turn)
    window.commands.run("engine")


def test_what_has_the_focus_looks_different(with_chat: Chickadee) -> None:
    """Every control of the stylesheet that takes the focus has a rule for the focus."""
    source = style()
    for control in ("QPushButton", "QToolButton", "#send", "#down", "#paletteLine", "#settings QComboBox"):
        assert f"{control}:focus" in source
    assert "#chats::item:selected:focus" in source or "#chats:focus" in source
