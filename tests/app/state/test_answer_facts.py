"""The footer that names the parts of files that an answer is from."""

from __future__ import annotations

from app.attachments.attachment import Attachment
from app.state.answer_facts import sources_line, sources_of

PARTS = ((0, 10), (10, 20), (20, 30), (30, 40))


def test_parts_and_pages_are_named() -> None:
    file = Attachment("report.pdf", "pdf", 1, "x" * 40, PARTS, (0, 15, 25), sent=(0, 2, 3))
    assert sources_line(sources_of([file])) == "From report.pdf: parts 1, 3–4 of 4 (pages 1–3)"
    one = Attachment("a.txt", "text", 1, "x" * 40, PARTS, sent=(1,))
    none = Attachment("b.txt", "text", 1, "x" * 40, PARTS, sent=())
    assert sources_line(sources_of([one, none])) == "From a.txt: part 2 of 4\nNothing from b.txt was sent."


def test_whole_files_and_damaged_notes_have_none() -> None:
    assert sources_of([Attachment("a.txt", "text", 1, "x", ((0, 1),))]) == ""
    for damaged in ("", "{", "[3]", '{"name": 1}'):
        assert sources_line(damaged) == ""
