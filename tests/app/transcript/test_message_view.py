"""Actions on messages in the window, by mouse and by keyboard: real widgets, scripted engine."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication, QTextDocument
from PySide6.QtWidgets import QApplication, QMenu, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.store.chat import ChatMessage
from app.transcript.message_actions import MessagePosition, actions_of
from app.transcript.message_view import MessageView
from app.wiring import Chickadee
from engine.protocol.requests import Generate
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.event_loop import settle
from tests.app.test_window import Ask, done, last_text

ALT = Qt.KeyboardModifier.AltModifier


def ask_and_wait(chickadee: Chickadee, ask: Ask, qtbot: QtBot, *texts: str) -> None:
    for text in texts:
        ask(chickadee, text)
        qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)


def shown(chickadee: Chickadee) -> list[str]:
    views = [view.text for view in chickadee.window.transcript.views]
    assert views == [message.content for message in chickadee.open_chats.current.messages]
    return views


def view_at(chickadee: Chickadee, row: int) -> MessageView:
    return chickadee.window.transcript.views[row]


def press(view: MessageView, name: str, qtbot: QtBot) -> None:
    """Move the pointer over the message and click one of its buttons."""
    view.row.open(True)
    qtbot.mouseClick(view.row.buttons[name], Qt.MouseButton.LeftButton)


def editor_of(view: MessageView) -> QPlainTextEdit:
    assert view.editor
    return view.editor.text


def test_a_message_is_edited_in_its_place_and_answered_anew(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, open_window: Opener
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two")
    view = view_at(chickadee, 0)
    press(view, "edit", qtbot)
    text = editor_of(view)
    assert text.hasFocus()
    assert text.toPlainText() == "one"
    text.selectAll()
    qtbot.keyClicks(text, "uno")
    qtbot.keyClick(text, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(text, "dos")
    qtbot.keyClick(text, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert shown(chickadee) == ["uno\ndos", "echo: uno\ndos"]
    press(view_at(chickadee, 0), "previous", qtbot)
    assert shown(chickadee) == ["one", "echo: one", "two", "echo: two"]
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(chickadee.open_chats.current.chat.id)
    assert shown(again) == ["one", "echo: one", "two", "echo: two"]
    press(view_at(again, 0), "next", qtbot)
    assert shown(again) == ["uno\ndos", "echo: uno\ndos"]


def test_esc_leaves_the_editor_and_what_was_typed_comes_back(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    chickadee.chats.messages.edit(view_at(chickadee, 0).message.id)
    qtbot.keyClicks(editor_of(view_at(chickadee, 0)), " more")
    qtbot.keyClick(editor_of(view_at(chickadee, 0)), Qt.Key.Key_Escape)
    assert view_at(chickadee, 0).editor is None
    assert shown(chickadee) == ["one", "echo: one"]
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    assert editor_of(view_at(chickadee, 0)).toPlainText() == "one more"
    chickadee.chats.chat.new()
    chickadee.chats.chat.open(chickadee.open_chats.chats()[0].id)
    assert editor_of(view_at(chickadee, 0)).toPlainText() == "one more"


def test_what_is_typed_into_a_message_is_there_again_in_its_chat_and_after_a_restart(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, open_window: Opener
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two")
    chat = chickadee.open_chats.current.chat.id
    first, second = (view_at(chickadee, row).message.id for row in (0, 2))
    for id in (first, second):
        chickadee.chats.messages.edit(id)
        view = chickadee.window.transcript.view_of(id)
        assert view
        qtbot.keyClicks(editor_of(view), " more")
    chickadee.chats.chat.new()
    chickadee.chats.chat.open(chat)
    assert editor_of(view_at(chickadee, 0)).toPlainText() == "one more"
    qtbot.keyClicks(editor_of(view_at(chickadee, 0)), "!")
    qtbot.keyClick(editor_of(view_at(chickadee, 2)), Qt.Key.Key_Escape)
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(chat)
    assert editor_of(view_at(again, 0)).toPlainText() == "one more!"
    assert view_at(again, 2).editor is None
    again.chats.messages.send_edited(first, "uno")
    qtbot.waitUntil(lambda: done(again), timeout=SECONDS)
    again.window.close()
    third = open_window()
    third.chats.chat.open(chat)
    assert third.open_chats.current.edits == {}


def test_an_edit_waits_for_the_answer_under_way(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    chickadee.chats.messages.edit(view_at(chickadee, 0).message.id)
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    qtbot.keyClicks(editor_of(view_at(chickadee, 0)), " more")
    qtbot.keyClick(editor_of(view_at(chickadee, 0)), Qt.Key.Key_Return)
    assert "An answer is being written" in chickadee.window.notice.text.text()
    assert editor_of(view_at(chickadee, 0)).toPlainText() == "one more"
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    qtbot.keyClick(editor_of(view_at(chickadee, 0)), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert shown(chickadee) == ["one more", "echo: one more"]


def test_any_answer_is_written_again_and_switched_by_keyboard(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two")
    press(view_at(chickadee, 1), "again", qtbot)
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert shown(chickadee) == ["one", "echo: one"]
    view_at(chickadee, 1).setFocus()
    qtbot.keyClick(view_at(chickadee, 1), Qt.Key.Key_Left, ALT)
    assert shown(chickadee) == ["one", "echo: one", "two", "echo: two"]
    assert view_at(chickadee, 1).hasFocus()
    qtbot.keyClick(view_at(chickadee, 1), Qt.Key.Key_Left, ALT)
    qtbot.keyClick(view_at(chickadee, 1), Qt.Key.Key_Right, ALT)
    assert shown(chickadee) == ["one", "echo: one"]


def test_a_stopped_answer_grows_on(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, folders: Folders
) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    begun = last_text(chickadee)
    row = view_at(chickadee, -1).row
    assert {name: button.text() for name, button in row.buttons.items()}["continue"] == "Continue"
    qtbot.mouseClick(row.buttons["continue"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(last_text(chickadee)) > len(begun) + 100, timeout=SECONDS)
    assert last_text(chickadee).startswith(begun + "\n\nparagraph 0 word1")
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert len(chickadee.open_chats.current.messages) == 2
    last = [request for request in requests() if isinstance(request, Generate)][-1]
    assert last.continue_last
    assert last.messages[-1].content == begun


def test_a_message_is_deleted_with_what_hangs_below_and_comes_back(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two")
    view_at(chickadee, 2).setFocus()
    qtbot.keyClick(view_at(chickadee, 2), Qt.Key.Key_Delete)
    assert shown(chickadee) == ["one", "echo: one"]
    assert chickadee.window.notice.text.text() == "2 messages were deleted."
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    assert shown(chickadee) == ["one", "echo: one", "two", "echo: two"]
    chickadee.chats.messages.delete(view_at(chickadee, 2).message.id)
    chickadee.window.notice.dismiss()
    chickadee.chats.messages.do_action(view_at(chickadee, 1).message.id, "restore")
    assert shown(chickadee) == ["one", "echo: one", "two", "echo: two"]


def test_a_chat_without_messages_begins_anew(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    chickadee.chats.messages.delete(view_at(chickadee, 0).message.id)
    assert chickadee.window.pages.currentWidget() is chickadee.window.welcome
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    assert chickadee.window.pages.currentWidget() is chickadee.window.transcript
    assert shown(chickadee) == ["one", "echo: one"]


def test_a_chat_whose_messages_were_deleted_says_so_when_it_is_opened(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, open_window: Opener
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    chickadee.chats.messages.delete(view_at(chickadee, 0).message.id)
    chickadee.window.close()
    again = open_window()
    again.chats.chat.open(chickadee.open_chats.current.chat.id)
    assert again.window.notice.text.text() == "The messages in this chat were deleted."
    qtbot.mouseClick(again.window.notice.button, Qt.MouseButton.LeftButton)
    assert shown(again) == ["one", "echo: one"]


def test_a_deleted_beginning_comes_back_from_its_siblings_menu(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    first = view_at(chickadee, 0).message.id
    chickadee.chats.messages.send_edited(first, "uno")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    chickadee.chats.messages.delete(first)
    assert view_at(chickadee, 0).position.has_deleted
    chickadee.chats.messages.do_action(view_at(chickadee, 0).message.id, "restore")
    assert shown(chickadee) == ["one", "echo: one"]
    assert view_at(chickadee, 0).position.versions == 2


def menu_of(chickadee: Chickadee) -> QMenu:
    menus = [menu for menu in chickadee.window.transcript.findChildren(QMenu) if menu.isVisible()]
    assert len(menus) == 1
    return menus[0]


def entries(menu: QMenu) -> dict[str, QAction]:
    return {action.text(): action for action in menu.actions() if action.text()}


def test_the_menu_has_every_action_and_the_numbers(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    chickadee.chats.drafts.send("look:\n```python\nprint(1)\n```\nend")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    view = view_at(chickadee, 1)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), view.mapToGlobal(QPoint(1, 1)))
    QApplication.sendEvent(view.texts()[0], event)  # sent to the text, which leaves the menu to the message
    menu = menu_of(chickadee)
    found = entries(menu)
    actions = ["Edit answer", "Regenerate", "Try again with…", "Branch into a new chat", "Delete message"]
    assert list(found)[:7] == ["Copy message", "Copy code", *actions]
    assert "10 tokens in 0.5 s, 20 tok/s" in found
    assert not found["10 tokens in 0.5 s, 20 tok/s"].isEnabled()
    found["Copy code"].trigger()
    assert QGuiApplication.clipboard().text() == "print(1)"
    menu.close()
    assert "10 tokens in 0.5 s, 20 tok/s" in view.row.toolTip()


def test_tab_goes_from_message_to_message_as_one_reads(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two")
    transcript = chickadee.window.transcript
    messages = transcript.views
    transcript.setFocus()
    order: list[tuple[int, bool]] = []  # row of the message, and whether one of its buttons has the focus
    for _ in range(60):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        assert focused
        assert focused.accessibleName(), focused
        if not transcript.isAncestorOf(focused):
            break
        row = next(row for row, view in enumerate(messages) if view is focused or view.isAncestorOf(focused))
        order.append((row, focused.parent() is messages[row].row))
    else:
        pytest.fail("Tab never leaves the transcript")
    assert order == sorted(order)
    assert {(row, pressed) for row in range(4) for pressed in (False, True)} == set(order)
    messages[3].setFocus()
    qtbot.keyClick(messages[3], Qt.Key.Key_Up)
    assert messages[2].hasFocus()


def message(role: str, content: str, reason: str | None = "end", **more: str) -> ChatMessage:
    return ChatMessage("c", None, role, content, stop_reason=reason, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("about", "position", "names"),
    [
        (message("user", "q"), MessagePosition(), "copy edit branch_off delete"),
        (message("user", "q"), MessagePosition(is_last=True), "again! copy edit branch_off delete"),
        (message("assistant", "a"), MessagePosition(is_last=True), "copy edit again again_with branch_off delete"),
        (
            message("assistant", "a", "length"),
            MessagePosition(is_last=True),
            "continue! copy edit again again_with branch_off delete",
        ),
        (
            message("assistant", "a", None),
            MessagePosition(is_last=True),
            "continue! copy edit again again_with branch_off delete",
        ),
        (message("assistant", "a", "length"), MessagePosition(), "copy edit again again_with branch_off delete"),
        (
            message("assistant", "a", "context"),
            MessagePosition(is_last=True, has_remedies=True),
            "copy edit again again_with branch_off delete",
        ),
        (
            message("assistant", "", "failed", detail="d"),
            MessagePosition(is_last=True),
            "again! details! again_with branch_off delete",
        ),
        (
            message("assistant", "a", "engine"),
            MessagePosition(is_last=True),
            "continue! again! details! copy edit again_with branch_off delete",
        ),
        (message("assistant", "a", None), MessagePosition(is_last=True, busy=True), ""),
    ],
)
def test_what_can_be_done_with_a_message(about: ChatMessage, position: MessagePosition, names: str) -> None:
    found = [action.name + "!" * action.main for action in actions_of(about, position)]
    assert " ".join(found) == names


def test_a_message_on_another_branch_is_shown(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two")
    wanted = view_at(chickadee, 3).message.id
    chickadee.chats.messages.send_edited(view_at(chickadee, 0).message.id, "uno")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    chickadee.window.transcript.show_message(wanted)
    assert shown(chickadee)[-1] == "echo: two"
    assert view_at(chickadee, 3).hasFocus()


def test_keys_rows_and_menus_do_the_same_with_a_message(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one", "two")
    view = view_at(chickadee, 0)
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "one"
    view.open_menu(view.mapToGlobal(QPoint(1, 1)))
    menu = menu_of(chickadee)
    copy = entries(menu)["Copy message"]
    assert view.row.buttons["copy"].actions() == [copy]
    assert (copy.shortcut().toString(), view.row.buttons["copy"].toolTip()) == ("Ctrl+C", "Copy message (Ctrl+C)")
    menu.close()
    qtbot.keyClick(view, Qt.Key.Key_F2)
    assert editor_of(view).hasFocus()


def test_a_key_that_has_to_wait_says_so(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    view = view_at(chickadee, 0)
    view.setFocus()
    assert not view.row.buttons["delete"].isEnabled()
    qtbot.keyClick(view, Qt.Key.Key_Delete)
    assert "An answer is being written" in chickadee.window.notice.text.text()
    assert len(chickadee.window.transcript.views) == 4
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert view.row.buttons["delete"].isEnabled()


class Painted(QObject):
    """An event filter that records which of the widgets are painted."""

    def __init__(self, widgets: list[QWidget]) -> None:
        super().__init__()
        self.names: list[str] = []
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and isinstance(watched, QWidget):
            self.names.append(watched.accessibleName() or watched.objectName())
        return False


def test_a_streamed_token_touches_only_what_shows_it(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(chickadee, ask, qtbot, "one")
    window = chickadee.window
    window.composer.text.clearFocus()  # a blinking cursor would be painted
    chickadee.chats.drafts.send("slow")
    qtbot.waitUntil(lambda: "word8" in last_text(chickadee), timeout=SECONDS)
    settle()
    answers = view_at(chickadee, -1).findChildren(QWidget)
    others = [*window.transcript.views[:-1], window.sidebar, window.header, window.composer, window.notice]
    inside = [part for area in others for part in (area, *area.findChildren(QWidget))]
    painted, drawn = Painted(inside), Painted(answers)
    qtbot.waitUntil(lambda: len(last_text(chickadee)) > 200 and bool(drawn.names), timeout=SECONDS)
    chickadee.chats.chat.stop()
    assert painted.names == []


def test_the_name_of_a_model_is_never_html(qtbot: QtBot) -> None:
    """A server names its models as it likes, and a tool tip shows HTML if a text looks like it."""
    answer = ChatMessage("c", None, "assistant", "Hi.", stop_reason="end", model="<h1>m</h1>")
    view = MessageView(answer)
    qtbot.addWidget(view)
    shown = QTextDocument()
    shown.setHtml(view.row.toolTip())
    assert "<h1>m</h1>" in shown.toPlainText()
