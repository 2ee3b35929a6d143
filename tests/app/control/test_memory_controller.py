"""Memory through the window: proposals of a scripted engine, which the user approves, changes, refuses or forgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.dialogs.memory_dialog import MemoryDialog
from app.state.memory import MOST_TOKENS, OTHER
from app.store.chat_store import ChatStore
from app.store.project_store import ProjectStore
from app.wiring import Chickadee
from engine.protocol.requests import Generate
from tests.app.conftest import Opener, Requests
from tests.app.small_disk import write_protect
from tests.app.transcript.test_long_chats import ask_and_wait

Ask = Callable[[Chickadee, str], None]
PROPOSED = "The user said: small boats"


@pytest.fixture
def curious(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> Chickadee:
    """Open the window with a large model, and memory switched on."""
    chickadee = open_window(tmp_path / "grown.gguf")
    chickadee.settings.change({"window.memory": "on"})
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    return chickadee


def click(qtbot: QtBot, button: QPushButton) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def dialog(chickadee: Chickadee) -> MemoryDialog:
    shown = chickadee.chats.memory.dialog
    assert shown is not None
    return shown


def proposals(chickadee: Chickadee) -> list[str]:
    return [proposal.text for proposal in chickadee.chats.memory.memory.proposals]


def facts(chickadee: Chickadee) -> list[str]:
    return [fact.text for fact in ProjectStore(chickadee.store).facts()]


def asked(requests: Requests) -> list[Generate]:
    return [each for each in requests() if isinstance(each, Generate) and each.messages[-1].content == OTHER]


def test_a_proposal_becomes_a_fact_only_when_the_user_approves_it(
    curious: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    ask_and_wait(curious, ask, qtbot, "small boats")
    qtbot.waitUntil(lambda: proposals(curious) == [PROPOSED])
    (request,) = asked(requests)
    assert (request.max_tokens, request.background, request.thinking.mode) == (MOST_TOKENS, True, "off")
    assert facts(curious) == []
    assert curious.window.notice.text.text() == "The model proposes 1 fact about you to remember."
    click(qtbot, curious.window.notice.button)
    (row,) = dialog(curious).facts
    assert (row.text.text(), row.text.accessibleName()) == (PROPOSED, "Proposed fact")
    row.text.setText("The user builds small boats.")
    click(qtbot, row.buttons[0])
    assert facts(curious) == ["The user builds small boats."]
    assert proposals(curious) == []
    curious.chats.chat.new()
    ask_and_wait(curious, ask, qtbot, "hello")
    system = [each for each in requests() if isinstance(each, Generate)][-1].messages[0]
    assert (system.role, system.content.split("\n")[-1]) == ("system", "- The user builds small boats.")


def test_what_is_refused_is_neither_stored_nor_proposed_again(curious: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask_and_wait(curious, ask, qtbot, "small boats")
    qtbot.waitUntil(lambda: bool(proposals(curious)))
    curious.window.commands.run("memory")
    click(qtbot, dialog(curious).facts[0].buttons[1])
    assert (dialog(curious).facts, proposals(curious), facts(curious)) == ([], [], [])
    assert not dialog(curious).empty.isHidden()
    ask_and_wait(curious, ask, qtbot, "and more")
    memory = curious.chats.memory
    qtbot.waitUntil(lambda: memory._asked.get(curious.open_chats.current.chat.id) == 4)
    assert proposals(curious) == []


def test_facts_are_changed_and_forgotten_with_an_undo(curious: Chickadee, qtbot: QtBot) -> None:
    curious.window.commands.run("memory")
    shown = dialog(curious)
    qtbot.keyClicks(shown.text, "The user is called Ada.")
    qtbot.keyClick(shown.text, Qt.Key.Key_Return)
    assert facts(curious) == ["The user is called Ada."]
    shown.facts[0].text.setText("The user is called Eve.")
    shown.facts[0].text.editingFinished.emit()
    assert facts(curious) == ["The user is called Eve."]
    click(qtbot, shown.facts[0].buttons[0])
    assert facts(curious) == []
    write_protect(curious, True)
    click(qtbot, shown.undo_button)
    assert shown.problem.text()
    assert not shown.undo_button.isHidden()  # nothing is lost: the same press brings the fact back later
    write_protect(curious, False)
    click(qtbot, shown.undo_button)
    assert facts(curious) == ["The user is called Eve."]
    assert not shown.problem.text()
    click(qtbot, shown.facts[0].buttons[0])
    curious.window.close()
    store = ChatStore(curious.folders.store)
    assert ProjectStore(store).facts() == []
    store.close()


def test_a_fact_can_belong_to_one_project(curious: Chickadee, qtbot: QtBot) -> None:
    folder = curious.open_chats.add_folder("Boats")
    curious.window.commands.run("memory")
    curious.chats.memory.memory.propose(["The user sails."], folder.id)
    (row,) = dialog(curious).facts
    assert row.place.currentText() == "Boats"
    click(qtbot, row.buttons[0])
    assert curious.open_chats.projects.of_folder(folder.id).facts == ("The user sails.",)
    assert curious.open_chats.current.project.facts == ()


@pytest.mark.parametrize("why", ["off", "temporary", "small"])
def test_nothing_is_asked_for_where_it_must_not_be(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path, requests: Requests, why: str
) -> None:
    chickadee = open_window(tmp_path / ("fake.gguf" if why == "small" else "grown.gguf"))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    chickadee.settings.change({"window.memory": "off" if why == "off" else "on"})
    if why == "temporary":
        chickadee.chats.chat.new_temporary()
    ask_and_wait(chickadee, ask, qtbot, "small boats")
    memory = chickadee.chats.memory
    assert not memory._pause.waiting
    assert memory._next is None
    assert asked(requests) == []
