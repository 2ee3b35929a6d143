"""Tests of answers that the default model writes to learn from."""

from __future__ import annotations

import json

import pytest

from models.default import default_model
from training import answers
from training.answers import REPEATED, is_repeating, write_answers
from training.chat_lines import read_chats

QUESTIONS = ["What is bread?", "What is glass?", "Name a colour."]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(answers, "ANSWER", 12)


def write(path, count, seed=0):
    write_answers(path, default_model(), QUESTIONS, count, temperature=0.3, seed=seed, threads=1)


@pytest.mark.slow
def test_each_question_is_answered_once_before_any_is_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    write(path, 4)
    chats = read_chats(path)
    assert sorted(chat.messages[0].content for chat in chats) == sorted([*QUESTIONS, QUESTIONS[0]])
    assert all(chat.messages[1].role == "assistant" and chat.messages[1].content.strip() for chat in chats)
    assert any(not chat.whole for chat in chats), "of 12 tokens some answers must have been cut"


def test_what_was_written_stays_and_a_torn_line_is_written_anew(tmp_path):
    path = tmp_path / "answers.jsonl"
    write(path, 2)
    before = path.read_text("utf-8")
    path.write_text(before + '{"messages": [{"role": "us', encoding="utf-8")
    write(path, 3)
    after = path.read_text("utf-8")
    assert after.startswith(before)
    assert [json.loads(line)["messages"][0]["content"] for line in after.splitlines()[2:]] == [QUESTIONS[2]]
    write(path, 3)
    assert path.read_text("utf-8") == after


@pytest.mark.slow
def test_answers_beside_others_are_those_of_the_model_alone(tmp_path, monkeypatch):
    """Answers computed in one batch do not mix, with greedy sampling."""
    monkeypatch.setattr(answers, "ANSWER", 10)
    together, alone = tmp_path / "together.jsonl", tmp_path / "alone.jsonl"
    write_answers(together, default_model(), QUESTIONS, 3, temperature=0, seed=0, threads=1)
    for question in QUESTIONS:
        path = tmp_path / "one.jsonl"
        path.unlink(missing_ok=True)
        write_answers(path, default_model(), [question], 1, temperature=0, seed=0, threads=1)
        with alone.open("a", encoding="utf-8") as file:
            file.write(path.read_text("utf-8"))
    said = [{chat.messages[0]: chat.messages[1].content for chat in read_chats(path)} for path in (together, alone)]
    # Sums in another order may change a later word, but not the first ones.
    assert {key: text[:20] for key, text in said[0].items()} == {key: text[:20] for key, text in said[1].items()}


def test_going_round_in_circles():
    tokens = list(range(REPEATED))
    assert is_repeating(tokens + tokens)
    assert is_repeating([7, *tokens, 8, 9, *tokens])
    assert not is_repeating(tokens)
    assert not is_repeating([*tokens, *tokens[:-1], 99])
    assert is_repeating([5] * 2 * REPEATED)
