"""Tests of turning data sets of instructions into chats."""

from __future__ import annotations

import json

import pytest

from training import instructions
from training.chat_lines import read_chats

SOME = [
    {"instruction": "Add.", "input": "1 and 2", "output": "3", "source": "by hand"},
    {"instruction": "Say hello.", "response": " Hello! "},
    {"instruction": "Say nothing.", "input": "", "output": ""},
]


def test_instructions_become_chats(tmp_path, capsys):
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    files[0].write_text(json.dumps(SOME))
    files[1].write_text(json.dumps([{"instruction": f"Say {i}.", "output": str(i)} for i in range(20)]))
    assert instructions.main(list(map(str, files))) == 0
    lines = capsys.readouterr().out
    (tmp_path / "chats.jsonl").write_text(lines)
    said = {tuple(message.content for message in chat.messages) for chat in read_chats(tmp_path / "chats.jsonl")}
    assert said == {("Add.\n\n1 and 2", "3"), ("Say hello.", "Hello!"), *((f"Say {i}.", str(i)) for i in range(20))}
    instructions.main(list(map(str, files)))
    assert capsys.readouterr().out == lines
    instructions.main([*map(str, files), "--seed", "1"])
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(lines.splitlines()) != lines.splitlines()


@pytest.mark.parametrize("content", [None, "no", '{"instruction": "a"}', '[{"output": "a"}]', b"\xff"])
def test_files_that_hold_none(tmp_path, capsys, content):
    path = tmp_path / "bad.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert instructions.main([str(path)]) == 1
    assert "bad.json" in capsys.readouterr().err
