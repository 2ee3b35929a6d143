"""What of a model's answer is a title; the answers are those of real models (docs/notes/titles.md)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.state.titles import CHINESE, LONGEST, OTHER, clean_title, script_of, title_question
from app.store.chat import ChatMessage


def chat(question: str, answer: str = "") -> list[ChatMessage]:
    return [ChatMessage("c", None, "user", question), ChatMessage("c", None, "assistant", answer)]


BIRDS = chat("Why do chickadees stay in winter?", "They hide seeds in autumn.")
LEAVE = chat("帮我写一封请假邮件，明天要去医院看牙。", "好的。")


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Chickadees in Winter", "Chickadees in Winter"),
        ('"Chickadees in Winter."', "Chickadees in Winter"),
        ("**Title:** “Chickadees in Winter”", "Chickadees in Winter"),
        ("# Chickadees in Winter\nThey stay.", "Chickadees in Winter"),
        ("\n\n- `Chickadees`, *the* __seeds__!\n", "Chickadees, *the* seeds"),
        ("1. Winter birds", "Winter birds"),
        ("<think>A title…</think>\nHidden seeds", "Hidden seeds"),
        ("Titre : « Les chickadees »", "Les chickadees"),
        ("KeyError: 'name' in winter", "KeyError: 'name' in winter"),
        ('The "best" seeds', 'The "best" seeds'),
        ("3.5 kg of seeds", "3.5 kg of seeds"),
        ("seeds\x07\u202e here", "seeds here"),
        ("C# for chickadees", "C# for chickadees"),
        ("", ""),
        ("***", ""),
        ("2024", ""),
        ("Sure! Here is a title: Chickadees", ""),
        ("Here's a possible title for the conversation:", ""),
        ("I'm sorry, chickadees are", ""),
        ("Write a title for this conversation, at most six words", ""),
        ("The Unspoken Truth", ""),
        ("山雀", ""),
        ("chickadees " * 20, ""),
        ("a b c d e f g h i j k l chickadees", ""),
        ("chickadee" * 20, ""),
    ],
)
def test_titles_of_an_english_chat(answer: str, title: str) -> None:
    assert clean_title(answer, BIRDS) == title


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("请假申请：明天去医院看牙", "请假申请：明天去医院看牙"),
        ("标题：《请假邮件》。", "请假邮件"),
        ("用不超过十个字给这段对话起一个标题", ""),
        ("我需要请假邮件", ""),
        ("I'm sorry for any misunderstanding", ""),
        ("Leave request", ""),
    ],
)
def test_titles_of_a_chinese_chat(answer: str, title: str) -> None:
    assert clean_title(answer, LEAVE) == title


def test_a_title_in_another_language_is_none() -> None:
    leaves = chat("Pourquoi les feuilles tombent-elles en automne ?", "Les arbres économisent leur eau.")
    assert clean_title("Why do leaves drop?", leaves) == ""
    assert clean_title("Les feuilles d'automne", leaves) == "Les feuilles d'automne"


def test_the_question_is_in_the_chats_language() -> None:
    assert title_question(LEAVE) == CHINESE
    assert title_question(BIRDS) == OTHER
    assert title_question(chat("これは日本語のテキストです。明日は雨。")) == OTHER
    assert script_of("Привет, мир!") == "CYRILLIC"
    assert script_of("123 !") == ""


@given(st.text(max_size=200))
def test_any_answer_is_a_title_or_none(answer: str) -> None:
    title = clean_title(answer, chat(answer))
    assert len(title) <= LONGEST
    assert title == title.strip()
    assert "\n" not in title
