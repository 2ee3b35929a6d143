"""Projects: what the chats of a folder begin with, who is asked before a server reads it, and undo in any order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.attachments.attachment import Attachment
from app.settings.resolve import PROMPT, ChatOptions
from app.state.open_chats import OpenChats
from app.state.projects import Project
from app.store.chat_store import ChatStore
from app.store.project_store import Fact, ProjectFile


def file(folder_id: str, name: str, text: str = "Words.") -> ProjectFile:
    return ProjectFile(folder_id, Attachment(name, "text", len(text), text), f"/somewhere/{name}")


@pytest.fixture
def chats(tmp_path):
    store = ChatStore(tmp_path / "library.sqlite3")
    yield OpenChats(store)
    store.close()


def project_with(chats: OpenChats, *names: str, instructions: str = "") -> str:
    """Add a folder with these files and instructions; return its id."""
    folder = chats.add_folder("Boats")
    if instructions:
        chats.change_folder(folder.id, options=ChatOptions("", {PROMPT: instructions}).to_json())
    chats.projects.put_files(folder.id, [file(folder.id, name) for name in names])
    return folder.id


def ask(chats: OpenChats, folder_id: str | None) -> str:
    """Send a message in a new chat of the folder; return the chat's id."""
    conversation = chats.new_in(folder_id) if folder_id else chats.new()
    assert conversation.send("A question")
    conversation.withdraw()
    return conversation.chat.id


def beginning(chats: OpenChats, chat_id: str) -> str:
    return chats.load(chat_id).project.beginning


def test_all_chats_of_a_project_have_the_same_beginning(chats):
    folder = project_with(chats, "a.txt", "b.txt", instructions="Speak of boats.")
    first, second, other = ask(chats, folder), ask(chats, folder), ask(chats, None)
    text = beginning(chats, first)
    assert text.startswith('Speak of boats.\n\nFile "a.txt":')
    assert text.index("a.txt") < text.index("b.txt")
    assert beginning(chats, second) == text
    assert beginning(chats, other) == ""
    assert chats.load(first).beginning_id == folder
    assert chats.load(other).beginning_id == ""


def test_the_beginning_is_the_same_after_a_restart(chats):
    folder = project_with(chats, "a.txt")
    chat = ask(chats, folder)
    chats.projects.remember(Fact("Sails at night.", folder))
    again = OpenChats(chats.store)
    assert beginning(again, chat) == beginning(chats, chat)
    assert "- Sails at night." in beginning(again, chat)


def test_open_chats_hear_that_they_begin_with_something_else(chats):
    folder = project_with(chats)
    inside, outside = ask(chats, folder), ask(chats, None)
    heard = []
    chats.context_changed.connect(lambda conversation: heard.append(conversation.chat.id))
    chats.projects.put_files(folder, [file(folder, "a.txt")])
    assert inside in heard
    assert outside not in heard
    chats.move([outside], folder)
    assert outside in heard
    chats.projects.remember(Fact("Sails at night."))
    assert len(heard) >= 4


def test_a_fact_of_a_project_is_told_in_its_chats_alone_and_never_in_a_temporary_chat(chats):
    folder = project_with(chats)
    inside, outside = ask(chats, folder), ask(chats, None)
    fact, everywhere = Fact("Sails at night.", folder), Fact("Likes tea.")
    chats.projects.remember(fact)
    chats.projects.remember(everywhere)
    assert "Sails at night." in beginning(chats, inside)
    assert "Likes tea." in beginning(chats, inside)
    assert beginning(chats, outside).endswith("- Likes tea.")
    assert "Sails" not in beginning(chats, outside)
    assert chats.new_temporary().project == Project()
    chats.projects.forget(everywhere)
    assert beginning(chats, outside) == ""
    chats.projects.remember(replace(fact, folder_id=None))
    assert "Sails" in beginning(chats, outside)


def test_a_server_is_asked_about_again_when_the_beginning_changes(chats):
    folder = project_with(chats)
    conversation = chats.load(ask(chats, None))

    def agree() -> None:
        assert conversation.answer_again(conversation.messages[0].id)
        conversation.ask_about("server.example")
        conversation.agree()
        conversation.withdraw()

    assert not conversation.may_leave_for("server.example")
    agree()
    assert conversation.may_leave_for("server.example")
    chats.move([conversation.chat.id], folder)
    assert conversation.may_leave_for("server.example"), "the folder has nothing yet"
    chats.projects.put_files(folder, [file(folder, "secret.txt")])
    assert not conversation.may_leave_for("server.example")
    agree()
    assert conversation.may_leave_for("server.example")
    assert not conversation.may_leave_for("other.example")
    chats.projects.remember(Fact("Likes tea."))
    assert not conversation.may_leave_for("server.example")
    chats.move([conversation.chat.id], None)
    assert not conversation.may_leave_for("server.example"), "the fact was not known when the user agreed"
    assert len(conversation.chat.agreed.split("\n")) == 2


def test_a_deleted_project_comes_back_with_its_files_and_chats(chats):
    folder_id = project_with(chats, "a.txt")
    chat, unsent = ask(chats, folder_id), chats.new_in(folder_id)
    text = beginning(chats, chat)
    folder, inside = chats.delete_folder(folder_id)
    assert beginning(chats, chat) == unsent.project.beginning == ""
    chats.restore_folder(folder, inside)
    assert beginning(chats, chat) == unsent.project.beginning == text


def test_a_new_chat_of_a_project_is_opened_once(chats):
    folder = project_with(chats, "a.txt")
    first = chats.new_in(folder)
    assert chats.new_in(folder) is first
    assert chats.new() is not first
