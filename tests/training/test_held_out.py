"""Tests of which chats are learned, and which judge a training."""

from __future__ import annotations

from benchmarks.midlayer import exit_questions as asked_in_calibration
from engine.protocol.requests import Message
from training.chat_lines import ChatLine
from training.data import training_questions
from training.held_out import split

CHATS = [ChatLine((Message("user", f"question {i % 40}"), Message("assistant", f"answer {i}"))) for i in range(100)]


def test_no_chat_of_a_held_out_question_is_learned():
    learned, held_out = split(CHATS, 3, seed=1)
    questions = {chat.messages[0].content for chat in held_out}
    assert len(questions) == len(held_out) == 3
    assert questions.isdisjoint(chat.messages[0].content for chat in learned)
    assert len(learned) == sum(chat.messages[0].content not in questions for chat in CHATS)


def test_the_seed_says_which():
    assert split(CHATS, 3, seed=1) == split(CHATS, 3, seed=1)
    assert split(CHATS, 3, seed=1)[1] != split(CHATS, 3, seed=2)[1]


def test_few_questions_are_not_all_held_out():
    assert len(split(CHATS, 32, seed=0)[1]) == 4
    assert split(CHATS[:5], 32, seed=0) == (CHATS[:5], [])
    assert split(CHATS, 0, seed=0) == (CHATS, [])


def test_questions_to_learn_from_are_not_those_of_the_calibration():
    found = training_questions()
    assert len(set(found)) == len(found) > 300
    assert not set(found) & set(asked_in_calibration())
