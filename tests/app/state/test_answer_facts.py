"""The footer that names the parts of files that an answer is from."""

from __future__ import annotations

import pytest

from app.attachments.attachment import Attachment, Place
from app.state.answer_facts import found_sources, sources_line, sources_of, used_sources

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


def found(name: str, *texts: str) -> Attachment:
    parts, at = [], 0
    for text in texts:
        parts.append((at, at + len(text)))
        at += len(text) + 2
    places = tuple(Place(begin, end) for begin, end in parts)
    return Attachment(name, "text", at, "\n\n".join(texts), tuple(parts), path=f"/{name}", places=places)


def used(question: str, answer: str, *attachments: Attachment) -> dict[str, list[int]]:
    sources = found_sources(used_sources(sources_of(attachments), attachments, question, answer))
    return {source.name: list(source.used_places) for source in sources}


JAYS = found("jays.txt", "Jays bury acorns in autumn and find them in winter.", "They weigh 170 grams.")
COAST = found("coast.txt", "The lighthouse keeper lit a fire beside the sea.")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("In autumn a jay buries its food, which it finds again in winter.", {"jays.txt": [0]}),
        ("About 170 g.", {"jays.txt": [1]}),
        ("Autumn.", {"jays.txt": [0]}),
        ("A keeper of the lighthouse lit it. In winter and autumn jays bury.", {"jays.txt": [0], "coast.txt": [0]}),
        ("I am sorry, the documents do not say anything about that.", {}),
        ("I do not know.", {}),
        ("Yes, jays bury acorns.", {"jays.txt": [0, 1], "coast.txt": [0]}),
        ("秋天埋下橡子。", {"jays.txt": [0, 1], "coast.txt": [0]}),
    ],
)
def test_sources_are_those_of_which_the_answer_used_something(answer: str, expected: dict[str, list[int]]) -> None:
    assert used("When do jays bury acorns?", answer, JAYS, COAST) == expected
