"""The settings' dialog through its real widgets, with the scripted engine: changes are stored and applied."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QDesktopServices, QWheelEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.dialogs.setting_row import ChoiceControl, LineControl, TextControl
from app.dialogs.settings_dialog import RESET_ALL, UNDO_RESET, SettingsDialog
from app.folders import Folders
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Load, Message, Prepare
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, last_text
from tests.app.transcript.test_long_chats import ask_and_wait, choose


def open_dialog(chickadee: Chickadee, qtbot: QtBot) -> SettingsDialog:
    qtbot.mouseClick(chickadee.window.header.settings, Qt.MouseButton.LeftButton)
    dialog = chickadee.settings_controller.dialog
    assert dialog
    qtbot.waitExposed(dialog)
    return dialog


@pytest.fixture
def dialog(chickadee: Chickadee, qtbot: QtBot) -> SettingsDialog:
    return open_dialog(chickadee, qtbot)


def line(dialog: SettingsDialog, name: str) -> LineControl:
    control = dialog.rows[name].control
    assert isinstance(control, LineControl)
    return control


def enter(dialog: SettingsDialog, qtbot: QtBot, name: str, text: str) -> None:
    """Replace the row's text by a value, and press Enter."""
    control = line(dialog, name)
    control.selectAll()
    qtbot.keyClick(control, Qt.Key.Key_Delete)
    qtbot.keyClicks(control, text)
    qtbot.keyClick(control, Qt.Key.Key_Return)


def pick(dialog: SettingsDialog, qtbot: QtBot, name: str, value: str) -> None:
    """Choose a value with the keyboard."""
    control = dialog.rows[name].control
    assert isinstance(control, ChoiceControl)
    control.setFocus()
    qtbot.keyClick(control, Qt.Key.Key_Home)
    for _ in range(control.findData(value)):
        qtbot.keyClick(control, Qt.Key.Key_Down)
    assert control.currentData() == value


def stored(folders: Folders) -> dict[str, object]:
    return tomllib.loads(folders.settings.read_text(encoding="utf-8"))


def loads(requests: Requests) -> list[Load]:
    return [request for request in requests() if isinstance(request, Load)]


def last_answer(requests: Requests) -> Generate:
    return [request for request in requests() if isinstance(request, Generate)][-1]


def shown(dialog: SettingsDialog) -> list[str]:
    return [name for name, row in dialog.rows.items() if row.isVisible()]


def test_a_change_is_stored_and_the_next_answer_heeds_it(
    dialog: SettingsDialog, chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders, requests: Requests
) -> None:
    enter(dialog, qtbot, "answer.temperature", "0.2")
    pick(dialog, qtbot, "engine.draft", "off")
    enter(dialog, qtbot, "answer.max_tokens", "77")
    assert stored(folders) == {
        "answer": {"temperature": 0.2, "max_tokens": 77},
        "engine": {"draft": "off"},
    }
    ask_and_wait(chickadee, ask, qtbot, "hello")
    answer = last_answer(requests)
    assert (answer.sampling.temperature, answer.max_tokens) == (0.2, 77)
    assert answer.draft == "off"
    assert len(loads(requests)) == 1


def test_what_needs_loading_again_is_loaded_when_idle_and_the_chat_stays(
    dialog: SettingsDialog, chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders, requests: Requests
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "hello")
    enter(dialog, qtbot, "engine.context", "2048")
    enter(dialog, qtbot, "engine.threads", "3")
    enter(dialog, qtbot, "engine.memory", "3GiB")
    pick(dialog, qtbot, "engine.kv_type", "q8_0")
    enter(dialog, qtbot, "cache.saved_chats", "0")
    qtbot.waitUntil(lambda: len(loads(requests)) > 1 and chickadee.engine.state.phase == "ready", timeout=SECONDS)
    load = loads(requests)[-1]
    assert (load.n_ctx, load.threads, load.memory_bytes, load.kv_type) == (2048, 3, 3 << 30, "q8_0")
    assert load.saved_chats_bytes == 0
    assert chickadee.window.status.context.text().endswith("/ 2,048")
    assert last_text(chickadee) == "echo: hello"
    ask_and_wait(chickadee, ask, qtbot, "again")
    assert len(loads(requests)) == 2


