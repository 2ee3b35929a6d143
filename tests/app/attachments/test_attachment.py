"""The block that the model reads of a file: named, with a fence that the file cannot close, always the same."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from app.attachments.attachment import MOST_NAME, Attachment, block_of, clean_name, runs, with_attachments
from app.state.prompt import prompt_of
from app.store.chat import Chat, ChatMessage


@given(st.text(alphabet="`a\n", max_size=60))
def test_no_text_closes_its_fence(text: str) -> None:
    lines = block_of(Attachment("a.md", "text", 1, text)).split("\n")
    assert lines[0] == 'File "a.md":'
    fence = lines[1]
    assert re.fullmatch("`{3,}", fence)
    assert lines[-1] == fence
    assert not [line for line in lines[2:-1] if line.startswith(fence)]


def test_parts_are_named_and_neighbours_joined() -> None:
    file = Attachment("b.txt", "text", 9, "one two three four", ((0, 7), (4, 13), (8, 18)), sent=(0, 1))
    assert block_of(file) == 'Parts of the file "b.txt", which has 3 parts:\n```\n[parts 1 to 2]\none two three\n```'
    assert runs((1, 2, 3, 7)) == [[1, 2, 3], [7]]


def test_files_come_before_the_question() -> None:
    file = Attachment("a.txt", "text", 1, "text\n")
    assert with_attachments((file,), "What?") == 'File "a.txt":\n```\ntext\n```\n\nWhat?'
    assert with_attachments((file,), "") == block_of(file)
    chat = Chat()
    question = ChatMessage(chat.id, None, "user", "What?", attachments=(file,))
    (message,) = prompt_of([question])
    assert message.content == with_attachments((file,), "What?")


@given(st.text(max_size=300))
def test_a_name_is_one_short_line(name: str) -> None:
    cleaned = clean_name(name)
    assert cleaned == cleaned.strip()
    assert 0 < len(cleaned) <= MOST_NAME
    assert "\n" not in cleaned


def test_names_lose_what_turns_them_around() -> None:
    assert clean_name("a\u202efdp.exe\r\n") == "afdp.exe"
    assert clean_name("\x00") == "file"
    assert clean_name("x" * 200 + ".tar.gz").endswith(".tar.gz")


def test_pages_of_a_part() -> None:
    file = Attachment("a.pdf", "pdf", 1, "x" * 30, ((0, 10), (8, 20), (20, 30)), (0, 10, 20))
    assert [file.pages_of(index) for index in range(3)] == [(1, 1), (1, 2), (3, 3)]
    assert Attachment("a.txt", "text", 1, "x", ((0, 1),)).pages_of(0) is None
