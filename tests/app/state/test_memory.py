"""Facts about the user: which lines of a model's answer are proposals, and that only the user makes them facts."""

from __future__ import annotations

import pytest

from app.state.memory import CHINESE, MOST_LENGTH, MOST_PROPOSED, OTHER, Memory, clean_fact, facts_question
from app.state.memory import proposed_facts as proposed
from app.state.open_chats import OpenChats
from app.store.chat import ChatMessage
from app.store.chat_store import ChatStore
from app.store.project_store import ProjectStore


def chat(*texts: str) -> list[ChatMessage]:
    roles = ("user", "assistant")
    return [ChatMessage("c", None, roles[number % 2], text) for number, text in enumerate(texts)]  # type: ignore[arg-type]


SAID = chat("My name is Ada and I sail a small boat near Bergen.", "Nice to meet you, Ada! The moon is bright.")


@pytest.fixture
def store(tmp_path):
    store = ChatStore(tmp_path / "library.sqlite3")
    yield store
    store.close()


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("1. The user is called Ada.\n2. The user sails.", ["The user is called Ada.", "The user sails."]),
        ("<think>Ada sails.</think>\n- The user has a boat.", ["The user has a boat."]),
        ("None.", []),
        ("none", []),
        ("", []),
        ("The moon is made of cheese.", []),
        ("The user lives near Bergen.\nThe user lives near Bergen.", ["The user lives near Bergen."]),
        ("The boat\x00\u202e is <b>small</b>.", ["The boat is <b>small</b>."]),
        (f"The boat {'is long ' * 50}.", []),
        ("\n".join(f"Boat number {n}." for n in range(20)), [f"Boat number {n}." for n in range(MOST_PROPOSED)]),
    ],
)
def test_only_short_lines_about_what_the_user_wrote_are_proposed(answer, facts):
    assert proposed(answer, SAID) == facts


def test_the_question_is_in_the_language_of_the_chat():
    assert facts_question(SAID)[-1].content == OTHER
    assert facts_question(chat("我叫小明，住在北京。", "你好！"))[-1].content == CHINESE


def test_a_fact_is_one_short_line():
    assert clean_fact("  two\n lines\t") == "two lines"
    assert clean_fact("x" * MOST_LENGTH) == "x" * MOST_LENGTH
    assert clean_fact("x" * (MOST_LENGTH + 1)) == ""


def test_nothing_is_stored_before_the_user_approves(store):
    chats = OpenChats(store)
    memory, facts = Memory(chats.projects), ProjectStore(store).facts
    assert memory.propose(["The user sails.", "The user is called Ada."], None) == 2
    assert memory.propose(["the user sails."], None) == 0
    first, second = memory.proposals
    assert facts() == []
    memory.refuse(second.id)
    memory.approve(first.id, "The user sails at night.", None)
    assert [fact.text for fact in facts()] == ["The user sails at night."]
    assert memory.proposals == []
    assert memory.propose(["The user is called Ada.", "The user sails at night."], None) == 0, "refused, and known"
    memory.change(facts()[0].id, " ", None)
    memory.change(facts()[0].id, "The user sails by day.", None)
    assert [fact.text for fact in chats.projects.facts()] == ["The user sails by day."]
    assert memory.forget(facts()[0].id)
    assert memory.forget("nothing") is None
    assert facts() == []


def test_an_empty_text_leaves_a_proposal(store):
    memory = Memory(OpenChats(store).projects)
    memory.propose(["The user sails."], None)
    memory.approve(memory.proposals[0].id, "  ", None)
    assert len(memory.proposals) == 1
