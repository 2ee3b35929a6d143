"""Tests of the generated chats of a narrow kind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import islice

from training.chat_lines import read_chats
from training.notes import ASKED, PARTS, chats

COUNT = 300


def note_and_entries(chat) -> tuple[str, list[dict[str, str | None]]]:
    """Return a chat's note and the entries of its answer."""
    question, answer = (message["content"] for message in chat["messages"])
    return question.removeprefix(ASKED.format("")), [json.loads(line) for line in answer.splitlines()]


def test_entries_say_what_the_note_says_and_no_more():
    for chat in chats(COUNT, seed=3):
        note, entries = note_and_entries(chat)
        for entry in entries:
            assert tuple(entry) == PARTS
            for part in ("what", "who", "day", "where"):
                assert (entry[part] or "").lower() in note.lower(), (part, note)
            if entry["time"]:
                hour, minute = map(int, entry["time"].split(":"))
                spoken = f"{(hour - 1) % 12 + 1}{f':{minute:02}' if minute else ''} {'am' if hour < 12 else 'pm'}"
                assert entry["time"] in note or spoken in note, note


def test_no_note_comes_twice_and_the_seed_says_which_come():
    notes = [note_and_entries(chat)[0] for chat in chats(COUNT, seed=0)]
    assert len(set(notes)) == COUNT
    assert notes[:5] == [note_and_entries(chat)[0] for chat in islice(chats(COUNT, seed=0), 5)]
    assert notes != [note_and_entries(chat)[0] for chat in chats(COUNT, seed=1)]


def test_no_day_comes_behind_a_wrong_word():
    assert not any(
        re.search(r"\b[Oo]n (today|tomorrow|next|this)", note_and_entries(chat)[0]) for chat in chats(COUNT, seed=0)
    )


def test_what_the_command_prints_can_be_learned(tmp_path):
    command = [sys.executable, "-m", "training.notes", "--count", "7", "--seed", "4"]
    (tmp_path / "notes.jsonl").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(read_chats(tmp_path / "notes.jsonl")) == 7