def test_a_message_that_comes_first_loads_the_model_again(
    dialog: SettingsDialog, chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    enter(dialog, qtbot, "engine.context", "2048")
    ask_and_wait(chickadee, ask, qtbot, "hello")
    kinds = [type(request) for request in requests() if not isinstance(request, Prepare)]
    assert kinds == [Load, Load, Generate]
    assert loads(requests)[-1].n_ctx == 2048


def test_an_answer_under_way_is_not_cut_short(
    dialog: SettingsDialog, chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    enter(dialog, qtbot, "engine.threads", "1")
    chickadee.settings_controller.settled.emit()
    assert len(loads(requests)) == 1
    assert chickadee.open_chats.current.busy
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: len(loads(requests)) == 2, timeout=SECONDS)
    assert loads(requests)[-1].threads == 1


def test_what_was_chosen_for_a_long_chat_survives_other_settings(
    dialog: SettingsDialog, chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "long")
    choose(chickadee, qtbot, "Use a context of 8,192 tokens")
    qtbot.waitUntil(lambda: last_text(chickadee) == "echo: long", timeout=SECONDS)
    enter(dialog, qtbot, "engine.threads", "1")
    qtbot.waitUntil(lambda: len(loads(requests)) == 3, timeout=SECONDS)
    assert (loads(requests)[-1].threads, loads(requests)[-1].n_ctx) == (1, 8192)


def test_instructions_are_read_before_the_chat(
    dialog: SettingsDialog, chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders, requests: Requests
) -> None:
    words = dialog.rows["answer.system_prompt"].control
    assert isinstance(words, TextControl)
    words.setFocus()
    qtbot.keyClicks(words, "Be kind.")
    qtbot.keyClick(words, Qt.Key.Key_Return)
    qtbot.keyClicks(words, "Be brief.")
    qtbot.waitUntil(folders.settings.exists, timeout=SECONDS)
    assert stored(folders) == {"answer": {"system_prompt": "Be kind.\nBe brief."}}
    assert words.textCursor().atEnd()
    ask_and_wait(chickadee, ask, qtbot, "hello")
    instructions = Message("system", "Be kind.\nBe brief.")
    assert last_answer(requests).messages == (instructions, Message("user", "hello"))
    qtbot.waitUntil(lambda: isinstance(requests()[-1], Prepare), timeout=SECONDS)
    ahead = requests()[-1]
    assert isinstance(ahead, Prepare)
    assert ahead.messages[0] == instructions


def test_a_wrong_value_is_told_in_its_row_and_not_stored(
    dialog: SettingsDialog, qtbot: QtBot, folders: Folders
) -> None:
    row = dialog.rows["engine.threads"]
    enter(dialog, qtbot, "engine.threads", "many")
    assert row.problem.isVisible()
    assert row.problem.text() == "This must be auto or a whole number from 1 to 512."
    enter(dialog, qtbot, "answer.top_k", "40")
    assert line(dialog, "engine.threads").text() == "many"
    qtbot.mouseClick(row.reset_button, Qt.MouseButton.LeftButton)
    assert (line(dialog, "engine.threads").text(), row.problem.isHidden(), row.reset_button.isHidden()) == (
        "",
        True,
        True,
    )
    assert not folders.settings.exists()
    enter(dialog, qtbot, "engine.threads", "many")
    enter(dialog, qtbot, "engine.threads", "2")
    assert row.problem.isHidden()
    assert stored(folders) == {"engine": {"threads": 2}}


def test_a_row_is_reset_and_offers_it_only_when_there_is_something_to_reset(
    dialog: SettingsDialog, qtbot: QtBot, folders: Folders
) -> None:
    row = dialog.rows["answer.top_k"]
    assert row.reset_button.isHidden()
    enter(dialog, qtbot, "answer.top_k", "5")
    assert row.reset_button.isVisible()
    row.reset_button.setFocus()
    qtbot.keyClick(row.reset_button, Qt.Key.Key_Space)
    assert line(dialog, "answer.top_k").text() == "40"
    assert row.reset_button.isHidden()
    assert row.control.hasFocus()
    assert stored(folders) == {"answer": {}}


def test_everything_is_reset_and_the_reset_undone(dialog: SettingsDialog, qtbot: QtBot, folders: Folders) -> None:
    assert not dialog.reset_all.isEnabled()
    enter(dialog, qtbot, "answer.top_k", "5")
    enter(dialog, qtbot, "cache.saved_chats", "500MB")
    before = stored(folders)
    assert dialog.reset_all.text() == RESET_ALL
    qtbot.mouseClick(dialog.reset_all, Qt.MouseButton.LeftButton)
    assert line(dialog, "answer.top_k").text() == "40"
    assert dialog.reset_all.text() == UNDO_RESET
    qtbot.mouseClick(dialog.reset_all, Qt.MouseButton.LeftButton)
    assert stored(folders) == before
    assert line(dialog, "cache.saved_chats").text() == "500MB"
    assert dialog.reset_all.text() == RESET_ALL


def test_the_search_filters_rows_and_sections(dialog: SettingsDialog, qtbot: QtBot) -> None:
    assert dialog.search.hasFocus()
    assert len(shown(dialog)) == len(dialog.rows)
    qtbot.keyClicks(dialog.search, "space CACHED")
    assert shown(dialog) == ["cache.saved_chats"]
    headings = [heading.text() for heading in dialog.headings.values() if heading.isVisible()]
    assert headings == ["Cached context"]
    dialog.search.setText("no such thing")
    assert shown(dialog) == []
    assert dialog.nothing.isVisible()
    dialog.search.clear()
    assert len(shown(dialog)) == len(dialog.rows)


def test_what_few_people_change_stands_at_the_end(dialog: SettingsDialog, qtbot: QtBot) -> None:
    advanced = [name for name, row in dialog.rows.items() if row.setting.advanced]
    assert {"engine.draft", "engine.threads"} <= set(advanced)
    assert dialog.headings["advanced"].y() > max(
        row.y() for row in dialog.rows.values() if not row.setting.advanced
    )  # fmt: skip
    assert dialog.headings["advanced"].y() < min(dialog.rows[name].y() for name in advanced)
    qtbot.keyClicks(dialog.search, "advanced")
    assert shown(dialog) == advanced
    dialog.search.setText("engine prompt lookup")
    assert set(shown(dialog)) == {name for name in advanced if name.startswith("engine.lookup")}


def test_automatic_says_what_it_comes_to(dialog: SettingsDialog) -> None:
    assert line(dialog, "engine.context").text() == ""
    assert line(dialog, "engine.context").placeholderText() == "Automatic (4,096)"
    assert line(dialog, "engine.threads").placeholderText() == "Automatic (2)"


def test_every_control_has_a_name_and_the_keyboard_reaches_it(dialog: SettingsDialog, qtbot: QtBot) -> None:
    controls: list[QWidget] = [row.control for row in dialog.rows.values()]
    for control in controls:
        assert control.accessibleName()
        assert control.accessibleDescription()
    for button in dialog.findChildren(QPushButton):
        assert button.accessibleName() or button.text()
        assert not button.autoDefault()
    reached = set()
    for _ in range(2 * len(controls) + 10):
        reached.add(QApplication.focusWidget())
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert reached >= {*controls, dialog.search, dialog.open_file, dialog.close_button}


def test_tab_goes_down_the_dialog(dialog: SettingsDialog, qtbot: QtBot) -> None:
    controls = {row.control: row for row in dialog.rows.values()}
    reached: list[int] = []
    dialog.rows["window.language"].control.setFocus()
    while len(reached) < len(controls):
        widget = dialog.focusWidget()
        if widget in controls:
            reached.append(controls[widget].y())
        qtbot.keyClick(widget, Qt.Key.Key_Tab)
    assert reached == sorted(reached)


def test_the_wheel_changes_no_choice(dialog: SettingsDialog) -> None:
    control = dialog.rows["engine.kv_type"].control
    assert isinstance(control, ChoiceControl)
    control.setFocus()
    event = QWheelEvent(
        QPointF(5, 5), control.mapToGlobal(QPointF(5, 5)), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(control, event)
    assert control.currentData() == "auto"


def test_closing_takes_what_was_typed(
    dialog: SettingsDialog, chickadee: Chickadee, qtbot: QtBot, folders: Folders
) -> None:
    qtbot.keyClicks(line(dialog, "engine.threads"), "2")
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert stored(folders) == {"engine": {"threads": 2}}
    assert chickadee.settings_controller.dialog is None
    assert line(open_dialog(chickadee, qtbot), "engine.threads").text() == "2"


def test_the_window_closes_its_dialog(dialog: SettingsDialog, chickadee: Chickadee) -> None:
    chickadee.window.close()
    assert chickadee.settings_controller.dialog is None


def test_the_shortcut_opens_one_dialog(chickadee: Chickadee, qtbot: QtBot) -> None:
    qtbot.keyClick(chickadee.window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    first = chickadee.settings_controller.dialog
    assert first
    assert first.isVisible()
    qtbot.keyClick(chickadee.window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    assert chickadee.settings_controller.dialog is first


def test_the_file_is_opened(
    dialog: SettingsDialog, qtbot: QtBot, folders: Folders, monkeypatch: pytest.MonkeyPatch, chickadee: Chickadee
) -> None:
    opened: list[str] = []

    def refuse(url: object) -> bool:
        opened.append(url.toLocalFile())  # type: ignore[attr-defined]
        return False

    monkeypatch.setattr(QDesktopServices, "openUrl", refuse)
    qtbot.mouseClick(dialog.open_file, Qt.MouseButton.LeftButton)
    assert [Path(file) for file in opened] == [folders.settings]
    assert stored(folders) == {}
    assert "Open it in a text editor" in chickadee.window.notice.text.text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[engine]\nthreads = = 3\n", "settings.toml is not valid TOML: Invalid value (at line 2, column 11)"),
        ('[engine]\nthreads = "many"\n', "engine.threads is “many”; it must be auto or a whole number from 1 to 512"),
    ],
)
def test_a_wrong_file_is_told_and_the_window_works(
    open_window: Opener, ask: Ask, qtbot: QtBot, folders: Folders, requests: Requests, text: str, words: str
) -> None:
    folders.settings.write_text(text)
    chickadee = open_window()
    notice = chickadee.window.notice
    assert notice.isVisible()
    assert words in notice.text.text()
    ask_and_wait(chickadee, ask, qtbot, "hello")
    assert last_text(chickadee) == "echo: hello"
    assert loads(requests)[-1].threads is None
    assert folders.settings.read_text() == text
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    dialog = chickadee.settings_controller.dialog
    assert dialog
    assert words in dialog.problem.text()
    enter(dialog, qtbot, "engine.threads", "3")
    assert dialog.problem.isHidden()
    assert stored(folders) == {"engine": {"threads": 3}}
    assert ("was kept as settings-" in dialog.note.text()) == ("TOML" in words)


def test_what_was_changed_by_hand_is_taken_over_on_return(
    dialog: SettingsDialog, chickadee: Chickadee, folders: Folders
) -> None:
    folders.settings.write_text("[answer]\ntop_k = 7\n")
    chickadee.settings_controller.application_state_changed(Qt.ApplicationState.ApplicationActive)
    assert line(dialog, "answer.top_k").text() == "7"
    folders.settings.write_text("top_k = = 7\n")
    chickadee.settings_controller.application_state_changed(Qt.ApplicationState.ApplicationActive)
    assert line(dialog, "answer.top_k").text() == "40"
    assert "line 1" in chickadee.window.notice.text.text()
    folders.settings.unlink()
    chickadee.settings_controller.application_state_changed(Qt.ApplicationState.ApplicationActive)
    assert chickadee.window.notice.isHidden()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_a_file_that_cannot_be_written_is_told(dialog: SettingsDialog, qtbot: QtBot, folders: Folders) -> None:
    folders.settings.symlink_to("/proc/self/settings.toml")
    enter(dialog, qtbot, "answer.top_k", "5")
    assert "cannot be saved" in dialog.note.text()
    assert line(dialog, "answer.top_k").text() == "40"


@pytest.mark.parametrize("command", ["settings", "chat_options"])
def test_a_dialog_is_as_large_as_the_text_asks_for(chickadee: Chickadee, qtbot: QtBot, command: str) -> None:
    chickadee.window.commands.run(command)
    dialog = chickadee.settings_controller.dialog or chickadee.chats.options.panel
    assert dialog
    qtbot.waitExposed(dialog)
    before = dialog.size()
    for percent in (200, 100):
        chickadee.settings.change({"window.text_size": percent})
        qtbot.waitUntil(lambda percent=percent: (dialog.size() == before) == (percent == 100))  # type: ignore[misc]
    dialog.close()


def test_published_methods_are_left_to_the_file_and_the_command_line(dialog: SettingsDialog) -> None:
    assert not [name for name in dialog.rows if name.startswith("engine.lookup")]
    draft = dialog.rows["engine.draft"].control
    assert isinstance(draft, ChoiceControl)
    assert not [value for value in map(draft.itemData, range(draft.count())) if "published" in value]
    dialog.settings.change({"engine.draft": "history-published", "engine.lookup_m": 3})  # still understood
    assert draft.currentData() == "history-published"
    assert dialog.settings.options().generate.lookup.m == 3
