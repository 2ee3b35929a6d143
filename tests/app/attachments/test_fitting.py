"""The parts that are sent if the files are larger than the context."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.attachments.attachment import Attachment, estimated_tokens, parts_of
from app.attachments.fitting import (
    HEADING,
    MOST_PARTS,
    CountedFile,
    best_matching,
    from_the_beginning,
    query_words,
    ranked,
    room_beside_question,
    room_for_files,
    searched,
    tokens_needed,
)


def counted(name: str, text: str) -> CountedFile:
    file = Attachment(name, "text", len(text), text, parts_of(text))
    return CountedFile(file, round(estimated_tokens(text)))


def book(name: str = "book.txt", paragraphs: int = 200) -> CountedFile:
    text = "\n\n".join(
        f"Chapter {n}. The {n}th bird sat on a branch. " + "It was quiet. " * 30 for n in range(paragraphs)
    )
    return counted(name, text)


FILES = [book(), counted("note.txt", "A short note.")]


def sent_tokens(files: tuple[Attachment, ...]) -> float:
    return sum(
        HEADING + (estimated_tokens(f.text) if f.sent is None else sum(estimated_tokens(f.part(i)) for i in f.sent))
        for f in files
    )


@given(st.integers(0, 5000), st.sampled_from(["the 77th bird", "", "nothing of this", "quiet"]))
def test_what_is_chosen_fits(room: int, question: str) -> None:
    for chosen in (best_matching(FILES, question, room), from_the_beginning(FILES, room)):
        assert len(chosen) == 2
        assert sent_tokens(chosen) <= room + 2 * HEADING
        for file in chosen:
            assert file.sent is None or list(file.sent) == sorted(set(file.sent))


def test_the_parts_that_match_are_sent() -> None:
    file = book()
    (chosen,) = best_matching([file], "What did the 77th bird do?", 1000)
    assert chosen.sent
    assert any("The 77th bird" in chosen.part(index) for index in chosen.sent)
    assert len(chosen.sent) <= MOST_PARTS


def test_small_files_stay_whole_beside_a_large_one() -> None:
    note, large = counted("note.txt", "A short note about nothing."), book()
    first, second = best_matching([note, large], "the 12th bird", 2000)
    assert first.sent is None
    assert second.sent


def test_without_a_match_beginning_and_spread_are_sent() -> None:
    file = book()
    (chosen,) = best_matching([file], "zebra", 1600)
    assert chosen.sent
    assert chosen.sent[0] == 0
    assert chosen.sent[-1] == len(file.attachment.parts) - 1
    assert len(chosen.sent) > 2


def test_the_beginning_is_the_beginning() -> None:
    (chosen,) = from_the_beginning([book()], 1000)
    assert chosen.sent == tuple(range(len(chosen.sent or ())))
    assert chosen.sent


def test_chinese_is_found_though_it_has_no_blanks() -> None:
    texts = [["今天天气很好，我们去公园。", "山雀是一种小鸟，住在森林里。", "晚饭吃面条。"]]
    assert ranked(texts, "山雀住在哪里？")[0] == (0, 1)
    assert searched("山雀 Bird") == ["山雀", "bird"]


def test_words_that_tell_nothing_do_not_count() -> None:
    assert query_words("What is the weather in Oslo?") == ["weather", "oslo"]
    assert ranked([["the what is", "Oslo's weather"]], "What is the weather in Oslo?") == [(0, 1)]
    assert ranked([["a text"]], "?!") == []
    assert ranked([["a \"quoted' text", "x", "y", "z", "w"]], 'quoted" OR x* NEAR(') == [(0, 1), (0, 0)]


def test_earlier_parts_come_first_in_a_tie() -> None:
    assert ranked([["bird", "cat", "cat", "cat", "bird"]], "birds") == [(0, 0), (0, 4)]


def test_words_that_are_everywhere_do_not_make_a_match() -> None:
    pages = [f"The ferry to island {number} leaves at noon." for number in range(40)]
    assert ranked([pages], "When does the ferry to island 7 leave?") == [(0, 7)]
    assert ranked([pages], "When does the ferry leave?") == []


def test_room_is_left_for_chat_question_and_answer() -> None:
    assert room_for_files(4096, 1000) == 4096 - 1000 - 1024 - HEADING
    assert room_for_files(512, 500) == 0
    assert (room_beside_question(100, "x" * 400), room_beside_question(200, "x" * 400)) == (0, 70)
    assert tokens_needed([counted("a", "x" * 400)]) == 100 + HEADING
