"""Nothing moves under the pointer, typing reaches the composer, menus and settings say what is true: real widgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt, QUrl
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QMainWindow,
    QMenu,
    QPushButton,
    QScrollArea,
    QWidget,
)  # fmt: skip
from pytestqt.qtbot import QtBot

from app.commands.commands import CommandSet
from app.composer.status_line import StatusLine
from app.dialogs.dialog import Page
from app.dialogs.model_list import ModelList
from app.dialogs.models_dialog import ModelsDialog
from app.dialogs.server_dialog import ServerDialog
from app.dialogs.setting_row import LineControl, SwitchControl
from app.dialogs.settings_dialog import SettingsDialog
from app.look.sheet import Button, Sheet
from app.look.theme import SIZES, theme
from app.state.engine_state import EngineState
from app.transcript.model_offers import Offer, Offers
from app.wiring import Chickadee
from engine.protocol.events import ServedModel, Statistics
from models.collection import describe_model
from models.licences import licence_name
from tests.app.event_loop import settle
from tests.app.test_window import done, label_text
from tests.models.make_gguf import make_gguf

Ask = Callable[[Chickadee, str], None]
CARDS = Offers(tuple(Offer(f"heading {n}", f"model {n}", ("a line",), button="Download") for n in range(2)))


def open_settings(chickadee: Chickadee) -> SettingsDialog:
    chickadee.window.commands.run("settings")
    dialog = chickadee.settings_controller.dialog
    assert dialog is not None
    return dialog


def menu_of(chickadee: Chickadee, name: str) -> QMenu:
    action = chickadee.window.commands.actions[name]
    menus = chickadee.window.menuBar().findChildren(QMenu)
    return next(menu for menu in menus if action in menu.actions())


# --- the page of a new chat -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("introduced", [True, False])
def test_cards_of_better_models_move_nothing(chickadee: Chickadee, qtbot: QtBot, introduced: bool) -> None:
    welcome = chickadee.window.welcome
    if introduced:
        qtbot.mouseClick(welcome.begin, Qt.MouseButton.LeftButton)
    settle()
    parts: list[QWidget] = [welcome.title, *welcome.sentences, welcome.begin, *welcome.examples]
    shown = [part for part in parts if part.isVisible()]
    places = [part.mapTo(welcome, QPoint()) for part in shown]
    welcome.offers.show_offers(lambda: CARDS)
    qtbot.waitUntil(welcome.offers.cards[1].isVisible)
    settle()
    assert [part.mapTo(welcome, QPoint()) for part in shown] == places
    assert all(card.geometry().top() >= 0 for card in welcome.offers.cards)
    assert welcome.offers.mapTo(welcome, QPoint()).y() > max(place.y() for place in places)


def test_a_new_chats_page_begins_at_its_top(chickadee: Chickadee, qtbot: QtBot) -> None:
    window = chickadee.window
    window.resize(700, 420)
    window.welcome.offers.show_offers(lambda: CARDS)
    qtbot.waitUntil(lambda: window.welcome.verticalScrollBar().maximum() > 0)
    window.welcome.verticalScrollBar().setValue(200)
    window.show_page(empty=False)
    window.show_page(empty=True)
    assert window.welcome.verticalScrollBar().value() == 0


# --- models -----------------------------------------------------------------------------------------------------------


def test_loading_a_model_keeps_the_order_of_the_rows_and_is_said_there(tmp_path: Path) -> None:
    first, second = (describe_model(make_gguf(tmp_path / f"{name}.gguf")) for name in ("a", "b"))
    models = ModelList(local_models=[first, second], loaded=first.path)
    before = [row.key for row in models.sections()["here"]]
    models.shown = {key: place for place, key in enumerate(before)}
    models.loaded, models.loading = None, second.path
    rows = {row.key: row for row in models.sections()["here"]}
    assert list(rows) == before
    assert rows["here", second.path].facts.startswith("being loaded · ")
    assert rows["here", second.path].actions[:2] == ("loading", "options")
    models.loaded, models.loading = second.path, None
    assert [row.key for row in models.sections()["here"]] == before


def test_the_status_line_drops_the_speed_of_a_model_that_is_gone(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    line = StatusLine(CommandSet(window), window)
    numbers = Statistics(10, 0, 1.0, 100, 2.0, 100, "end", 110, 4096)
    line.show_engine(EngineState("loading", Path("/other.gguf"), statistics=numbers))
    assert line.speed.isHidden()


def test_the_menu_of_models_ticks_the_one_in_use_and_says_size_and_speed(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    paths, chosen = [Path("/models/a.gguf"), Path("/models/b.gguf")], list[Path]()
    line = StatusLine(CommandSet(window), window)
    line.chosen.connect(chosen.append)
    line.show_models(paths, lambda path: f"{path.stem} GB")
    line.show_engine(EngineState("ready", paths[1]))
    menu = line.model_menu()
    entries = [action for action in menu.actions() if action.isCheckable()]
    assert [action.isChecked() for action in entries] == [False, True]
    assert [action.text().split("\t")[1] for action in entries] == ["a GB", "b GB"]
    entries[0].trigger()
    assert chosen == paths[:1]


def test_the_model_in_use_has_its_size_in_the_menu(chickadee: Chickadee, tmp_path: Path) -> None:
    path = make_gguf(tmp_path / "a.gguf")
    assert chickadee.models.controller._words_about(path).endswith("kB")


def test_licences_have_their_proper_names() -> None:
    assert licence_name("apache-2.0") == "Apache License 2.0"
    assert licence_name("LFM Open License v1.0") == "LFM Open License v1.0"


# --- the keyboard -----------------------------------------------------------------------------------------------------


def test_typing_reaches_the_composer_from_anywhere(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee))
    window, composer = chickadee.window, chickadee.window.composer
    view = window.transcript.views[-1]
    for place in (view, window.status.memory, window.header.toggle, window):
        composer.text.clear()
        place.setFocus(Qt.FocusReason.OtherFocusReason)
        qtbot.keyClick(place, Qt.Key.Key_H)
        assert composer.text.toPlainText() == "h", place
        assert composer.text.hasFocus()
    qtbot.keyClick(view, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
    assert composer.text.toPlainText() == "h"


def test_after_sending_an_edit_the_user_goes_on_writing(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee))
    view = chickadee.window.transcript.views[0]
    chickadee.chats.messages.edit(view.message.id)
    assert view.editor is not None
    qtbot.keyClicks(view.editor.text, " again")
    qtbot.keyClick(view.editor.text, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: done(chickadee))
    assert chickadee.window.composer.text.hasFocus()


def test_ctrl_home_works_while_writing(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    window, control = chickadee.window, Qt.KeyboardModifier.ControlModifier
    for text in ("long one", "long two"):
        ask(chickadee, text)
        qtbot.waitUntil(lambda: done(chickadee))
    went: list[str] = []
    window.commands.actions["to_start"].triggered.connect(lambda: went.append("start"))
    qtbot.keyClicks(window.composer.text, "draft")
    qtbot.keyClick(window.composer.text, Qt.Key.Key_Home, control)
    assert went == []
    assert window.composer.text.textCursor().position() == 0
    qtbot.keyClick(window.composer.text, Qt.Key.Key_Home, control)
    assert went == ["start"]


@pytest.mark.parametrize("name", ["settings", "models", "help", "about", "guide", "snippets", "collections"])
def test_enter_presses_the_focused_button_of_every_dialog(chickadee: Chickadee, qtbot: QtBot, name: str) -> None:
    before = set(chickadee.window.findChildren(QDialog))
    chickadee.window.commands.run(name)
    dialog = next(each for each in chickadee.window.findChildren(QDialog) if each not in before)
    buttons = [each for each in dialog.findChildren(QPushButton) if each.isVisible() and each.isEnabled()]
    button = buttons[-1]
    pressed: list[bool] = []
    button.clicked.connect(lambda: pressed.append(True))
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Return)
    assert pressed == [True]
    dialog.close()


# --- menus, palette, settings -----------------------------------------------------------------------------------------


def test_menus_grey_what_cannot_be_done(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    actions, menu = chickadee.window.commands.actions, menu_of(chickadee, "delete_chat")
    menu.aboutToShow.emit()
    assert not actions["delete_chat"].isEnabled()
    assert actions["bin"].isEnabled()
    menu.aboutToHide.emit()
    assert actions["delete_chat"].isEnabled()  # its keys must work once there is a chat
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee))
    menu.aboutToShow.emit()
    assert actions["delete_chat"].isEnabled()
    assert actions["again"].isEnabled()
    menu.aboutToHide.emit()
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.answer is not None)
    menu.aboutToShow.emit()
    assert not actions["answer_now"].isEnabled()  # the answer has no thought that could end
    menu.aboutToHide.emit()
    chickadee.window.commands.run("stop")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)


def test_the_edit_menu_undoes_cuts_copies_and_pastes(chickadee: Chickadee, qtbot: QtBot) -> None:
    window, text = chickadee.window, chickadee.window.composer.text
    menu = menu_of(chickadee, "cut")
    qtbot.keyClicks(text, "bird")
    menu.aboutToShow.emit()
    assert window.commands.actions["undo"].isEnabled()
    assert not window.commands.actions["cut"].isEnabled()  # nothing is selected
    menu.aboutToHide.emit()
    text.selectAll()
    window.commands.run("cut")
    assert text.toPlainText() == ""
    window.commands.run("paste")
    window.commands.run("paste")
    assert text.toPlainText() == "birdbird"
    window.commands.run("undo")
    assert text.toPlainText() == "bird"


def test_the_palette_finds_themes_and_settings(chickadee: Chickadee, qtbot: QtBot) -> None:
    palette = chickadee.chats.palette.palette
    chickadee.window.commands.run("palette")
    qtbot.keyClicks(palette.line, "dark")
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert chickadee.settings_controller.settings.values["window.theme"] == "dark"
    assert theme().paper != "#ffffff"
    for name, row in open_settings(chickadee).rows.items():
        chickadee.window.commands.run("palette")
        palette.line.setText(row.title.text())
        assert name in [entry.id for entry in palette.shown_entries()], name
    palette.dismiss()
    chickadee.settings_controller.use("answer.temperature", "")
    dialog = open_settings(chickadee)
    assert dialog.rows["answer.temperature"].isVisible()
    assert (
        dialog.page.viewport()
        .rect()
        .contains(dialog.rows["answer.temperature"].mapTo(dialog.page.viewport(), QPoint(5, 20)))
    )


def test_a_switch_and_a_slider_change_settings(chickadee: Chickadee, qtbot: QtBot) -> None:
    dialog, values = open_settings(chickadee), chickadee.settings_controller.settings
    switch = dialog.rows["window.notify"].control
    assert isinstance(switch, SwitchControl)
    assert switch.isChecked()
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert values.values["window.notify"] == "off"
    qtbot.keyClick(switch, Qt.Key.Key_Return)
    assert values.values["window.notify"] == "on"
    slider = dialog.rows["answer.temperature"].slider
    assert slider is not None
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_Home)
    assert values.values["answer.temperature"] == 0
    qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert values.values["answer.temperature"] == 0.05


def test_the_section_that_is_shown_is_marked(chickadee: Chickadee, qtbot: QtBot) -> None:
    dialog = open_settings(chickadee)
    for name in ("answer", "engine", "storage", "window"):
        qtbot.mouseClick(dialog.section_buttons[name], Qt.MouseButton.LeftButton)
        assert [key for key, each in dialog.section_buttons.items() if each.isChecked()] == [name]


def test_the_values_that_the_makers_recommend_are_shown(chickadee: Chickadee, qtbot: QtBot) -> None:
    dialog, settings = open_settings(chickadee), chickadee.settings_controller.settings
    row = dialog.rows["answer.temperature"]
    dialog.show_recommended({"answer.temperature": 0.7, "answer.top_k": 20}, "Bird 1B")
    line, other = row.control, dialog.rows["answer.top_k"].control
    assert isinstance(line, LineControl)
    assert isinstance(other, LineControl)
    assert (line.text(), other.text()) == ("0.7", "20")
    assert "makers of Bird 1B" in row.effect.text()
    line.selectAll()
    qtbot.keyClicks(line, "0.8")  # the value that holds where nobody recommends another one
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert settings.differs("answer.temperature")
    assert line.text() == "0.8"
    row.reset_button.click()
    assert line.text() == "0.7"


def test_the_dialog_lists_no_research_options(chickadee: Chickadee) -> None:
    dialog = open_settings(chickadee)
    assert not {"engine.kv_mode", "engine.kv_share", "engine.kv_policy", "engine.exit_layers"} & set(dialog.rows)
    assert not any("benchmarks" in row.help.text() for row in dialog.rows.values())


def test_the_guide_opens_in_the_window(chickadee: Chickadee) -> None:
    chickadee.window.commands.run("guide")
    guide = chickadee.chats.palette.guide.open
    assert guide is not None
    assert "Using Chickadee" in guide.text.toPlainText()
    page = guide.text.toHtml()
    assert "![" not in page
    assert "troubleshooting.md" not in page
    guide.text.setSource(QUrl("#privacy"))
    assert guide.text.cursorForPosition(QPoint(5, 5)).block().text() == "Privacy"
    guide.close()


# --- what belongs to a chat, and small windows ------------------------------------------------------------------------


def test_a_notice_about_a_chat_is_shown_in_that_chat(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee))
    chickadee.chats.chat.copy_answer()
    notice = chickadee.window.notice
    assert notice.isVisible()
    chickadee.window.commands.run("new_chat")
    assert not notice.isVisible()
    chickadee.window.commands.run("next_chat")
    assert notice.text.text() == "Answer copied."
    assert notice.isVisible()


def test_the_models_name_stands_under_its_answer(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee))
    view = chickadee.window.transcript.views[-1]
    assert label_text(view, "modelName") == view.message.model != ""
    height = view.height()
    assert view._labels["modelName"].geometry().bottom() < height


def test_a_panel_fits_a_small_window(chickadee: Chickadee, qtbot: QtBot) -> None:
    window = chickadee.window
    window.resize(800, 600)
    window.commands.run("engine")
    panel = window._panels[0]
    qtbot.waitUntil(panel.isVisible)
    qtbot.waitUntil(lambda: panel.mapTo(window, panel.rect().topRight()).x() < window.width())
    assert window.sidebar.isHidden()
    window.commands.run("engine")
    qtbot.waitUntil(window.sidebar.isVisible)


def test_a_test_of_a_server_moves_none_of_the_lines_above(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    dialog = ServerDialog(None, window)
    dialog.show()
    qtbot.waitUntil(dialog.isVisible)
    dialog.address.setText("http://127.0.0.1:8991")
    place = dialog.name.mapTo(dialog, QPoint())
    dialog.show_models("http://127.0.0.1:8991", "", [ServedModel("a", 4096)])
    qtbot.waitUntil(dialog.models.isVisible)
    settle()
    assert dialog.name.mapTo(dialog, QPoint()).x() == place.x()
    assert abs(dialog.name.mapTo(dialog, QPoint()).y() - place.y()) <= 1


def test_a_row_of_buttons_is_wrapped_where_there_is_little_room(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    sheet = Sheet(window)
    words = ("Connect to a server…", "Add folder…", "Check for new models", "Restore defaults")
    buttons = [Button(sheet, each) for each in words]
    buttons[1].hide()
    sheet.lay_out(Page(sheet), (*buttons[:3], None, buttons[3]))
    sheet.show()
    sheet.resize(400, 400)
    qtbot.waitUntil(lambda: buttons[3].isVisible() and sheet.width() == 400)
    shown = [button for button in buttons if button.isVisible()]
    assert shown == [buttons[0], *buttons[2:]]
    assert all(button.width() >= button.sizeHint().width() for button in shown)
    assert len({button.y() for button in shown}) > 1
    right = [button.mapTo(sheet, QPoint(button.width(), 0)).x() for button in shown]
    assert max(right) == right[2] <= 400 - SIZES.gap_xl


def test_everything_fits_a_screen_of_800_by_600_at_200_percent(chickadee: Chickadee, qtbot: QtBot) -> None:
    """Of the 400×300 pixels that are left, the title bar takes some."""
    room = QSize(400, 300 - SIZES.title_bar)
    models = open_models(chickadee)
    models.setMinimumWidth(1)  # it follows the screen, and that of the tests is wider
    for window in (chickadee.window, open_settings(chickadee), models):
        for _ in range(2):  # the first makes some room
            window.resize(room)
            QApplication.processEvents()
        assert window.size() == room
        for button in window.findChildren(QAbstractButton):
            if button.isVisible() and not inside_scroll_area(button):
                assert button.visibleRegion().boundingRect() == button.rect(), button.text()


def open_models(chickadee: Chickadee) -> ModelsDialog:
    chickadee.window.commands.run("models")
    dialog = chickadee.models.controller.dialog
    assert dialog is not None
    return dialog


def inside_scroll_area(widget: QWidget) -> bool:
    above = widget.parentWidget()
    while above is not None and not isinstance(above, QScrollArea):
        above = above.parentWidget()
    return above is not None
